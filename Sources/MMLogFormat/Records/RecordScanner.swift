import CMMLogCore

/// The length in bytes that the header word at `offset` states; nil if fewer bytes are there.
package func framedLength(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> Int? {
  guard bytes.count - offset >= wordSize else { return nil }
  let length = statedLength(bytes.load(offset, as: UInt64.self))
  return length >= 2 * wordSize && length <= bytes.count - offset ? length : nil
}

@inline(__always)
private func statedLength(_ header: UInt64) -> Int {
  Int(truncatingIfNeeded: header & RecordLayout.lengthMask) &* wordSize
}

/// A record or a fragment whose bounds, kind and checksum have been verified.
package struct RecordView {
  /// All of its words.
  package let bytes: UnsafeRawBufferPointer

  /// Takes the row that `bytes` begins with; nil if there is none.
  init?(row bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= wordSize,
      let length = recordLength(bytes.load(0, as: UInt64.self), room: bytes.count)
    else { return nil }
    self.bytes = bytes.slice(0, length)
  }

  /// Takes bytes that ``RecordScanner`` or ``RowReader`` has checked to be one record.
  fileprivate init(checked bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  /// Its words from the identity word on.
  package var body: UnsafeRawBufferPointer {
    let start = RecordLayout.identityWord * wordSize
    return bytes.slice(start, bytes.count - start)
  }

  package func word(_ index: Int) -> UInt64 { bytes.load(index * wordSize, as: UInt64.self) }

  package var ticks: UInt64 { word(RecordLayout.ticksWord) }
  private var identity: UInt64 { word(RecordLayout.identityWord) }
  package var isFragment: Bool { word(0) & 0xFF00_0000 == RecordLayout.fragmentKind }
  /// Whether it counts as a record: of a fragmented record, only the first fragment does.
  @inline(__always)
  package var isCounted: Bool { !isFragment || callSite == 0 }
  /// The call site's number, or a fragment's index.
  package var callSite: UInt32 { UInt32(truncatingIfNeeded: identity) }
  package var label: UInt32 {
    UInt32(truncatingIfNeeded: identity >> RecordLayout.labelShift) & 0xFFFF
  }
  package var level: Level { Level(fromFile: rawLevel) }
  private var rawLevel: UInt8 { UInt8(truncatingIfNeeded: identity >> RecordLayout.levelShift) }
  /// The level's raw value, for counting.
  @inline(__always)
  package var levelIndex: Int { Int(truncatingIfNeeded: min(rawLevel, Level.critical.rawValue)) }
  package var rawFlags: UInt8 { UInt8(truncatingIfNeeded: identity >> RecordLayout.flagsShift) }
  package var flags: RecordFlags { RecordFlags(rawValue: rawFlags) }
  /// The thread ordinal that a row has in place of the checksum.
  package var threadOrdinalOfRow: UInt32 { UInt32(truncatingIfNeeded: word(0) >> 32) }

  /// How many of its words are not encrypted in an encrypted ring: the leading words, the thread
  /// word, and a fragment's length of the body.
  package var clearWords: Int {
    let hasThread = rawFlags & RecordFlags.thread.rawValue != 0
    let count = RecordLayout.bodyWord + (hasThread ? 1 : 0) + (isFragment ? 1 : 0)
    return min(count, bytes.count / wordSize)
  }

  /// Whether it names a thread, or is a fragment.
  @inline(__always)
  var isSpecial: Bool { rawFlags & RecordFlags.thread.rawValue != 0 || isFragment }

  /// The thread that the record itself names, in a segment that several threads share.
  package var sharedThread: ThreadIdentity? {
    threadWord.map {
      ThreadIdentity(ordinal: UInt32(truncatingIfNeeded: $0), id: UInt32($0 >> 32), name: "")
    }
  }

  /// The ordinal of ``sharedThread``.
  @inline(__always)
  var sharedThreadOrdinal: UInt32? { threadWord.map { UInt32(truncatingIfNeeded: $0) } }

  @inline(__always)
  private var threadWord: UInt64? {
    let isThere =
      rawFlags & RecordFlags.thread.rawValue != 0
      && bytes.count > RecordLayout.bodyWord &* wordSize
    return isThere ? word(RecordLayout.bodyWord) : nil
  }
}

/// The length in bytes of the record that begins with a header word; nil if it cannot begin one, or
/// if `room` is too small. This is the one place where a record's bytes begin to be trusted.
@inline(__always)
private func recordLength(_ header: UInt64, room: Int) -> Int? {
  let length = statedLength(header)
  guard length >= RecordLayout.bodyWord &* wordSize, length <= room else { return nil }
  let kind = header & 0xFF00_0000
  return kind == RecordLayout.recordKind || kind == RecordLayout.fragmentKind ? length : nil
}

/// Walks over the records of a segment, passing over what is corrupted.
///
/// Works on a copy, and on the live mapping of its own process, too: it loads header words with
/// acquire order, so that it sees a record whole or not at all.
package struct RecordScanner {
  package enum Item {
    /// A valid record and its offset from the segment's start.
    case record(RecordView, offset: Int)
    /// Bytes that are no valid record.
    case corruption(Range<Int>)
  }

  /// What zeros in place of a record mean.
  package enum Zeros {
    /// No record is behind the first zero word.
    case end
    /// They may be a page that was lost when the machine went down: valid records behind them
    /// count. Zeros up to the segment's end are the usual end.
    case mayBeLost
    /// Records reached the segment's end: zeros before it are a loss, and valid records behind them
    /// count.
    case lost
  }

  /// How far ahead memory is prefetched, in bytes: processors that prefetch by themselves stop at
  /// the end of a page, and the record may be in the cache of the thread that wrote it.
  fileprivate static let prefetchDistance = 4096

  private let segment: UnsafeRawBufferPointer
  private let seed: UInt32
  private let zeros: Zeros
  private var budget: CheckBudget
  private var pending: Item?
  /// Where the next record begins, or would.
  package private(set) var offset: Int

  /// Walks over the records of a segment in this process's own ring.
  ///
  /// - Parameters:
  ///   - segment: All of the segment.
  ///   - header: Its header.
  ///   - session: The session of the ring.
  ///   - offset: Where to begin.
  ///   - end: Where the records end at the latest; if it is before `offset`, there are none.
  ///   - isWhole: Whether records reach to `end`. Then zeros before it are a loss, and records
  ///     behind them count. Otherwise no record is behind the first zero word.
  package init(
    _ segment: UnsafeRawBufferPointer, _ header: SegmentHeader, of session: SessionID,
    from offset: Int, to end: Int, isWhole: Bool = false
  ) {
    self.init(
      segment.slice(0, end), from: offset,
      seed: checksumSeed(session: session, generation: header.generation),
      zeros: isWhole ? .lost : .end)
  }

  /// - Parameters:
  ///   - segment: The segment, header included, cut at its end if it is sealed.
  ///   - offset: Where to begin; a multiple of 8, not before the first record.
  ///   - seed: The seed of the segment's generation.
  package init(
    _ segment: UnsafeRawBufferPointer, from offset: Int, seed: UInt32, zeros: Zeros
  ) {
    self.segment = segment
    self.offset = offset
    self.seed = seed
    self.zeros = zeros
    budget = CheckBudget(segment.count)
  }

  /// A cursor at the offset, for a loop that walks on over valid records; see ``move(to:)``.
  @inline(__always)
  var cursor: RecordReader? {
    guard pending == nil, let base = segment.baseAddress else { return nil }
    return RecordReader(next: base + offset, end: base + segment.count, seed: seed)
  }

  /// Goes on at a cursor that the scanner gave.
  @inline(__always)
  mutating func move(to cursor: RecordReader) {
    guard let base = segment.baseAddress else { return }
    offset = cursor.next - base
  }

  /// The next record or corruption, or nil at the end of what was committed.
  @inline(__always)
  package mutating func next() -> Item? {
    if pending != nil { return pending.take() }
    guard segment.count &- offset >= wordSize else { return nil }
    // Loaded once. If the word were zero at first and then not, because the record is committed in
    // that moment, the record would count as corruption and be passed over.
    let header = header(at: offset)
    return record(header) ?? itemBehind(header)
  }

  @inline(__always)
  private func header(at offset: Int) -> UInt64 {
    guard let base = segment.baseAddress else { return 0 }
    return UInt64(
      littleEndian: mmlog_load_acquire_u64(
        (base + offset).assumingMemoryBound(to: UInt64.self)))
  }

  /// The record at the offset, if one begins with this header word.
  @inline(__always)
  private mutating func record(_ header: UInt64) -> Item? {
    guard let base = segment.baseAddress,
      let length = recordLength(header, room: segment.count &- offset), budget.spend(length)
    else { return nil }
    let record = UnsafeRawBufferPointer(start: base + offset, count: length)
    mmlog_prefetch(base + (offset &+ Self.prefetchDistance))
    guard recordChecksum(record, seed: seed) == UInt32(truncatingIfNeeded: header >> 32) else {
      return nil
    }
    defer { offset &+= length }
    return .record(RecordView(checked: record), offset: offset)
  }

  /// The next item if no record begins with this header word. Erased records are passed over.
  @inline(never)
  private mutating func itemBehind(_ header: UInt64) -> Item? {
    var header = header
    while let length = ErasedRecord.length(header, room: segment.count &- offset, seed: seed) {
      offset &+= length
      guard segment.count &- offset >= wordSize else { return nil }
      header = self.header(at: offset)
      if let item = record(header) { return item }
    }
    if header == 0 && zeros == .end { return nil }
    let start = offset
    guard let item = nextBehind(start) else {
      // Anything else that is no record is corruption.
      offset = segment.count
      return header == 0 && zeros != .lost ? nil : .corruption(start..<segment.count)
    }
    pending = item.found
    return .corruption(start..<item.offset)
  }

  private mutating func nextBehind(_ start: Int) -> (found: Item, offset: Int)? {
    offset = start + wordSize
    while segment.count - offset >= wordSize {
      let at = offset
      if let item = record(header(at: at)) { return (item, at) }
      offset = at + wordSize
    }
    return nil
  }
}

/// Walks over valid whole records, in registers. It stops before anything else, which is for the
/// ``RecordScanner`` that gave it.
struct RecordReader {
  /// Where the next record begins, or would.
  fileprivate(set) var next: UnsafeRawPointer
  fileprivate let end: UnsafeRawPointer
  fileprivate let seed: UInt32

  fileprivate init(next: UnsafeRawPointer, end: UnsafeRawPointer, seed: UInt32) {
    (self.next, self.end, self.seed) = (next, end, seed)
  }

  /// The next record, if it is a valid one, and no fragment.
  @inline(__always)
  mutating func record() -> RecordView? {
    guard end - next >= wordSize else { return nil }
    let header = UInt64(
      littleEndian: mmlog_load_acquire_u64(next.assumingMemoryBound(to: UInt64.self)))
    guard header & 0xFF00_0000 == RecordLayout.recordKind,
      let length = recordLength(header, room: end - next)
    else { return nil }
    mmlog_prefetch(next + RecordScanner.prefetchDistance)
    let bytes = UnsafeRawBufferPointer(start: next, count: length)
    guard recordChecksum(bytes, seed: seed) == UInt32(truncatingIfNeeded: header >> 32) else {
      return nil
    }
    next += length
    return RecordView(checked: bytes)
  }
}

/// Walks over the rows of a frame. The caller has checked the checksum of the frame's payload.
package struct RowReader {
  private let table: UnsafeRawBufferPointer
  private let rows: UnsafeRawBufferPointer
  private var offset = 0

  /// Reads the thread table of a decompressed payload.
  package init(_ payload: UnsafeRawBufferPointer) throws(FormatError) {
    var reader = WordReader(payload)
    let count = UInt32(truncatingIfNeeded: try reader.word())
    guard count <= FrameLayout.maximumThreads else { throw .invalid("number of threads") }
    table = try reader.take(Int(count) * FrameLayout.threadSize)
    rows = try reader.take(reader.remaining)
  }

  /// Reads rows alone, as ``rows(from:size:)`` gives them.
  package init(rows: UnsafeRawBufferPointer) {
    table = UnsafeRawBufferPointer(start: nil, count: 0)
    self.rows = rows
  }

  /// How large all rows are, in bytes.
  package var size: Int { rows.count }

  /// The rows that begin within `size` bytes from `start`, where a row has to begin: at least one,
  /// unless none begins there. Bytes behind them that are no row are included.
  package func rows(from start: Int, size: Int) -> Slice<UnsafeRawBufferPointer> {
    // Somebody may have changed the file since the offset was found.
    guard start < rows.count else { return rows[rows.count...] }
    if size >= rows.count - start { return rows[start...] }
    var end = start
    while end - start < size {
      end += length(at: end) ?? (rows.count - end)
    }
    return rows[start..<end]
  }

  private func length(at offset: Int) -> Int? {
    guard rows.count - offset >= wordSize else { return nil }
    return recordLength(rows.load(offset, as: UInt64.self), room: rows.count - offset)
  }

  /// The threads that the rows are of, read anew at each call.
  package var threads: [ThreadIdentity] {
    stride(from: 0, to: table.count, by: FrameLayout.threadSize).map {
      ThreadIdentity(table.slice($0, FrameLayout.threadSize))
    }
  }

  /// The next row, or nil at the end. Throws for bytes that are no row: nothing after them is read.
  package mutating func next() throws(FormatError) -> RecordView? {
    guard offset < rows.count else { return nil }
    guard let length = length(at: offset) else { throw .invalid("row") }
    defer { offset += length }
    return RecordView(checked: rows.slice(offset, length))
  }
}
