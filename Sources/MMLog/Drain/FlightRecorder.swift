import CMMLogCore
import MMLogFormat
import MMLogStorage
import MMLogSystem

/// Leaves records below the archives' level in the ring, and captures them: moves the recent ones
/// into an archive, in frames of their own.
///
/// For one thread at a time: the drainer's.
final class FlightRecorder {
  private let ring: Ring
  private let counters: DrainCounters
  /// How far back a capture goes, in nanoseconds.
  private let span: UInt64
  /// The levels whose records cause a capture, a bit each.
  let captureLevels: UInt8
  private var rows = RowBuilder()
  private let taps: [any RecordTap]
  /// Nil if spans do not decide what is captured.
  private var spans: SpanTable?
  /// The greatest ticks in each segment, as far as its records are archived or left in the ring.
  private var newestTicks: [UInt64]
  /// Why a capture is due.
  private var reason: LogStore.CaptureReason?
  private var servedSignals = ProcessRequests.captures

  /// Nil if nothing stays in the ring.
  ///
  /// - Parameter taps: The taps that receive what is captured.
  init?(
    _ ring: Ring, _ configuration: LogStore.Configuration, _ counters: DrainCounters,
    _ taps: [any RecordTap]
  ) {
    if ring.archiveLevel == .trace { return nil }
    (self.ring, self.counters, self.taps) = (ring, counters, taps)
    spans = SpanTable(ring)
    newestTicks = Array(repeating: 0, count: ring.pool.count)
    span = UInt64(configuration.captureTime.nanoseconds)
    captureLevels = configuration.captureLevel.map { .max << $0.rawValue } ?? 0
  }

  // MARK: - What is left in the ring

  /// Whether a record of a segment's use goes into an archive at once.
  ///
  /// - Parameters:
  ///   - offset, content: Where the record stands in its segment, and how.
  func disposition(
    of record: RecordView, at offset: Int, _ content: CollectedSegment.Content,
    in generation: UInt64
  ) -> CollectedSegment.Disposition {
    let isFlight = record.level < ring.archiveLevel
    spans?.note(record, at: offset, content, isFlight: isFlight, in: generation)
    return isFlight ? .left : .taken
  }

  /// Takes in that the records of a segment up to some place are archived, or left in the ring.
  func note(_ part: PendingFrame.Part) {
    ring.pool.addFlight(part.passed, to: part.index)
    newestTicks[part.index] = part.lastTicks
  }

  /// Keeps an acquired segment if there are flight records in it; false if it is to be freed.
  func retain(_ index: Int) -> Bool {
    guard ring.pool.flightCount(index) > 0 else { return false }
    ring.pool.retain(index)
    TestPoint.reach(.segmentRetained)
    return true
  }

  /// Evicts flight records that are too old, and those whose segments threads will need next.
  func trim() {
    let oldest = oldestTicks
    var reserve = ring.pool.count / 4 - ring.pool.freeCount
    for candidate in ring.retainedSegments {
      guard reserve > 0 || newestTicks[candidate.segment.index] < oldest else { break }
      if ring.evict(candidate) { reserve -= 1 }
    }
    spans?.forgetEvicted()
  }

  /// The ticks from which on records are captured.
  private var oldestTicks: UInt64 {
    let rate = max(1, ring.clocks.current.rate)
    let ticks = span.multipliedFullWidth(by: 1 << 32)
    let back = ticks.high < rate ? rate.dividingFullWidth(ticks).quotient : .max
    let now = mmlog_ticks()
    return now > back ? now - back : 0
  }

  // MARK: - Why to capture

  /// Takes in the levels of the records of an archived frame.
  func note(levels: UInt8) { if levels & captureLevels != 0 { ask(.record) } }

  /// Makes a capture due.
  func ask(_ new: LogStore.CaptureReason) { reason = reason ?? new }

  /// Whether a signal handler has asked for a capture.
  var isAsked: Bool { ProcessRequests.captures != servedSignals }

  // MARK: - Capturing

  /// Moves recent flight records into archives, if there is a reason to. The records that stand
  /// between them are archived already.
  ///
  /// - Parameter servesSignals: Whether signal handlers are served, too. Then everything that was
  ///   logged before they asked has to be archived already.
  /// - Returns: The reason, and how many records were captured; nil if there was no reason.
  func captureIfDue(
    to series: ArchiveSeries, servesSignals: Bool
  ) throws(SystemError) -> (reason: LogStore.CaptureReason, count: Int)? {
    let signals = servesSignals ? ProcessRequests.captures : servedSignals
    if signals != servedSignals { ask(.signal) }
    guard let reason else { return nil }
    let count = try capture(to: series)
    (servedSignals, self.reason) = (signals, nil)
    return (reason, count)
  }

