import MMLogFormat
import MMLogSystem

/// `00` to `99`, one after the other.
private let twoDigits: StaticString = """
  00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748\
  495051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899
  """

extension TextBuffer {
  /// Appends a number in decimal, with two digits for each division.
  ///
  /// - Parameter minimum: The minimum number of digits, at most 20. Zeros stand before the number.
  @inline(__always)
  package mutating func append(decimal value: UInt64, minimum: Int = 1) {
    append(maximum: 20) { place in
      let count = max(minimum, value.decimalDigits)
      var (rest, index) = (value, count)
      while rest >= 100 {
        let (quotient, pair) = rest.quotientAndRemainder(dividingBy: 100)
        index &-= 2
        place[index] = twoDigits.utf8Start[Int(pair) &* 2]
        place[index &+ 1] = twoDigits.utf8Start[Int(pair) &* 2 &+ 1]
        rest = quotient
      }
      index &-= 1
      place[index] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest % 10)
      if rest >= 10 {
        index &-= 1
        place[index] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest / 10)
      }
      while index > 0 {
        index &-= 1
        place[index] = UInt8(ascii: "0")
      }
      return count
    }
  }

  /// Appends a signed number in decimal.
  @inline(__always)
  mutating func append(decimal value: Int64) {
    if value < 0 { append(UInt8(ascii: "-")) }
    append(decimal: value.magnitude)
  }

  /// Appends the digits of a number, with zeros before them up to a minimum count.
  mutating func append<T: UnsignedInteger & FixedWidthInteger>(
    digits value: T, base: UInt8, minimum: Int = 1, upperCase: Bool = false
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
      append(UInt8(ascii: "0"), count: minimum - (digits.count - start))
      append(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(digits)[start...]))
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
    if style.showsPrefix { appendPrefix(style.base) }
    append(
      digits: magnitude, base: style.base, minimum: style.minimumDigits,
      upperCase: style.isUpperCase)
  }

  private mutating func appendPrefix(_ base: UInt8) {
    switch base {
    case 16: append("0x")
    case 8: append("0o")
    case 2: append("0b")
    default: return
    }
  }

  /// Appends a floating-point number the way a style asks for; `plain` is how Swift describes it.
  mutating func append(_ value: Double, _ style: ValueStyle, plain: @autoclosure () -> String) {
    let start = count
    if style.showsSign, value.sign == .plus, !value.isNaN { append(UInt8(ascii: "+")) }
    if !append(value, as: style) { append(text: plain()) }
    if style.isUpperCase {
      withBytes(from: start) { bytes in
        for index in bytes.indices where (0x61...0x7A).contains(bytes[index]) { bytes[index] -= 32 }
      }
    }
  }

  private mutating func append(_ value: Double, as style: ValueStyle) -> Bool {
    guard value.isFinite, let float = style.float else { return false }
    if float == .fixed, append(value, fixed: style.precision) { return true }
    return float.withText(value, precision: style.precision) { append($0) } != nil
  }

  /// Appends a number with so many digits after the point, rounded as in C: exactly, and a half to
  /// the even neighbor. It computes with integers, ten times faster than snprintf(3).
  ///
  /// - Returns: false for a number or a precision that integers of 128 bits do not hold. Then
  ///   nothing was appended.
  private mutating func append(_ value: Double, fixed precision: Int) -> Bool {
    // Within these limits, a significand of 53 bits times a power of ten of 30 bits has at most 83
    // bits.
    guard precision <= 9, value.magnitude < 0x1p53, value.magnitude >= 0x1p-60 || value == 0 else {
      return false
    }
    let power = Self.powersOfTen[precision]
    // Value is significand over 2 to the shift.
    let exponent = value == 0 ? 0 : Int(value.exponent)
    let significand = UInt128(value == 0 ? 0 : value.significandBitPattern | 1 << 52)
    let shift = UInt128(52 - exponent)
    let product = significand * UInt128(power)
    var scaled = product >> shift
    let rest = product & ((1 << shift) - 1)
    let half: UInt128 = shift == 0 ? 1 : 1 << (shift - 1)
    if shift > 0, rest > half || rest == half && scaled & 1 == 1 { scaled += 1 }
    if value.sign == .minus { append(UInt8(ascii: "-")) }
    guard precision > 0 else {
      append(decimal: UInt64(scaled))
      return true
    }
    let (whole, fraction) = scaled.quotientAndRemainder(dividingBy: UInt128(power))
    append(decimal: UInt64(whole))
    append(UInt8(ascii: "."))
    append(decimal: UInt64(fraction), minimum: precision)
    return true
  }

  private static let powersOfTen: [UInt64] = (0...9).map { exponent in
    (0..<exponent).reduce(1) { power, _ in power * 10 }
  }

  /// Appends a number as Swift describes it: the shortest text that reads back as the same.
  @inline(__always)
  mutating func append(shortest value: Double) {
    if !append(shortDecimal: value) { append(text: value.description) }
  }

  /// As ``append(shortest:)``, for numbers with up to four digits after the point, like most of
  /// those in logs.
  ///
  /// A decimal of at most 15 digits that reads back as the number is the shortest one, except for
  /// zeros at its end: no two such decimals read back as the same number.
  private mutating func append(shortDecimal value: Double) -> Bool {
    let magnitude = value.magnitude
    guard magnitude >= 0.001, magnitude < 1e10 else { return false }
    let scaled = UInt64(magnitude * 10_000 + 0.5)
    guard Double(scaled) / 10_000 == magnitude else { return false }
    let (whole, parts) = scaled.quotientAndRemainder(dividingBy: 10_000)
    if value < 0 { append(UInt8(ascii: "-")) }
    append(decimal: whole)
    append(UInt8(ascii: "."))
    var (fraction, digits) = (parts, 4)
    while digits > 1, fraction % 10 == 0 {
      fraction /= 10
      digits -= 1
    }
    append(decimal: fraction, minimum: digits)
    return true
  }
}

extension UInt64 {
  /// How many digits the number has in decimal.
  @inline(__always)
  fileprivate var decimalDigits: Int {
    var (count, limit) = (1, UInt64(10))
    while self >= limit {
      count &+= 1
      if count == 20 { break }
      limit &*= 10
    }
    return count
  }
}

extension FixedWidthInteger {
  /// The lowest `count` bits; all of them for 0.
  fileprivate func lowBits(_ count: Int) -> Self {
    count > 0 && count < Self.bitWidth ? self & ~(~0 << Self(count)) : self
  }
}
