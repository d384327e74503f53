import MMLogFormat
import MMLogSystem

extension [UInt8] {
  /// Appends the bytes of a text.
  @inline(__always)
  mutating func append(_ text: String) { append(contentsOf: text.utf8) }

  /// Appends the digits of a number, with zeros before them up to a least count.
  mutating func append<T: UnsignedInteger & FixedWidthInteger>(
    digits value: T, base: UInt8 = 10, least: Int = 1, upperCase: Bool = false
  ) {
    let letters = UInt8(ascii: upperCase ? "A" : "a") - 10
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: T.bitWidth) { digits in
      var start = digits.count
      var rest = value
      repeat {
        let (quotient, digit) = rest.quotientAndRemainder(dividingBy: T(base))
        start -= 1
        digits[start] = UInt8(digit) + (digit < 10 ? UInt8(ascii: "0") : letters)
        rest = quotient
      } while rest != 0
      for _ in 0..<Swift.max(0, least - (digits.count - start)) { append(UInt8(ascii: "0")) }
      append(contentsOf: digits[start...])
    }
  }

  /// Appends an integer the way a style asks for.
  mutating func append<T: FixedWidthInteger>(
    _ value: T, _ style: ValueStyle
  ) where T.Magnitude: FixedWidthInteger & UnsignedInteger {
    var magnitude = value.magnitude
    if value < 0 {
      if style.base == 10 {
        append(UInt8(ascii: "-"))
      } else {
        magnitude = T.Magnitude(truncatingIfNeeded: value).lowBits(style.width)
      }
    } else if style.showsSign {
      append(UInt8(ascii: "+"))
    }
    if style.showsPrefix, let prefix = [16: "0x", 8: "0o", 2: "0b"][style.base] { append(prefix) }
    append(
      digits: magnitude, base: style.base, least: style.leastDigits,
      upperCase: style.isUpperCase)
  }

  /// Appends a floating-point number the way a style asks for; `plain` is how Swift describes it.
  mutating func append(_ value: Double, _ style: ValueStyle, plain: @autoclosure () -> String) {
    let start = count
    if style.showsSign, value.sign == .plus, !value.isNaN { append(UInt8(ascii: "+")) }
    if !append(value, as: style) { append(plain()) }
    if style.isUpperCase { upperCase(from: start) }
  }

  private mutating func append(_ value: Double, as style: ValueStyle) -> Bool {
    guard value.isFinite, let float = style.float else { return false }
    let text: FloatText =
      switch float {
      case .fixed: .fixed
      case .exponential: .exponential
      case .hybrid: .hybrid
      }
    return text.append(value, precision: style.precision, to: &self)
  }

  private mutating func upperCase(from start: Int) {
    for index in start..<count where (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self[index]) {
      self[index] -= 32
    }
  }
}

extension FixedWidthInteger {
  /// The lowest so many bits; all of them for 0.
  fileprivate func lowBits(_ count: Int) -> Self {
    count > 0 && count < Self.bitWidth ? self & ~(~0 << Self(count)) : self
  }
}