  /// Captures the oldest segments first.
  private func capture(to series: ArchiveSeries) throws(SystemError) -> Int {
    let pool = ring.pool
    let oldest = oldestTicks
    let candidates = (0..<pool.count).filter { pool.flightCount($0) > 0 }
      .map { (index: $0, generation: pool.generation($0)) }
      .sorted { $0.generation < $1.generation }
    return try countInParts(candidates.map(\.index)) { (held) throws(SystemError) in
      let runs = held.indices.compactMap { run($0, since: oldest) }
      let count = try move(runs, to: series) { run, old, _ in note(run, before: old) }
      for run in runs { ring.forget(UInt64(pool.takeFlightCount(run.index))) }
      // Nobody needs the retained segments any more.
      held.freeRetained()
      return count
    }
  }

  /// Holds a part of the segments at a time: threads may need the other segments meanwhile.
  ///
  /// - Returns: The sum of what `body` returns.
  private func countInParts(
    _ segments: [Int], _ body: (inout HeldSegments) throws(SystemError) -> Int
  ) throws(SystemError) -> Int {
    let size = max(1, ring.pool.count / 4)
    var count = 0
    for start in stride(from: 0, to: segments.count, by: size) {
      var held = HeldSegments(ring)
      defer { held.release() }
      for index in segments[start..<min(start + size, segments.count)] { _ = held.hold(index) }
      count += try body(&held)
    }
    return count
  }

  /// What to capture of a segment. A capture goes no further than the segment is archived, so that
  /// its archived records are in an earlier frame.
  private func run(_ index: Int, since oldest: UInt64) -> CollectedSegment? {
    guard let header = ring.openHeader(ofSegment: index), header.archived > SegmentLayout.size
    else { return nil }
    let done = ring.captured(ofSegment: index, generation: header.generation)
    return CollectedSegment(
      index: index, header: header, scanner: archivedRecords(of: index, header),
      content: ring.content(of: header),
      disposition: { [archiveLevel = ring.archiveLevel] record, offset in
        record.level < archiveLevel && record.ticks >= oldest && offset >= done ? .taken : .left
      })
  }

  /// Walks over the records of a segment that are archived, or left in the ring. Zeros before the
  /// end of this part are a loss.
  private func archivedRecords(of index: Int, _ header: SegmentHeader) -> RecordScanner {
    ring.scanner(
      ofSegment: index, header, from: SegmentLayout.size, to: header.archived, isWhole: true)
  }

  /// Archives runs, frame by frame.
  ///
  /// - Parameters:
  ///   - written: Called for each run when a frame is written, with the run, the run as it was
  ///     before the frame, and the frame's ranges of the run.
  /// - Returns: How many records were archived.
  private func move(
    _ runs: [CollectedSegment], to series: ArchiveSeries,
    written: (_ run: CollectedSegment, _ before: CollectedSegment, _ ranges: [RingRange]) -> Void
  ) throws(SystemError) -> Int {
    // First the records whose ticks are not ahead of the counter. Records with greater ticks are
    // from before the counter began anew, and have frames with another clock.
    var collector = FrameCollector(runs, cutoff: mmlog_ticks())
    var takesRest = false
    var fields = FrameHeader(.records)
    fields.isFlight = true
    while true {
      let before = collector.runs
      rows.removeAll()
      fields.ranges = collector.fill(&rows, size: ring.frameSize)
      if !rows.isEmpty {
        fields.clock = ring.clocks.clock(upTo: rows.summary.lastTicks)
        if rows.isUnreadable { throw .refusedByLibcrypto(ring.path) }
        TestPoint.reach(.flightBeforeFrame)
        let size = try series.append(rows, dictionary: ring.dictionary, fields)
        counters.add(rows, written: size, fields.effort)
        for tap in taps {
          tap.take(rows, dictionary: ring.dictionary, fields.clock, areFlight: true)
        }
        TestPoint.reach(.flightAfterFrame)
      }
      let ranges = Dictionary(grouping: fields.ranges, by: \.generation)
      for (run, old) in zip(collector.runs, before) {
        written(run, old, ranges[run.header.generation] ?? [])
      }
      TestPoint.reach(.flightNoted)
      try series.rotateIfDue(dictionary: ring.dictionary)
      if !rows.isEmpty { continue }
      if takesRest { break }
      takesRest = true
      collector = FrameCollector(collector.runs)
    }
    return collector.runs.reduce(0) { $0 + $1.takenCount }
  }

  /// Notes what a frame has of a segment, and which flight records the run passed over on the way:
  /// these are too old, and are evicted.
  ///
  /// - Parameter old: The same run, as it was before the frame.
  private func note(_ run: CollectedSegment, before old: CollectedSegment) {
    let count = run.takenCount - old.takenCount
    ring.pool.addFlight(-count, to: run.index)
    ring.countCaptured(UInt64(count))
    let (index, generation) = (run.index, run.header.generation)
    if run.taken > ring.captured(ofSegment: index, generation: generation) {
      ring.publish(captured: run.taken, ofSegment: index, generation: generation)
    }
  }

  // MARK: - Spans

