/// Whether a value of a message is written to disk.
@frozen
public struct Privacy: Equatable, Sendable {
  @usableFromInline let code: UInt8
  @inlinable @inline(__always) init(code: UInt8) { self.code = code }

  /// The value is written as it is. The default.
  @inlinable public static var `public`: Privacy { Privacy(code: 0) }
  /// Nothing of the value is ever on disk; `<private>` is shown in its place.
  @inlinable public static var `private`: Privacy { Privacy(code: 1) }
  /// Only a hash is written, keyed with a secret of the process: equal values of a session can be
  /// recognised, and not guessed from the file.
  @inlinable public static var hash: Privacy { Privacy(code: 2) }
}

/// How an integer is shown. It is stored in binary whatever the format.
@frozen
public struct IntegerFormat: Equatable, Sendable {
  @usableFromInline let word: UInt64
  @inlinable @inline(__always) init(word: UInt64) { self.word = word }

  /// Decimal digits. The default.
  @inlinable public static var decimal: IntegerFormat { IntegerFormat(word: 0) }
  /// Decimal digits.
  ///
  /// - Parameters:
  ///   - explicitPositiveSign: Whether positive numbers get a `+`.
  ///   - minDigits: Least number of digits, 0 to 255; zeros are put before.
  @inlinable @inline(__always)
  public static func decimal(explicitPositiveSign: Bool = false, minDigits: UInt8 = 0) -> Self {
    IntegerFormat(word: 1 | (explicitPositiveSign ? 1 << 16 : 0) | UInt64(minDigits) << 24)
  }

  /// Hexadecimal digits; negative numbers as their two's complement.
  @inlinable public static var hex: IntegerFormat { .hex() }
  /// Hexadecimal digits; negative numbers as their two's complement.
  ///
  /// - Parameters:
  ///   - includePrefix: Whether `0x` goes before.
  ///   - uppercase: Whether digits are `A` to `F`.
  ///   - minDigits: Least number of digits, 0 to 255.
  @inlinable @inline(__always)
  public static func hex(
    includePrefix: Bool = false, uppercase: Bool = false, minDigits: UInt8 = 0
  ) -> Self {
    IntegerFormat(
      word: 2 | (includePrefix ? 1 << 17 : 0) | (uppercase ? 1 << 18 : 0)
        | UInt64(minDigits) << 24)
  }

  /// Octal digits; negative numbers as their two's complement.
  @inlinable public static var octal: IntegerFormat { .octal() }
  /// Octal digits; negative numbers as their two's complement.
  ///
  /// - Parameters:
  ///   - includePrefix: Whether `0o` goes before.
  ///   - minDigits: Least number of digits, 0 to 255.
  @inlinable @inline(__always)
  public static func octal(includePrefix: Bool = false, minDigits: UInt8 = 0) -> Self {
    IntegerFormat(word: 3 | (includePrefix ? 1 << 17 : 0) | UInt64(minDigits) << 24)
  }

  /// Binary digits; negative numbers as their two's complement.
  ///
  /// - Parameters:
  ///   - includePrefix: Whether `0b` goes before.
  ///   - minDigits: Least number of digits, 0 to 255.
  @inlinable @inline(__always)
  public static func binary(includePrefix: Bool = false, minDigits: UInt8 = 0) -> Self {
    IntegerFormat(word: 4 | (includePrefix ? 1 << 17 : 0) | UInt64(minDigits) << 24)
  }
}

/// How a floating-point number is shown. It is stored in binary whatever the format.
@frozen
public struct FloatFormat: Equatable, Sendable {
  @usableFromInline let word: UInt64
  @inlinable @inline(__always) init(word: UInt64) { self.word = word }

  @inlinable @inline(__always)
  init(style: UInt64, precision: UInt8?, explicitPositiveSign: Bool, uppercase: Bool) {
    word =
      style | UInt64(precision ?? 255) << 8 | (explicitPositiveSign ? 1 << 16 : 0)
      | (uppercase ? 1 << 18 : 0)
  }

  /// The shortest decimal that reads back the same, as Swift prints it. The default.
  @inlinable public static var shortest: FloatFormat { FloatFormat(word: 0) }
  /// A fixed number of digits after the point, as C's `%f`.
  ///
  /// - Parameters:
  ///   - precision: Digits after the point, 0 to 254.
  ///   - explicitPositiveSign: Whether positive numbers get a `+`.
  @inlinable @inline(__always)
  public static func fixed(_ precision: UInt8 = 6, explicitPositiveSign: Bool = false) -> Self {
    FloatFormat(
      style: 5, precision: precision, explicitPositiveSign: explicitPositiveSign, uppercase: false)
  }

  /// Mantissa and exponent, as C's `%e`.
  ///
  /// - Parameters:
  ///   - precision: Digits after the point, 0 to 254.
  ///   - explicitPositiveSign: Whether positive numbers get a `+`.
  ///   - uppercase: Whether the exponent's sign is `E`.
  @inlinable @inline(__always)
  public static func exponential(
    _ precision: UInt8 = 6, explicitPositiveSign: Bool = false, uppercase: Bool = false
  ) -> Self {
    FloatFormat(
      style: 6, precision: precision, explicitPositiveSign: explicitPositiveSign,
      uppercase: uppercase)
  }

  /// The shorter of fixed and exponential, as C's `%g`.
  ///
  /// - Parameters:
  ///   - precision: Significant digits, 0 to 254.
  ///   - explicitPositiveSign: Whether positive numbers get a `+`.
  ///   - uppercase: Whether the exponent's sign is `E`.
  @inlinable @inline(__always)
  public static func hybrid(
    _ precision: UInt8 = 6, explicitPositiveSign: Bool = false, uppercase: Bool = false
  ) -> Self {
    FloatFormat(
      style: 7, precision: precision, explicitPositiveSign: explicitPositiveSign,
      uppercase: uppercase)
  }
}

/// The least width of an argument in the message, and the side that spaces go to.
@frozen
public struct Alignment: Equatable, Sendable {
  @usableFromInline let word: UInt64
  @inlinable @inline(__always) init(word: UInt64) { self.word = word }

  /// As wide as it is. The default.
  @inlinable public static var none: Alignment { Alignment(word: 0) }
  /// The argument at the left, spaces after it.
  ///
  /// - Parameter columns: The least number of characters.
  @inlinable @inline(__always)
  public static func left(columns: UInt16) -> Alignment {
    Alignment(word: 1 | UInt64(columns) << 8)
  }
  /// The argument at the right, spaces before it.
  ///
  /// - Parameter columns: The least number of characters.
  @inlinable @inline(__always)
  public static func right(columns: UInt16) -> Alignment {
    Alignment(word: 2 | UInt64(columns) << 8)
  }
}

/// What an interpolation's options come to.
@frozen
public struct ArgumentStyle: Sendable {
  @usableFromInline let privacy: Privacy
  /// Format in the low half, alignment in the high one.
  @usableFromInline let appearance: UInt64

  @inlinable @inline(__always)
  init(privacy: Privacy, format: UInt64, align: Alignment) {
    self.privacy = privacy
    appearance = format | align.word << 32
  }
}
