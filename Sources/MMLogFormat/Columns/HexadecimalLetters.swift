/// Letters that are searched for among hexadecimal digits.
struct HexadecimalLetters {
  /// Fewer letters occur in many numbers by chance: a search for them saves nothing.
  private static let minimum = 4

  private let digits: UInt64
  private let count: Int

  /// Nil if `text` has too few letters for a search to pay, or has other bytes. An `x` before the
  /// letters is left out, because it stands in no number.
  init?(_ text: [UInt8]) {
    let letters = text.first.map { $0 | 0x20 } == UInt8(ascii: "x") ? text[1...] : text[...]
    guard letters.count >= Self.minimum, letters.allSatisfy({ Self.isLetter($0) }) else {
      return nil
    }
    count = letters.count
    digits = letters.reduce(0) { $0 << 4 | UInt64($1 & 15 + 9) }
  }

  static func isLetter(_ byte: UInt8) -> Bool { (97...102).contains(byte | 0x20) }

  /// Whether a number's digits have the letters in a row.
  @inline(__always)
  func isIn(_ number: UInt64) -> Bool {
    // Digits of ten and more. Four of them in a row are rare.
    let large = number >> 3 & (number >> 2 | number >> 1) & 0x1111_1111_1111_1111
    let inRow = large & large >> 4 & large >> 8 & large >> 12
    return inRow == 0 ? false : isAmongDigits(of: number)
  }

  @inline(never)
  private func isAmongDigits(of number: UInt64) -> Bool {
    guard count <= 16 else { return false }
    let mask = UInt64.max >> UInt64(64 - 4 * count)
    return (0...16 - count).contains { number >> UInt64(4 * $0) & mask == digits }
  }
}
