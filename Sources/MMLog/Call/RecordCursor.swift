public import CMMLogCore
public import CMMLogWriter
public import MMLogFormat

/// Where a record is being built: in its thread's segment, past the last committed record.
///
/// The optimizer keeps it in registers. Five words are one too many for Swift to pass it to a
/// function there, so the outlined functions that a hot path may call take its fields, each by
/// itself: else every log call would store them.
@frozen
public struct RecordCursor {
  /// The thread's writer, which the log call has made busy.
  @usableFromInline let writer: UnsafeMutablePointer<mmlog_writer>
  /// The record's first word. Zero until the record is committed.
  @usableFromInline var start: UnsafeMutablePointer<UInt64>
  /// The next word to be written.
  @usableFromInline var next: UnsafeMutablePointer<UInt64>
  /// The check of the words behind the three leading ones, so far.
  @usableFromInline var checksum: UInt64
  @usableFromInline var flags: UInt8

  /// Begins a record with room for so many bytes.
  @inlinable @inline(__always)
  init(_ writer: UnsafeMutablePointer<mmlog_writer>, reserving reserve: Int) {
    self.writer = writer
    if writer.pointee.cursor + reserve > writer.pointee.limit {
      WriterSpace.reserveRecord(writer, reserve)
    }
    start = UnsafeMutableRawPointer(writer.pointee.cursor).assumingMemoryBound(to: UInt64.self)
    next = start + RecordLayout.bodyWord
    checksum = writer.pointee.seed
    flags = 0
  }

  /// Puts together what a function was passed by fields.
  init(
    _ writer: UnsafeMutablePointer<mmlog_writer>, _ start: UnsafeMutablePointer<UInt64>,
    _ next: UnsafeMutablePointer<UInt64>, checksum: UInt64, flags: UInt8
  ) {
    (self.writer, self.start, self.next) = (writer, start, next)
    (self.checksum, self.flags) = (checksum, flags)
  }

  /// Whether it is what a writer would commit next.
  @inlinable @inline(__always)
  func stands(at writer: UnsafeMutablePointer<mmlog_writer>) -> Bool {
    start == UnsafeMutableRawPointer(writer.pointee.cursor).assumingMemoryBound(to: UInt64.self)
  }

  /// The record's size so far in bytes, the three leading words included.
  @inlinable @inline(__always)
  var size: Int { (next - start) * wordSize }

  /// A word for which there is room.
  @inlinable @inline(__always)
  mutating func append(_ word: UInt64) {
    next.pointee = word
    next += 1
    checksum = mmlog_crc32c_word(checksum, word)
  }

  /// A word for which there may be no room yet.
  @inlinable @inline(__always)
  package mutating func append(checked word: UInt64) {
    reserve(16)
    append(word)
  }

  /// Makes room for so many bytes.
  @inlinable @inline(__always)
  mutating func reserve(_ count: Int) {
    if UnsafeMutableRawPointer(next) + count > UnsafeMutableRawPointer(writer.pointee.limit) {
      self = WriterSpace.reserveWords(writer, start, next, flags, count)
    }
  }

  /// The words of another record, behind its leading ones.
  mutating func append(wordsOf other: RecordCursor) {
    let first = other.start + RecordLayout.bodyWord
    append(words: UnsafeBufferPointer(start: first, count: other.next - first))
  }

  /// Words for which there may be no room yet.
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

  /// A length and so many bytes; more than 16 MiB are cut.
  ///
  /// - Parameter reserve: How many bytes must be left behind them.
  @inlinable @inline(__always)
  package mutating func append(_ bytes: UnsafeRawBufferPointer, reserving reserve: Int) {
    var count = bytes.count
    // A length word, and the last word's padding.
    if UnsafeMutableRawPointer(next) + (count &+ 16 &+ reserve)
      > UnsafeMutableRawPointer(writer.pointee.limit)
    {
      let room = WriterSpace.reserveValue(
        writer, start, next, flags, value: count, beside: 16 &+ reserve)
      self = room.cursor
      if count > room.longest {
        count = room.longest
        flags |= RecordFlags.cut.rawValue
      }
    }
    append(UInt64(truncatingIfNeeded: count))
    append(padded: bytes.baseAddress, count)
  }

  /// Text: as its bytes in UTF-8.
  ///
  /// - Parameter reserve: How many bytes must be left behind them.
  @inlinable @inline(__always)
  package mutating func append(_ text: some StringProtocol, reserving reserve: Int) {
    // Decided by the compiler, which knows the type.
    if let text = text as? String {
      if let small = SmallText(text), hasRoom(forSmallTextAnd: reserve) { return append(small) }
      (start, next, checksum, flags) = writer.append(text, reserve, start, next, checksum, flags)
    } else {
      append(partOf: text, reserving: reserve)
    }
  }

  /// Text that may be a part of another one.
  @inlinable @inline(__always)
  mutating func append(partOf text: some StringProtocol, reserving reserve: Int) {
    // On a copy: what a closure captures stays in memory, and that must not be the parts of the
    // whole message.
    var cursor = self
    let done: Void? = text.utf8.withContiguousStorageIfAvailable {
      cursor.append(UnsafeRawBufferPointer($0), reserving: reserve)
    }
    self = done == nil ? appending(copyOf: String(text), reserving: reserve) : cursor
  }

  /// Text that is not in one piece of memory, as a bridged one may be.
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
  ///   - start, next, checksum, flags: The record's ``RecordCursor``.
  /// - Returns: The same again, in as many registers as there are.
  @usableFromInline @inline(never)
  func append(
    _ text: String, _ reserve: Int, _ start: UnsafeMutablePointer<UInt64>,
    _ next: UnsafeMutablePointer<UInt64>, _ checksum: UInt64, _ flags: UInt8
  ) -> (UnsafeMutablePointer<UInt64>, UnsafeMutablePointer<UInt64>, UInt64, UInt8) {
    var cursor = RecordCursor(self, start, next, checksum: checksum, flags: flags)
    if let small = SmallText(text) {
      cursor = cursor.appending(small, reserving: reserve)
    } else {
      cursor.append(partOf: text, reserving: reserve)
    }
    return (cursor.start, cursor.next, cursor.checksum, cursor.flags)
  }
}
