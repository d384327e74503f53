public import CMMLogCore
public import CMMLogWriter
public import MMLogFormat

/// Where a record is being built: in its thread's segment, past the last committed record.
///
/// The optimizer keeps a cursor in registers: Swift returns four words there. The outlined
/// functions that a hot path may call take only those fields of a cursor that its writer does not
/// have, so that there are registers for all their arguments.
@frozen
public struct RecordCursor {
  /// The thread's writer, which the log call has made busy.
  @usableFromInline let writer: UnsafeMutablePointer<mmlog_writer>
  /// The record's first word, where its writer stands. Zero until the record is committed.
  @usableFromInline var start: UnsafeMutablePointer<UInt64>
  /// The next word to be written.
  @usableFromInline var next: UnsafeMutablePointer<UInt64>
  /// The check of the words behind the three leading ones, so far.
  @usableFromInline var checksum: UInt64

  /// Begins a record with room for `reserve` bytes.
  @inlinable @inline(__always)
  init(_ writer: UnsafeMutablePointer<mmlog_writer>, reserving reserve: Int) {
    self.writer = writer
    writer.pointee.record_flags = 0
    if writer.pointee.cursor + reserve > writer.pointee.limit {
      WriterSpace.reserveRecord(writer, reserve)
    }
    start = writer.place
    next = start + RecordLayout.bodyWord
    checksum = writer.pointee.seed
  }

  /// The record that a writer builds. The arguments are the fields that the writer does not have.
  init(
    _ writer: UnsafeMutablePointer<mmlog_writer>, _ next: UnsafeMutablePointer<UInt64>,
    checksum: UInt64
  ) {
    self.init(writer, start: writer.place, next, checksum: checksum)
  }

  init(
    _ writer: UnsafeMutablePointer<mmlog_writer>, start: UnsafeMutablePointer<UInt64>,
    _ next: UnsafeMutablePointer<UInt64>, checksum: UInt64
  ) {
    (self.writer, self.start, self.next, self.checksum) = (writer, start, next, checksum)
  }

  /// The record's size so far in bytes, the three leading words included.
  @inlinable @inline(__always)
  var size: Int { (next - start) * wordSize }

  /// Adds a word for which there is room.
  @inlinable @inline(__always)
  mutating func append(_ word: UInt64) {
    next.pointee = word
    next += 1
    checksum = mmlog_crc32c_word(checksum, word)
  }

  /// Adds a word for which there may be no room yet.
  @inlinable @inline(__always)
  package mutating func append(checked word: UInt64) {
    reserve(16)
    append(word)
  }

  /// Makes room for `count` bytes.
  @inlinable @inline(__always)
  mutating func reserve(_ count: Int) {
    if UnsafeMutableRawPointer(next) + count > UnsafeMutableRawPointer(writer.pointee.limit) {
      move(to: WriterSpace.reserveWords(writer, next, count))
    }
  }

  /// Goes on where an outlined function has left the record. The writer is the same, and this way
  /// the compiler knows.
  @inlinable @inline(__always)
  mutating func move(to moved: RecordCursor) {
    (start, next, checksum) = (moved.start, moved.next, moved.checksum)
  }

  /// Adds the words of another record, without its leading ones.
  mutating func append(wordsOf other: RecordCursor) {
    let first = other.start + RecordLayout.bodyWord
    append(words: UnsafeBufferPointer(start: first, count: other.next - first))
  }

  /// Adds words for which there may be no room yet.
  mutating func append(words: UnsafeBufferPointer<UInt64>) {
    guard var word = words.baseAddress else { return }
    let end = word + words.count
    let isRoom =
      UnsafeMutableRawPointer(next + words.count) + 16
      <= UnsafeMutableRawPointer(writer.pointee.limit)
    // Not `for in`: see LogCall.freeWriter.
    while word < end {
      if isRoom { append(word.pointee) } else { append(checked: word.pointee) }
      word += 1
    }
  }

  /// Adds a length and the bytes, cut to 16 MiB.
  ///
  /// - Parameter reserve: How many bytes must be left behind the added ones.
  @inlinable @inline(__always)
  package mutating func append(_ bytes: UnsafeRawBufferPointer, reserving reserve: Int) {
    var count = bytes.count
    // A length word, and the last word's padding.
    if UnsafeMutableRawPointer(next) + (count &+ 16 &+ reserve)
      > UnsafeMutableRawPointer(writer.pointee.limit)
    {
      let beside = 16 &+ reserve
      move(to: WriterSpace.reserveValue(writer, next, value: count, beside: beside))
      count = WriterSpace.cut(count, writer, next, beside: beside)
    }
    append(UInt64(truncatingIfNeeded: count))
    append(padded: bytes.baseAddress, count)
  }

  /// As ``append(_:reserving:)``, outlined: it would be the largest part of a log statement.
  @inlinable @inline(__always)
  mutating func append(outlined bytes: UnsafeRawBufferPointer, reserving reserve: Int) {
    move(to: writer.append(bytes, reserve, next, checksum))
  }