  /// Erases the flight records of spans that ended well. Called before a segment is freed: as long
  /// as the end of a span is in the ring, a recovery knows by that end which records to pass over.
  ///
  /// - Parameter isHeld: Whether the caller holds a segment already.
  func eraseEnded(_ isHeld: (Int) -> Bool) {
    guard let spans = spans?.erased, !spans.isEmpty else { return }
    let left = erase(spans, areEnds: false, isHeld)
    // Ends that are flight records, too, are erased last.
    if let ended = self.spans?.endedByFlightRecords(spans.subtracting(left)), !ended.isEmpty {
      _ = erase(ended, areEnds: true, isHeld)
    }
    self.spans?.settle(spans, besides: left)
  }

  /// - Parameter areEnds: Whether to erase the records that end a span, or all others.
  /// - Returns: The spans that have further records in the ring, behind what was moved so far.
  private func erase(
    _ spans: Set<UInt64>, areEnds: Bool, _ isHeld: (Int) -> Bool
  ) -> Set<UInt64> {
    var left: Set<UInt64> = []
    for index in self.spans?.segments(of: spans) ?? [] {
      if isHeld(index) {
        erase(spans, areEnds: areEnds, in: index, &left)
      } else {
        var held = HeldSegments(ring)
        if held.hold(index) { erase(spans, areEnds: areEnds, in: index, &left) }
        held.release()
      }
    }
    return left
  }

  private func erase(
    _ spans: Set<UInt64>, areEnds: Bool, in index: Int, _ left: inout Set<UInt64>
  ) {
    guard let header = ring.openHeader(ofSegment: index) else { return }
    let captured = ring.captured(ofSegment: index, generation: header.generation)
    let content = ring.content(of: header)
    var scanner = archivedRecords(of: index, header)
    while let (record, offset, tie) = nextRecord(of: spans, in: &scanner, content) {
      if areEnds != (tie.end != nil) { continue }
      ring.erase(record, at: offset, ofSegment: index, generation: header.generation)
      if offset < captured { continue }
      ring.pool.addFlight(-1, to: index)
      ring.forget(1)
    }
    scanner = ring.scanner(ofSegment: index, header, from: header.archived)
    while let (_, _, tie) = nextRecord(of: spans, in: &scanner, content) { left.insert(tie.span) }
  }

  /// The next flight record that belongs to one of the spans.
  private func nextRecord(
    of spans: Set<UInt64>, in scanner: inout RecordScanner, _ content: CollectedSegment.Content
  ) -> (record: RecordView, offset: Int, tie: SpanTie)? {
    while let item = scanner.next() {
      if case .record(let record, let offset) = item, record.level < ring.archiveLevel,
        let tie = self.spans?.tie(of: record, at: offset, content), spans.contains(tie.span)
      {
        return (record, offset, tie)
      }
    }
    return nil
  }

  /// Archives the flight records of spans that did not end well, and erases them from the ring.
  ///
  /// The ranges of its frames cover only these records, and no watermark moves: everything else in
  /// the segments stays as it is.
  ///
  /// - Returns: How many records were archived.
  func captureEnded(to series: ArchiveSeries) throws(SystemError) -> Int {
    guard let spans = spans?.captured, !spans.isEmpty else { return 0 }
    let segments = self.spans?.segments(of: spans) ?? []
    let count = try countInParts(segments) { (held) throws(SystemError) in
      let runs = held.indices.compactMap { run($0, of: spans) }
      return try move(runs, to: series) { run, _, ranges in erase(ranges, of: run) }
    }
    self.spans?.settle(spans)
    return count
  }

  /// What to capture of a segment for spans. The segment's other records are in no range.
  private func run(_ index: Int, of spans: Set<UInt64>) -> CollectedSegment? {
    guard let header = ring.openHeader(ofSegment: index), header.archived > SegmentLayout.size
    else { return nil }
    let done = ring.captured(ofSegment: index, generation: header.generation)
    let content = ring.content(of: header)
    return CollectedSegment(
      index: index, header: header, scanner: archivedRecords(of: index, header), content: content,
      disposition: { [self] record, offset in
        guard record.level < ring.archiveLevel, offset >= done,
          let tie = self.spans?.tie(of: record, at: offset, content)
        else { return .archived }
        return spans.contains(tie.span) ? .taken : .archived
      })
  }

  /// Erases from the ring the records of a segment that a frame has, in these ranges of it.
  private func erase(_ ranges: [RingRange], of run: CollectedSegment) {
    TestPoint.reach(.spanFrameWritten)
    for range in ranges {
      var scanner = ring.scanner(
        ofSegment: run.index, run.header, from: Int(range.from), to: Int(range.to), isWhole: true)
      while let item = scanner.next() {
        // The range goes on behind corrupted bytes.
        guard case .record(let record, let offset) = item else { continue }
        ring.erase(record, at: offset, ofSegment: run.index, generation: range.generation)
        ring.pool.addFlight(-1, to: run.index)
        ring.countCaptured(1)
      }
    }
  }
}
