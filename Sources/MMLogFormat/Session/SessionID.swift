/// The UUID that names one life of a store.
public struct SessionID: Hashable, Sendable, CustomStringConvertible {
  /// The 16 bytes as two numbers, each read little-endian.
  package let words: (UInt64, UInt64)

  /// Makes an id of 16 bytes read as two little-endian numbers.
  package init(words: (UInt64, UInt64)) { self.words = words }

  /// Reads the 16 bytes at an offset.
  package init(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
    words = (bytes.load(offset, as: UInt64.self), bytes.load(offset + 8, as: UInt64.self))
  }

  /// Makes a random (version 4, variant 1) UUID of 16 random bytes.
  package init(random: (UInt64, UInt64)) {
    // Byte 6's high half is the version; byte 8's two high bits are the variant (RFC 9562, 5.4).
    let low = random.0 & ~(0xF0 << 48) | 0x40 << 48
    let high = random.1 & ~0xC0 | 0x80
    words = (low, high)
  }

  /// 32 lower-case hexadecimal digits, as in file names.
  public var description: String {
    words.0.byteSwapped.allHexDigits + words.1.byteSwapped.allHexDigits
  }

  /// Reads 32 lower-case hexadecimal digits, or gives nil.
  public init?(_ text: some StringProtocol) {
    let digits = Array(text.utf8)
    guard digits.count == 32, let first = hexadecimalValue(digits[..<16]),
      let last = hexadecimalValue(digits[16...])
    else { return nil }
    words = (first.byteSwapped, last.byteSwapped)
  }

  /// The 16 bytes in the order in which they stand on disk and in the text form.
  package var bytes: [UInt8] {
    [words.0, words.1].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) }
    }
  }

  /// Two ids are equal if all their bytes are.
  public static func == (a: SessionID, b: SessionID) -> Bool { a.words == b.words }

  /// Feeds the 16 bytes to `hasher`.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(words.0)
    hasher.combine(words.1)
  }
}

package func hexadecimalDigit(_ value: UInt8) -> UInt8 {
  value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
}

func hexadecimalValue(_ digit: UInt8) -> UInt8? {
  switch digit {
  case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
  case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
  default: nil
  }
}

/// The number that 16 hexadecimal digits stand for; nil for anything else.
func hexadecimalValue(_ digits: ArraySlice<UInt8>) -> UInt64? {
  guard digits.count == 16 else { return nil }
  var number: UInt64 = 0
  for digit in digits {
    guard let value: UInt8 = hexadecimalValue(digit) else { return nil }
    number = number << 4 | UInt64(value)
  }
  return number
}

extension UnsignedInteger where Self: FixedWidthInteger {
  /// All hexadecimal digits, leading zeros included: `000000000000002a`.
  @inlinable package var allHexDigits: String {
    let digits = String(self, radix: 16)
    return String(repeating: "0", count: Self.bitWidth / 4 - digits.utf8.count) + digits
  }
}
