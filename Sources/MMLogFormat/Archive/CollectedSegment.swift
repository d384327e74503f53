/// The records of one segment that are to go into an archive, from where the last frame of the
/// segment ended.
package struct CollectedSegment {
  /// What becomes of a record.
  package enum Disposition {
    /// It goes into the frame.
    case taken
    /// It stays in the ring, and has no number: a flight record. The frame's range contains its
    /// place nevertheless.
    case left
    /// Another frame has it.
    case archived
  }

  /// How records stand in the segment.
  package enum Content {
    case clear
    /// Encrypted: the stream decrypts them.
    case encrypted(SegmentStream)
    /// Encrypted, in a ring whose key this process does not have: records are taken as they stand
    /// there.
    case sealed
  }

  package let index: Int
  package let header: SegmentHeader
  private var scanner: RecordScanner
  private let disposition: ((RecordView, Int) -> Disposition)?
  private let content: Content
  /// How many records were taken, and how many were passed over because they are not wanted; each
  /// fragment counts.
  package private(set) var takenCount = 0
  package private(set) var passedCount = 0
  /// The next record, if there is one, and where it begins.
  private(set) var record: RecordView?
  private var offset = 0
  private(set) var ticks: UInt64 = 0
  /// Where the taken records end.
  package private(set) var taken: Int
  /// The number of the entry at ``taken``; nil if entries are not to be numbered.
  package private(set) var number: UInt64?
  /// Where the next range begins, and the number of the entry there.
  private var rangeStart: (offset: Int, number: UInt64?)
  /// What was taken since the last call of ``takeRanges()``.
  private var ranges: [RingRange] = []
  /// The runs of corrupted bytes that were passed over.
  package private(set) var corruption: [Range<Int>] = []
  /// How many of these runs are before the taken records, or between them.
  package var corruptedCount: Int { corruption.count { $0.lowerBound < taken } }

  /// - Parameters:
  ///   - index: The segment's number.
  ///   - scanner: Stands at the first record that may be taken.
  ///   - number: The number of the entry there; nil for flight records, which have none.
  ///   - lastTicks: The greatest ticks that an earlier frame took from this segment.
  ///   - disposition: What becomes of a record, at an offset; nil if all are taken.
  package init(
    index: Int, header: SegmentHeader, scanner: RecordScanner, number: UInt64? = nil,
    lastTicks: UInt64 = 0, content: Content = .clear,
    disposition: ((RecordView, Int) -> Disposition)? = nil
  ) {
    self.content = content
    self.index = index
    self.header = header
    self.scanner = scanner
    self.number = number
    self.disposition = disposition
    ticks = lastTicks
    taken = scanner.offset
    rangeStart = (taken, number)
    advance()
    _ = takeRanges()
  }

  mutating func advance() {
    record = nil
    while let item = scanner.next() {
      switch item {
      case .corruption(let range): corruption.append(range)
      case .record(let next, let offset):
        // Ticks of a thread never go back, whatever the processor's counters say.
        ticks = max(ticks, next.ticks)
        switch disposition?(next, offset) ?? .taken {
        case .taken:
          (record, self.offset) = (next, offset)
          return
        case .left: pass(isNumbered: false)
        case .archived:
          // A record that another frame has is in no range of this one. If the other frame is
          // corrupted later, the record must not seem to be here.
          endRange()
          pass(isNumbered: true)
          rangeStart = (taken, number)
        }
      }
    }
    if case .encrypted(let stream) = content { stream.freePart() }
  }

  private mutating func pass(isNumbered: Bool) {
    taken = scanner.offset
    passedCount += 1
    if isNumbered { number = number.map { $0 &+ 1 } }
  }

  private mutating func endRange() {
    let (from, first) = rangeStart
    if taken > from {
      ranges.append(
        RingRange(
          generation: header.generation, from: UInt32(from), to: UInt32(taken),
          segment: UInt32(index), numbers: numbers(from: first)))
    }
    rangeStart = (taken, number)
  }

  private func numbers(from first: UInt64?) -> NumberRange? {
    guard let first, let number, header.writer != 0 else { return nil }
    return NumberRange(
      writer: header.writer, thread: header.thread.ordinal, first: first,
      count: UInt32(truncatingIfNeeded: number &- first))
  }

  /// The parts of the segment that were taken since the last call.
  mutating func takeRanges() -> [RingRange] {
    endRange()
    defer { ranges = [] }
    return ranges
  }

  /// Takes the next record, and those after it that are earlier than `limit` and not later than
  /// `cutoff`, until `builder` has reached `size` bytes.
  mutating func move(
    to builder: inout RowBuilder, size: Int, before limit: UInt64, cutoff: UInt64
  ) {
    while let record {
      if disposition == nil, !record.isSpecial, let cursor = scanner.cursor, case .clear = content {
        moveSeries(
          of: record, cursor, to: &builder, size: size, before: limit, cutoff: cutoff, nil)
      } else if disposition == nil, !record.isSpecial, let cursor = scanner.cursor,
        case .encrypted(let stream) = content
      {
        moveSeries(
          of: record, cursor, to: &builder, size: size, before: limit, cutoff: cutoff,
          stream.unowned)
      } else {
        // A record in a shared segment names its thread by the ordinal alone.
        let shared = record.sharedThreadOrdinal
        builder.add(
          record, ticks: ticks, threadOrdinal: shared ?? header.thread.ordinal,
          maySayName: shared == nil
        ) {
          record.sharedThread ?? header.thread
        }
        switch content {
        case .clear: break
        case .encrypted(let stream): builder.decryptLast(record, with: stream, at: offset)
        case .sealed: builder.noteLast(stream: header.stream, at: offset)
        }
        noteTaken(1)
        advance()
      }
      guard ticks < limit, ticks <= cutoff, builder.size < size else { return }
    }
  }

  /// Moves records in registers, as long as they are whole and of the segment's own thread.
  ///
  /// - Parameter stream: What the records are encrypted with; nil: they are not.
  @inline(__always)
  private mutating func moveSeries(
    of first: RecordView, _ behind: RecordReader, to builder: inout RowBuilder, size: Int,
    before limit: UInt64, cutoff: UInt64, _ stream: UnownedStream?
  ) {
    var (cursor, record, ticks, count, place) = (behind, first, ticks, 0, offset)
    var series = builder.beginSeries(
      of: header.thread, ticks: ticks, size: size, first: record.bytes.count)
    while series.add(record, ticks: ticks, decryptedWith: stream, at: place) {
      count &+= 1
      place &+= record.bytes.count
      guard let next = cursor.record() else {
        builder.end(series)
        self.ticks = ticks
        scanner.move(to: cursor)
        noteTaken(count)
        return advance()
      }
      (record, ticks) = (next, max(ticks, next.ticks))
      guard ticks < limit, ticks <= cutoff, !record.isSpecial else { break }
    }
    builder.end(series)
    (self.record, self.ticks, offset) = (record, ticks, place)
    scanner.move(to: cursor)
    noteTaken(count, ahead: record.bytes.count)
  }

  /// - Parameter ahead: The length of the next record, if the scanner has passed over it.
  private mutating func noteTaken(_ count: Int, ahead: Int = 0) {
    taken = scanner.offset - ahead
    takenCount &+= count
    number = number.map { $0 &+ UInt64(truncatingIfNeeded: count) }
  }

  /// The greatest ticks taken so far, or those of the next record.
  package var lastTicks: UInt64 { ticks }

  /// True when there is nothing left to take.
  package var isEmpty: Bool { record == nil }
}
