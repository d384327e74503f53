import MMLogFormat
import MMLogStorage

/// The spans whose flight records are in the ring, and what becomes of these records when the spans
/// end.
///
/// For one thread at a time: the drainer's.
struct SpanTable {
  private let ring: Ring
  private let capture: SpanCapture
  private let decryptor = RecordDecryptor()
  private var dictionary = LogDictionary()
  /// How many bytes of the ring's dictionary ``dictionary`` knows.
  private var dictionaryKnown = 0
  /// The uses of segments in which each span has flight records, as generations.
  private var places: [UInt64: [UInt64]] = [:]
  /// How many uses ``places`` has, of all spans together.
  private(set) var placeCount = 0
  /// The spans whose end is a flight record.
  private var flightEnds: Set<UInt64> = []
  /// If ``places`` has more uses, those that are not in the ring any more are removed from it.
  private var placesLimit = 1024
  /// How the last spans ended: whether their flight records are captured. Records that were logged
  /// while a span ended may be found after its end.
  private var decisions: [UInt64: Bool] = [:]
  private var olderDecisions: [UInt64: Bool] = [:]
  /// The spans whose flight records are to be erased, and to be captured.
  private(set) var erased: Set<UInt64> = []
  private(set) var captured: Set<UInt64> = []

  /// Nil if spans do not decide what is captured.
  init?(_ ring: Ring) {
    guard let capture = ring.spanCapture else { return nil }
    (self.ring, self.capture) = (ring, capture)
  }

  /// Takes in what a record is to a span.
  ///
  /// - Parameters:
  ///   - offset, content: Where the record stands in its segment, and how.
  ///   - generation: The generation of the record's segment.
  mutating func note(
    _ record: RecordView, at offset: Int, _ content: CollectedSegment.Content, isFlight: Bool,
    in generation: UInt64
  ) {
    guard isFlight ? SpanTie.mayBe(of: record) : SpanTie.mayEnd(record),
      let tie = tie(of: record, at: offset, content), tie.span != 0
    else { return }
    if isFlight { notePlace(of: tie.span, generation) }
    // The first end of a span counts.
    if let end = tie.end, decision(of: tie.span) == nil {
      remember(capture.captures(end, at: record.ticks, ring.clocks.current), of: tie.span)
    }
    if isFlight, tie.end != nil { flightEnds.insert(tie.span) }
    guard places[tie.span] != nil, let isCaptured = decision(of: tie.span) else { return }
    if isCaptured { captured.insert(tie.span) } else { erased.insert(tie.span) }
  }

  /// Takes in a use of a segment in which a span has flight records.
  private mutating func notePlace(of span: UInt64, _ generation: UInt64) {
    // From the back, where the use of the span's last record stands.
    if places[span, default: []].lastIndex(of: generation) != nil { return }
    places[span, default: []].append(generation)
    placeCount += 1
  }

  private func decision(of span: UInt64) -> Bool? { decisions[span] ?? olderDecisions[span] }

  private mutating func remember(_ isCaptured: Bool, of span: UInt64) {
    if decisions.count >= 8192 { (olderDecisions, decisions) = (decisions, [:]) }
    decisions[span] = isCaptured
  }

  /// Returns those of the spans whose end is a flight record.
  func endedByFlightRecords(_ spans: Set<UInt64>) -> Set<UInt64> {
    spans.intersection(flightEnds)
  }

  /// Returns what a record is to a span; nil if it is nothing to one.
  ///
  /// - Parameters:
  ///   - offset, content: Where the record stands in its segment, and how.
  mutating func tie(
    of record: RecordView, at offset: Int, _ content: CollectedSegment.Content
  ) -> SpanTie? {
    guard SpanTie.mayBe(of: record), let record = decryptor.clear(record, at: offset, content)
    else { return nil }
    if let tie = dictionary.tie(of: record) { return tie }
    let entries = ring.dictionary
    guard entries.count > dictionaryKnown else { return nil }
    _ = dictionary.insert(
      entriesIn: entries.slice(dictionaryKnown, entries.count - dictionaryKnown),
      seed: checksumSeed(session: ring.identity.session, generation: 0))
    dictionaryKnown = entries.count
    return dictionary.tie(of: record)
  }

  /// The segments in which spans have flight records, the oldest use first.
  func segments(of spans: Set<UInt64>) -> [Int] {
    let generations = Set(spans.lazy.flatMap { places[$0] ?? [] })
    return (0..<ring.pool.count).lazy
      .map { [pool = ring.pool] in (index: $0, generation: pool.generation($0)) }
      .filter { generations.contains($0.generation) }
      .sorted { $0.generation < $1.generation }.map(\.index)
  }

  /// Takes in that spans have no flight records left in the ring, except for the spans in `left`.
  mutating func settle(_ spans: Set<UInt64>, besides left: Set<UInt64> = []) {
    let settled = spans.subtracting(left)
    for span in settled { placeCount -= places.removeValue(forKey: span)?.count ?? 0 }
    erased.subtract(settled)
    captured.subtract(settled)
    flightEnds.subtract(settled)
  }

  /// Forgets flight records that are not in the ring any more.
  mutating func forgetEvicted() {
    guard placeCount > placesLimit else { return }
    let present = Set((0..<ring.pool.count).map { ring.pool.generation($0) })
    places = places.compactMapValues { generations in
      let left = generations.filter { present.contains($0) }
      return left.isEmpty ? nil : left
    }
    placeCount = places.values.reduce(0) { $0 + $1.count }
    placesLimit = max(1024, 2 * placeCount)
  }
}