  /// Adds text, as its bytes in UTF-8.
  ///
  /// - Parameters:
  ///   - reserve: How many bytes must be left behind the text.
  ///   - hasRoomForSmall: Whether there is room for a small text and the reserved bytes.
  @inlinable @inline(__always)
  package mutating func append(
    _ text: some StringProtocol, reserving reserve: Int, hasRoomForSmall: Bool = false
  ) {
    // The compiler decides this, because it knows the type.
    if let text = text as? String {
      if let small = SmallText(text), hasRoomForSmall || hasRoom(forSmallTextAnd: reserve) {
        return append(small)
      }
      move(to: writer.append(text, reserve, next, checksum))
    } else {
      append(partOf: text, reserving: reserve)
    }
  }

  /// Adds text that may be a part of another text.
  @inlinable @inline(__always)
  mutating func append(partOf text: some StringProtocol, reserving reserve: Int) {
    // On a copy: what a closure captures stays in memory. The parts of the whole message must not.
    var cursor = self
    let done: Void? = text.utf8.withContiguousStorageIfAvailable {
      cursor.append(UnsafeRawBufferPointer($0), reserving: reserve)
    }
    self = done == nil ? appending(copyOf: String(text), reserving: reserve) : cursor
  }

  /// Adds text that is not in one piece of memory, as a bridged text may be.
  @usableFromInline @inline(never)
  func appending(copyOf text: String, reserving reserve: Int) -> RecordCursor {
    var cursor = self
    Array(text.utf8).withUnsafeBytes { cursor.append($0, reserving: reserve) }
    return cursor
  }

  /// Copies bytes by words, the last one filled up with zeros.
  @inlinable @inline(__always)
  mutating func append(padded bytes: UnsafeRawPointer?, _ count: Int) {
    guard var source = bytes else { return }
    var left = count
    while left >= 2 * wordSize {
      append(source.loadUnaligned(as: UInt64.self))
      append(source.loadUnaligned(fromByteOffset: wordSize, as: UInt64.self))
      source += 2 * wordSize
      left &-= 2 * wordSize
    }
    if left >= wordSize {
      append(source.loadUnaligned(as: UInt64.self))
      source += wordSize
      left &-= wordSize
    }
    if left > 0 { append(Self.lastWord(source, left)) }
  }

  /// Fewer than 8 bytes as a word, read without touching any byte behind them.
  @inlinable @inline(__always)
  static func lastWord(_ bytes: UnsafeRawPointer, _ count: Int) -> UInt64 {
    var source = bytes
    var word: UInt64 = 0
    if count & 4 != 0 {
      word = UInt64(source.loadUnaligned(as: UInt32.self))
      source += 4
    }
    if count & 2 != 0 {
      word |= UInt64(source.loadUnaligned(as: UInt16.self)) << (UInt64(count & 4) &* 8)
      source += 2
    }
    if count & 1 != 0 {
      word |= UInt64(source.loadUnaligned(as: UInt8.self)) << (UInt64(count & 6) &* 8)
    }
    return word
  }
}

extension UnsafeMutablePointer<mmlog_writer> {
  /// Adds text that is not small, or for which there is no room. Outlined: it would be the largest
  /// part of many a log statement.
  ///
  /// - Parameters:
  ///   - reserve: How many bytes must be left behind the text.
  ///   - next, checksum: Fields of the record's ``RecordCursor``.
  /// - Returns: The record with the text.
  @usableFromInline @inline(never)
  func append(
    _ text: String, _ reserve: Int, _ next: UnsafeMutablePointer<UInt64>, _ checksum: UInt64
  ) -> RecordCursor {
    var cursor = RecordCursor(self, next, checksum: checksum)
    if let small = SmallText(text) {
      cursor = cursor.appending(small, reserving: reserve)
    } else {
      cursor.append(partOf: text, reserving: reserve)
    }
    return cursor
  }

  /// Adds a length and the bytes. See the form for text.
  @usableFromInline @inline(never)
  func append(
    _ bytes: UnsafeRawBufferPointer, _ reserve: Int, _ next: UnsafeMutablePointer<UInt64>,
    _ checksum: UInt64
  ) -> RecordCursor {
    var cursor = RecordCursor(self, next, checksum: checksum)
    cursor.append(bytes, reserving: reserve)
    return cursor
  }

  /// Where the writer stands: where its next record begins.
  @inlinable @inline(__always)
  var place: UnsafeMutablePointer<UInt64> {
    UnsafeMutableRawPointer(pointee.cursor).assumingMemoryBound(to: UInt64.self)
  }

  /// Adds flags to those that the writer's record has.
  @inlinable @inline(__always)
  func add(_ flags: RecordFlags) {
    pointee.record_flags |= UInt64(flags.rawValue) << RecordLayout.flagsShift
  }

  /// Whether the writer's record has these flags.
  func has(_ flags: RecordFlags) -> Bool {
    pointee.record_flags & UInt64(flags.rawValue) << RecordLayout.flagsShift != 0
  }
}
