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
  init?(_ text: String) {
    #if _pointerBitWidth(_64) && _endian(little) && (arch(x86_64) || arch(arm64)) && !os(Android)
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
  /// Whether there is room for a length word, two of text, one of what follows, and so many bytes.
  @inlinable @inline(__always)
  func hasRoom(forSmallTextAnd reserve: Int) -> Bool {
    UnsafeMutableRawPointer(next) + (32 &+ reserve)
      <= UnsafeMutableRawPointer(writer.pointee.limit)
  }

  /// A length, and the bytes of a text that is not in memory. There has to be room.
  @inlinable @inline(__always)
  mutating func append(_ text: SmallText) {
    append(UInt64(truncatingIfNeeded: text.count))
    if text.count > 0 { append(text.words.0) }
    if text.count > wordSize { append(text.words.1) }
  }

  /// The same where there is no room for it, or not for so many bytes behind it.
  @inline(never)
  func appending(_ text: SmallText, reserving reserve: Int) -> RecordCursor {
    let room = WriterSpace.reserveValue(
      writer, start, next, flags, value: 2 * wordSize, beside: 16 &+ reserve)
    var cursor = room.cursor
    if text.count <= room.longest {
      cursor.append(text)
    } else {
      cursor.append(UInt64(0))
      cursor.flags |= RecordFlags.cut.rawValue
    }
    return cursor
  }
}
