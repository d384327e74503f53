public import CMMLogWriter
import MMLogFormat

/// A string of up to fifteen bytes. Swift keeps it in the two words of the string itself. A record
/// has the same words, except for the last byte, which says what kind of string it is
/// (StringObject.swift in the standard library).
@frozen
@usableFromInline
struct SmallText {
  @usableFromInline let count: Int
  @usableFromInline let words: (UInt64, UInt64)

  /// Nil for any other text.
  @inlinable @inline(__always)
  init?(_ text: String) {
    #if _pointerBitWidth(_64) && _endian(little) && (arch(x86_64) || arch(arm64)) && !os(Android)
      self.init(words: unsafeBitCast(text, to: (UInt64, UInt64).self))
    #else
      return nil
    #endif
  }

  /// The text in a string's two words.
  @inlinable @inline(__always)
  init?(words: (UInt64, UInt64)) {
    if words.1 & Self.isSmall == 0 { return nil }
    count = Int(truncatingIfNeeded: words.1 >> 56 & 0xF)
    self.words = (words.0, words.1 & 0xFF_FFFF_FFFF_FFFF)
  }

  @inlinable static var isSmall: UInt64 { 1 << 61 }
}

/// A string as the two words that Swift keeps it in. Reading them counts no references.
@frozen
@usableFromInline
package struct TextWords {
  #if _pointerBitWidth(_64) && _endian(little) && (arch(x86_64) || arch(arm64)) && !os(Android)
    @usableFromInline let words: (UInt64, UInt64)

    init(_ text: String) { words = unsafeBitCast(text, to: (UInt64, UInt64).self) }

    /// The words of a string in memory. The string has to stay there.
    @inlinable package init(at address: UnsafeRawPointer) {
      words = address.loadUnaligned(as: (UInt64, UInt64).self)
    }

    var small: SmallText? { SmallText(words: words) }

    /// The string's first eight bytes as a number. Numbers have the order of the texts' bytes.
    /// Bytes that do not exist, or are not in memory, are zero.
    @inlinable @inline(__always)
    package var leadingBytes: UInt64 {
      SmallText(words: words)?.words.0.byteSwapped ?? leadingBytesInMemory
    }

    @usableFromInline
    var leadingBytesInMemory: UInt64 {
      guard let bytes, let start = bytes.baseAddress else { return 0 }
      let word =
        bytes.count < wordSize
        ? RecordCursor.lastWord(start, bytes.count) : start.loadUnaligned(as: UInt64.self)
      return word.byteSwapped
    }

    /// Two texts, if both are small.
    @inline(__always)
    static func small(_ first: TextWords, _ second: TextWords) -> (SmallText, SmallText)? {
      if first.words.1 & second.words.1 & SmallText.isSmall == 0 { return nil }
      guard let first = first.small, let second = second.small else { return nil }
      return (first, second)
    }

    /// Whether the string is known at compile time, so that its bytes stay where they are, and is
    /// not small.
    var isLiteral: Bool { words.1 >> 60 == 0b1000 }

    /// The words of a literal, which say where it is.
    var ofLiteral: (UInt64, UInt64)? { isLiteral ? words : nil }

    /// The bytes of a literal, or of a string in memory of its own. They live as long as the
    /// string. Nil for a small string, or one of another kind.
    var bytes: UnsafeRawBufferPointer? {
      guard isInMemory, words.0 & Self.isTailAllocated != 0 else { return nil }
      return UnsafeRawBufferPointer(start: address, count: Int(words.0 & Self.countMask))
    }

    /// As ``bytes``, if there are 9 to 32 of them, which one comparison tells.
    @inline(__always)
    var someBytes: UnsafeRawBufferPointer? {
      let above = (words.0 & (Self.isTailAllocated | Self.countMask)) &- (Self.isTailAllocated | 9)
      guard isInMemory, above <= 32 - 9 else { return nil }
      return UnsafeRawBufferPointer(start: address, count: Int(words.0 & 63))
    }

    private var isInMemory: Bool { words.1 >> 60 & 0b0111 == 0 }

    /// The address of the bytes. They begin 32 bytes behind the beginning of their object, if a
    /// flag above their number says so.
    private var address: UnsafeRawPointer? {
      UnsafeRawPointer(bitPattern: UInt(words.1 & 0x0FFF_FFFF_FFFF_FFFF) &+ 32)
    }

    private static var isTailAllocated: UInt64 { 1 << 60 }
    private static var countMask: UInt64 { 0xFFFF_FFFF_FFFF }
  #else
    init(_ text: String) {}
    package init(at address: UnsafeRawPointer) {}
    var small: SmallText? { nil }
    package var leadingBytes: UInt64 { 0 }
    static func small(_ first: TextWords, _ second: TextWords) -> (SmallText, SmallText)? { nil }
    var isLiteral: Bool { false }
    var ofLiteral: (UInt64, UInt64)? { nil }
    var bytes: UnsafeRawBufferPointer? { nil }
    var someBytes: UnsafeRawBufferPointer? { nil }
  #endif
}

extension RecordCursor {
  /// Whether there is room for a length word, two words of text, one word of what follows, and
  /// `reserve` bytes.
  @inlinable @inline(__always)
  func hasRoom(forSmallTextAnd reserve: Int) -> Bool {
    UnsafeMutableRawPointer(next) + (32 &+ reserve)
      <= UnsafeMutableRawPointer(writer.pointee.limit)
  }

  /// Adds a length, and the bytes of a small text. There has to be room.
  @inlinable @inline(__always)
  mutating func append(_ text: SmallText) {
    append(UInt64(truncatingIfNeeded: text.count))
    if text.count > 0 { append(text.words.0) }
    if text.count > wordSize { append(text.words.1) }
  }

  /// As ``append(_:)``, if there is no room for the text, or for `reserve` bytes behind it.
  @inline(never)
  func appending(_ text: SmallText, reserving reserve: Int) -> RecordCursor {
    let beside = 16 &+ reserve
    var cursor = WriterSpace.reserveValue(writer, next, value: 2 * wordSize, beside: beside)
    if WriterSpace.cut(text.count, writer, cursor.next, beside: beside) == text.count {
      cursor.append(text)
    } else {
      cursor.append(UInt64(0))
    }
    return cursor
  }
}
