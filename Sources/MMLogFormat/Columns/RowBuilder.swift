import CMMLogCore
import MMLogCrypto

/// Collects the rows of one frame.
package struct RowBuilder: ~Copyable {
  private(set) var threads: [ThreadIdentity] = []
  /// Where each thread is among them, by its ordinal.
  private var known: [UInt32: Int] = [:]
  /// The last ordinal of a thread, for each value of an ordinal's lowest six bits; marked if the
  /// thread has no name so far.
  private var recent = [64 of UInt64](repeating: .max)
  private var rows = TextBuffer(capacity: Self.targetSize / 4)
  /// Where each row begins, as words.
  private var offsets = TextBuffer(capacity: Self.targetSize / 16)
  private var (firstTicks, lastTicks) = (UInt64.max, UInt64.min)
  /// For rows as they stood in an encrypted ring: their streams, and where each row stood, as
  /// words.
  private var streams: [UInt64] = []
  private var streamIndexes: [UInt64: Int] = [:]
  private var places = TextBuffer(capacity: 64)
  /// Whether a row could not be decrypted.
  package private(set) var isUnreadable = false
  /// For each level, the number of records, and of their bytes. Of a fragmented record, only the
  /// first fragment counts as a record.
  private let tallies = WordBuffer(capacity: 16)

  /// The size that the rows of a frame are meant to have, in bytes: each column and each pattern
  /// costs something once a frame, and rows of this size still fit into a processor's cache.
  package static let targetSize = 1 << 20

  /// The maximum size of a frame's rows, in bytes: as columns, they may take somewhat more.
  package static let largestSize = FrameLayout.largestPayload - (1 << 20)

  package init() { forgetTallies() }

  package var isEmpty: Bool { rows.count == 0 }
  /// The size that the payload would have now, in bytes.
  package var size: Int { tableSize + rows.count }
  /// Whether a frame of these rows can be read.
  package var isReadable: Bool {
    size <= Self.largestSize && threads.count <= FrameLayout.maximumThreads
  }
  private var tableSize: Int { wordSize + threads.count * FrameLayout.threadSize }

  /// The number of records of a level: of a fragmented record, only the first fragment counts.
  package func count(level: Int) -> UInt32 { UInt32(truncatingIfNeeded: tallies.base[2 * level]) }
  /// How many bytes the records of a level have.
  package func byteCount(level: Int) -> UInt64 { tallies.base[2 * level + 1] }

  /// ``count(level:)`` of all levels.
  package var levels: LevelCounts {
    var levels = LevelCounts(repeating: 0)
    for level in levels.indices { levels[level] = count(level: level) }
    return levels
  }

  /// How many records there are of all levels.
  package var recordCount: Int { (0..<8).reduce(0) { $0 + Int(count(level: $1)) } }

  /// How many records and fragments there are.
  package var count: Int { offsets.count / wordSize }
  /// The summary of the rows, without wall times.
  package var summary: RecordSummary {
    var summary = RecordSummary()
    if isEmpty { return summary }
    (summary.firstTicks, summary.lastTicks) = (firstTicks, lastTicks)
    summary.count = UInt32(clamping: count)
    for level in 0..<8 where byteCount(level: level) > 0 { summary.levels |= 1 << level }
    return summary
  }

  /// Adds a record or fragment of `thread`, at `ticks` in place of its own.
  package mutating func add(_ record: RecordView, thread: ThreadIdentity, ticks: UInt64) {
    add(record, ticks: ticks, threadOrdinal: thread.ordinal) { thread }
  }

  /// Adds a record or fragment, at `ticks` in place of its own (see FORMAT.md, 5). Calls `thread`
  /// if its thread is new, or has no name so far.
  ///
  /// - Parameter maySayName: Whether `thread` may have a name.
  @inline(__always)
  package mutating func add(
    _ record: RecordView, ticks: UInt64, threadOrdinal: UInt32, maySayName: Bool = true,
    thread: () -> ThreadIdentity
  ) {
    let seen = recent[Int(threadOrdinal & 63)]
    let isKnown =
      seen == UInt64(threadOrdinal)
      || !maySayName && seen == UInt64(threadOrdinal) | Self.withoutName
    if !isKnown { add(threadOrdinal, thread) }
    offsets.append(word: UInt64(truncatingIfNeeded: rows.count))
    rows.append(maximum: record.bytes.count) {
      guard let source = record.bytes.baseAddress else { return 0 }
      let row = UnsafeMutableRawPointer($0)
      row.copyMemory(from: source, byteCount: record.bytes.count)
      row.storeBytes(of: threadOrdinal.littleEndian, toByteOffset: 4, as: UInt32.self)
      row.storeBytes(
        of: ticks.littleEndian, toByteOffset: RecordLayout.ticksWord * wordSize, as: UInt64.self)
      return record.bytes.count
    }
    (firstTicks, lastTicks) = (min(firstTicks, ticks), max(lastTicks, ticks))
    let level = record.levelIndex
    if record.isCounted { tallies.base[2 * level] &+= 1 }
    tallies.base[2 * level + 1] &+= UInt64(truncatingIfNeeded: record.bytes.count)
  }

  /// Decrypts the row that was added last.
  ///
  /// - Parameters:
  ///   - record: The record that the row was made from.
  ///   - offset: Where the record stands, from the segment's start.
  mutating func decryptLast(_ record: RecordView, with stream: SegmentStream, at offset: Int) {
    let row = UnsafeMutableRawBufferPointer(
      start: rows.base + rows.count - record.bytes.count, count: record.bytes.count)
    do throws(CryptoError) {
      try stream.combine(with: row, behind: record.clearWords, at: offset)
    } catch {
      isUnreadable = true
    }
  }

  /// Notes where the row that was added last stood in the ring, and leaves it encrypted: see
  /// ``SealedRows``. To be called for all rows, or for none.
  package mutating func noteLast(stream: UInt64, at offset: Int) {
    let index = streamIndexes[stream] ?? streams.count
    if index == streams.count {
      streams.append(stream)
      streamIndexes[stream] = index
    }
    places.append(word: SealedRows.place(stream: index, offset: offset))
  }

  /// Whether rows are as they stood in an encrypted ring.
  package var areSealed: Bool { !places.isEmpty }

  /// The payload arranged in sealed rows.
  package func sealedPayload() -> [UInt8] {
    var payload: [UInt8] = []
    func append(_ word: UInt64) { withUnsafeBytes(of: word.littleEndian) { payload += $0 } }
    payload.reserveCapacity(size + places.count + streams.count * wordSize)
    append(UInt64(threads.count) | UInt64(streams.count) << 32)
    payload.append(storing: tableSize - wordSize) { encodeThreads(into: $0) }
    for stream in streams { append(stream) }
    withRows { rows in
      for index in 0..<rows.count {
        let row = rows[index]
        append(
          places.base.load(fromByteOffset: index * wordSize, as: UInt64.self))
        payload += UnsafeRawBufferPointer(start: row.base, count: row.count * wordSize)
      }
    }
    return payload
  }

  /// Begins to add records that are no fragments, and all of one thread.
  ///
  /// - Parameters:
  ///   - ticks: The ticks of the first record.
  ///   - size: No record but the first is added once the payload has this size.
  ///   - first: The length of the first record, for which there is room in any case.
  @inline(__always)
  mutating func beginSeries(
    of thread: ThreadIdentity, ticks: UInt64, size: Int, first: Int
  ) -> RowSeries {
    if recent[Int(thread.ordinal & 63)] != UInt64(thread.ordinal) {
      add(thread.ordinal) { thread }
    }
    firstTicks = min(firstTicks, ticks)
    let room = max(first, min(size, Self.targetSize) - self.size)
    rows.reserve(room)
    // A record has three words at least.
    offsets.reserve((rows.capacity - rows.count) / 3)
    return RowSeries(
      base: rows.base, next: rows.base + rows.count, end: rows.base + rows.capacity,
      full: rows.base + max(rows.count + 1, min(size - tableSize, rows.capacity)),
      offset: (offsets.base + offsets.count).assumingMemoryBound(to: UInt64.self),
      tallies: tallies.base, ordinal: thread.ordinal)
  }

  /// Takes over the rows that a series added.
  @inline(__always)
  mutating func end(_ series: RowSeries) {
    rows.end = series.next - rows.base
    offsets.end = UnsafeMutableRawPointer(series.offset) - offsets.base
    if series.isUnreadable { isUnreadable = true }
    lastTicks = max(lastTicks, withRows { $0[$0.count - 1][RecordLayout.ticksWord] })
  }

  @inline(never)
  private mutating func add(_ ordinal: UInt32, _ thread: () -> ThreadIdentity) {
    let thread = thread()
    if let index = known[ordinal] {
      // A record in a shared segment does not name its thread: a later segment may.
      if threads[index].name.isEmpty { threads[index] = thread }
    } else {
      known[ordinal] = threads.count
      threads.append(thread)
    }
    let mark = thread.name.isEmpty ? Self.withoutName : 0
    recent[Int(ordinal & 63)] = UInt64(ordinal) | mark
  }

  /// Marks a thread in ``recent`` that has no name so far.
  private static var withoutName: UInt64 { 1 << 32 }

  /// The payload arranged in rows: thread table, then rows.
  package func payload() -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: size) { output, count in
      let output = UnsafeMutableRawBufferPointer(output)
      count = size
      output.store(UInt64(threads.count), 0)
      encodeThreads(into: UnsafeMutableRawBufferPointer(rebasing: output[wordSize...]))
      UnsafeMutableRawBufferPointer(rebasing: output[tableSize...]).copyMemory(from: rows.bytes)
    }
  }

  private func encodeThreads(into output: UnsafeMutableRawBufferPointer) {
    for (index, thread) in threads.enumerated() {
      thread.encode(into: output, at: index * FrameLayout.threadSize)
    }
  }

  /// How many records there are of some levels, each fragmented one counted once.
  ///
  /// - Parameter wanted: Bit *l* stands for level *l*.
  package func count(levels wanted: UInt8) -> UInt64 {
    Level.allCases.reduce(0) { count, level in
      wanted >> level.rawValue & 1 == 0
        ? count : count + UInt64(self.count(level: Int(level.rawValue)))
    }
  }

  /// The payload arranged in rows, of records of some levels only; see ``count(levels:)``.
  package func payload(levels wanted: UInt8) -> [UInt8] {
    var chosen = RowBuilder()
    withRows { rows in
      for index in 0..<rows.count {
        let row = rows[index]
        let level = Level(
          fromFile: UInt8(truncatingIfNeeded: row.identity >> RecordLayout.levelShift))
        if wanted >> level.rawValue & 1 != 0 { chosen.copy(row) }
      }
    }
    // All threads: they are few, and none is there twice.
    chosen.threads = threads
    return chosen.payload()
  }

  private mutating func copy(_ row: RowWords) {
    rows.append(maximum: row.count * wordSize) {
      UnsafeMutableRawPointer($0).copyMemory(from: row.base, byteCount: row.count * wordSize)
      return row.count * wordSize
    }
  }

  func withRows<Result>(_ body: (RowList) -> Result) -> Result {
    let offsets = offsets.base.assumingMemoryBound(to: UInt64.self)
    return body(RowList(base: rows.base, offsets: offsets, count: count))
  }

  /// Forgets everything, and keeps the memory.
  package mutating func removeAll() {
    threads.removeAll(keepingCapacity: true)
    known.removeAll(keepingCapacity: true)
    recent = [64 of UInt64](repeating: .max)
    rows.removeAll()
    offsets.removeAll()
    streams.removeAll(keepingCapacity: true)
    streamIndexes.removeAll(keepingCapacity: true)
    places.removeAll()
    isUnreadable = false
    (firstTicks, lastTicks) = (.max, .min)
    forgetTallies()
  }

  private func forgetTallies() { tallies.base.update(repeating: 0, count: 16) }
}

