public import CMMLogWriter
import MMLogFormat

/// A string of up to fifteen bytes. Swift keeps it in the two words of the string itself, as a
/// record has it but for the last byte, which says what kind of string it is (StringObject.swift in
/// the standard library).
@frozen
@usableFromInline
struct SmallText {
  @usableFromInline let count: Int
  @usableFromInline let words: (UInt64, UInt64)

  /// Nil for any other text.
  @inlinable @inline(__always)
  init?(_ text: some StringProtocol) {
    #if _pointerBitWidth(_64) && _endian(little) && (arch(x86_64) || arch(arm64)) && !os(Android)
      // Decided by the compiler, which knows the type.
      guard let text = text as? String else { return nil }
      let (first, second) = unsafeBitCast(text, to: (UInt64, UInt64).self)
      if second & Self.isSmall == 0 { return nil }
      count = Int(truncatingIfNeeded: second >> 56 & 0xF)
      words = (first, second & 0xFF_FFFF_FFFF_FFFF)
    #else
      return nil
    #endif
  }

  @inlinable static var isSmall: UInt64 { 1 << 61 }

  /// Whether a text that is not small is known at compile time, so that its bytes stay where they
  /// are. False where that is not known.
  static func isLiteral(_ text: String) -> Bool {
    #if _pointerBitWidth(_64) && _endian(little) && (arch(x86_64) || arch(arm64)) && !os(Android)
      unsafeBitCast(text, to: (UInt64, UInt64).self).1 >> 60 == 0b1000
    #else
      false
    #endif
  }
}

extension RecordCursor {
  /// A length, and the bytes of a text that is not in memory.
  ///
  /// - Parameter reserve: How many bytes must be left behind them.
  @inlinable @inline(__always)
  mutating func append(_ text: SmallText, reserving reserve: Int) {
    var count = text.count
    // A length word, two of text, and one of what follows.
    if UnsafeMutableRawPointer(next) + (32 &+ reserve)
      > UnsafeMutableRawPointer(writer.pointee.limit)
    {
      let room = WriterSpace.reserveValue(
        writer, start, next, flags, value: 2 * wordSize, beside: 16 &+ reserve)
      self = room.cursor
      if count > room.longest {
        count = 0
        flags |= RecordFlags.cut.rawValue
      }
    }
    append(UInt64(truncatingIfNeeded: count))
    if count > 0 { append(text.words.0) }
    if count > wordSize { append(text.words.1) }
  }

  /// The same where there is room.
  @inline(__always)
  mutating func append(_ text: SmallText) {
    append(UInt64(truncatingIfNeeded: text.count))
    if text.count > 0 { append(text.words.0) }
    if text.count > wordSize { append(text.words.1) }
  }
}