/// Adds rows one after the other, with its whole state in registers.
struct RowSeries {
  fileprivate let base: UnsafeMutableRawPointer
  fileprivate var next: UnsafeMutableRawPointer
  /// Where the memory ends, and from where on no further row begins.
  fileprivate let (end, full): (UnsafeMutableRawPointer, UnsafeMutableRawPointer)
  fileprivate var offset: UnsafeMutablePointer<UInt64>
  fileprivate let tallies: UnsafeMutablePointer<UInt64>
  fileprivate let ordinal: UInt32
  /// See ``RowBuilder/isUnreadable``.
  fileprivate var isUnreadable = false
  /// How far ahead the memory of rows is prefetched, in bytes: it may be in the cache of the thread
  /// that encoded an earlier frame, and then each store would wait for its cache line.
  private static let rowsAhead = 8192
  /// As `rowsAhead`, for offsets, which are shorter than rows.
  private static let offsetsAhead = 1024

  /// Adds a record at `ticks` in place of its own.
  ///
  /// - Parameters:
  ///   - stream: What the record is encrypted with; nil: it is not.
  ///   - place: Where the record stands, from the segment's start.
  /// - Returns: Whether there was room for it.
  @inline(__always)
  mutating func add(
    _ record: RecordView, ticks: UInt64, decryptedWith stream: UnownedStream?, at place: Int
  ) -> Bool {
    let length = record.bytes.count
    guard next < full, length <= end - next, let source = record.bytes.baseAddress else {
      return false
    }
    mmlog_prefetch_to_write(next + Self.rowsAhead)
    mmlog_prefetch_to_write(UnsafeMutableRawPointer(offset) + Self.offsetsAhead)
    offset.pointee = UInt64(truncatingIfNeeded: next - base)
    offset += 1
    if let stream {
      let (target, body) = (next, RecordLayout.bodyWord &* wordSize)
      copy(source, count: body)
      let isDone: Void? = try? stream.combine(
        source, to: target, from: body, count: length, at: place)
      if isDone == nil { isUnreadable = true }
    } else {
      copy(source, count: length)
    }
    next.storeBytes(of: ordinal.littleEndian, toByteOffset: 4, as: UInt32.self)
    next.storeBytes(
      of: ticks.littleEndian, toByteOffset: RecordLayout.ticksWord &* wordSize, as: UInt64.self)
    let tally = tallies + 2 &* record.levelIndex
    tally[0] &+= 1
    tally[1] &+= UInt64(truncatingIfNeeded: length)
    next += length
    return true
  }

  /// Copies `count` bytes of a record, which are words. Records are short: a call would cost more
  /// than this.
  @inline(__always)
  private func copy(_ source: UnsafeRawPointer, count: Int) {
    typealias Words = SIMD4<UInt64>
    var place = 0
    while count &- place >= 4 &* wordSize {
      next.storeBytes(
        of: source.loadUnaligned(fromByteOffset: place, as: Words.self), toByteOffset: place,
        as: Words.self)
      place &+= 4 &* wordSize
    }
    while place < count {
      let word = source.load(fromByteOffset: place, as: UInt64.self)
      next.storeBytes(of: word, toByteOffset: place, as: UInt64.self)
      place &+= wordSize
    }
  }
}
