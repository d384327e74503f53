extension Logger {
  /// Whether a value of a message is written to disk.
  @frozen
  public struct Privacy: Equatable, Sendable {
    @usableFromInline let code: UInt8
    @inlinable @inline(__always) init(code: UInt8) { self.code = code }

    /// The value is written as it is. The default.
    @inlinable public static var `public`: Logger.Privacy { Logger.Privacy(code: 0) }
    /// Nothing of the value is ever on disk. Readers show `<private>` in its place.
    @inlinable public static var `private`: Logger.Privacy { Logger.Privacy(code: 1) }
    /// Only a hash of the value is written, keyed with a secret of the process. Equal values of a
    /// session can be recognized, but nobody can guess a value from the file.
    @inlinable public static var hash: Logger.Privacy { Logger.Privacy(code: 2) }
    /// The value's text is written encrypted for the recipients that ``Logger/sealValues(for:)``
    /// was given, each value by itself. Others see `<sealed>` in its place. If there are no
    /// recipients, nothing of the value is on disk, as for `private`.
    ///
    /// This takes some microseconds and allocates. Not for log calls in signal handlers.
    @inlinable public static var sealed: Logger.Privacy { Logger.Privacy(code: 3) }
    /// Numbers and Booleans are written, and everything else as
    /// ``LogStore/Configuration/autoPrivacy`` says.
    @inlinable public static var auto: Logger.Privacy { Logger.Privacy(code: 4) }
    /// The same as `private`.
    @inlinable public static var sensitive: Logger.Privacy { .private }

    /// What stands in the place of a private value.
    public enum Mask: Sendable {
      /// A hash; see ``Logger/Privacy/hash``.
      case hash
      /// Nothing of it.
      case none
    }

    /// Nothing of the value is on disk, or a hash of it.
    ///
    /// - Parameter mask: What stands in the place of a private value.
    @inlinable @inline(__always)
    public static func `private`(mask: Mask) -> Logger.Privacy { mask == .hash ? .hash : .private }
    /// The same as `private(mask:)`.
    @inlinable @inline(__always)
    public static func sensitive(mask: Mask) -> Logger.Privacy { .private(mask: mask) }
    /// The same as `auto`, with nothing or a hash in place of private values.
    ///
    /// - Parameter mask: What stands in the place of a private value.
    @inlinable @inline(__always)
    public static func auto(mask: Mask) -> Logger.Privacy {
      Logger.Privacy(code: mask == .hash ? 5 : 6)
    }

    /// What `auto` means here; all other cases stay as they are.
    @inlinable @inline(__always)
    func resolved(_ privacy: @autoclosure () -> Logger.Privacy) -> Logger.Privacy {
      if code < 4 { return self }
      let privacy = privacy()
      if code == 4 || privacy == .public { return privacy }
      return code == 5 ? .hash : .private
    }
  }

  /// How an integer is shown. It is stored in binary whatever the format.
  @frozen
  public struct IntegerFormat: Equatable, Sendable {
    @usableFromInline let word: UInt64
    @inlinable @inline(__always) init(word: UInt64) { self.word = word }

    @inlinable @inline(__always)
    init(
      style: UInt64, explicitPositiveSign: Bool, includePrefix: Bool = false,
      uppercase: Bool = false, minDigits: Int
    ) {
      word =
        style | (explicitPositiveSign ? 1 << 16 : 0) | (includePrefix ? 1 << 17 : 0)
        | (uppercase ? 1 << 18 : 0) | byte(minDigits) << 24
    }

    /// Decimal digits. The default.
    @inlinable public static var decimal: Logger.IntegerFormat { Logger.IntegerFormat(word: 0) }
    /// Decimal digits.
    ///
    /// - Parameters:
    ///   - explicitPositiveSign: Whether positive numbers get a `+`.
    ///   - minDigits: Minimum number of digits, 0 to 255; filled up with zeros before the number.
    @inlinable @inline(__always)
    public static func decimal(explicitPositiveSign: Bool = false, minDigits: Int = 0) -> Self {
      Logger.IntegerFormat(
        style: 1, explicitPositiveSign: explicitPositiveSign, minDigits: minDigits)
    }

    /// Hexadecimal digits; negative numbers as their two's complement.
    @inlinable public static var hex: Logger.IntegerFormat { .hex() }
    /// Hexadecimal digits; negative numbers as their two's complement.
    ///
    /// - Parameters:
    ///   - explicitPositiveSign: Whether numbers get a `+`.
    ///   - includePrefix: Whether `0x` goes before.
    ///   - uppercase: Whether digits are `A` to `F`.
    ///   - minDigits: Minimum number of digits, 0 to 255.
    @inlinable @inline(__always)
    public static func hex(
      explicitPositiveSign: Bool = false, includePrefix: Bool = false, uppercase: Bool = false,
      minDigits: Int = 0
    ) -> Self {
      Logger.IntegerFormat(
        style: 2, explicitPositiveSign: explicitPositiveSign, includePrefix: includePrefix,
        uppercase: uppercase, minDigits: minDigits)
    }

    /// Octal digits; negative numbers as their two's complement.
    @inlinable public static var octal: Logger.IntegerFormat { .octal() }
    /// Octal digits; negative numbers as their two's complement.
    ///
    /// - Parameters:
    ///   - explicitPositiveSign: Whether numbers get a `+`.
    ///   - includePrefix: Whether `0o` goes before.
    ///   - minDigits: Minimum number of digits, 0 to 255.
    @inlinable @inline(__always)
    public static func octal(
      explicitPositiveSign: Bool = false, includePrefix: Bool = false, minDigits: Int = 0
    ) -> Self {
      Logger.IntegerFormat(
        style: 3, explicitPositiveSign: explicitPositiveSign, includePrefix: includePrefix,
        minDigits: minDigits)
    }

    /// Binary digits; negative numbers as their two's complement.
    ///
    /// - Parameters:
    ///   - explicitPositiveSign: Whether numbers get a `+`.
    ///   - includePrefix: Whether `0b` goes before.
    ///   - minDigits: Minimum number of digits, 0 to 255.
    @inlinable @inline(__always)
    public static func binary(
      explicitPositiveSign: Bool = false, includePrefix: Bool = false, minDigits: Int = 0
    ) -> Self {
      Logger.IntegerFormat(
        style: 4, explicitPositiveSign: explicitPositiveSign, includePrefix: includePrefix,
        minDigits: minDigits)
    }
  }
}

/// A number, clamped to what fits into a byte of the file.
@inlinable @inline(__always)
func byte(_ number: Int) -> UInt64 { UInt64(UInt8(clamping: number)) }

extension Logger {
  /// How a floating-point number is shown. It is stored in binary whatever the format.
  @frozen
  public struct FloatFormat: Equatable, Sendable {
    @usableFromInline let word: UInt64
    @inlinable @inline(__always) init(word: UInt64) { self.word = word }

    @inlinable @inline(__always)
    init(style: UInt64, precision: Int, explicitPositiveSign: Bool, uppercase: Bool) {
      word =
        style | UInt64(UInt8(clamping: min(precision, 254))) << 8
        | (explicitPositiveSign ? 1 << 16 : 0)
        | (uppercase ? 1 << 18 : 0)
    }

    /// The shortest decimal that reads back as the same number, as Swift prints it. The default.
    @inlinable public static var shortest: Logger.FloatFormat { Logger.FloatFormat(word: 0) }
    /// Six digits after the point, as C's `%f`.
    @inlinable public static var fixed: Logger.FloatFormat { .fixed(precision: 6) }
    /// A fixed number of digits after the point.
    ///
    /// - Parameter precision: Digits after the point, 0 to 254.
    @inlinable @inline(__always)
    public static func fixed(_ precision: Int) -> Logger.FloatFormat {
      .fixed(precision: precision)
    }
    /// A fixed number of digits after the point, as C's `%f`.
    ///
    /// - Parameters:
    ///   - precision: Digits after the point, 0 to 254.
    ///   - explicitPositiveSign: Whether positive numbers get a `+`.
    ///   - uppercase: Whether infinity and NaN are in capitals.
    @inlinable @inline(__always)
    public static func fixed(
      precision: Int, explicitPositiveSign: Bool = false, uppercase: Bool = false
    ) -> Self {
      Logger.FloatFormat(
        style: 5, precision: precision, explicitPositiveSign: explicitPositiveSign,
        uppercase: uppercase)
    }

    /// Mantissa and exponent, as C's `%e`.
    @inlinable public static var exponential: Logger.FloatFormat { .exponential() }
    /// Mantissa and exponent, as C's `%e`.
    ///
    /// - Parameters:
    ///   - precision: Digits after the point, 0 to 254.
    ///   - explicitPositiveSign: Whether positive numbers get a `+`.
    ///   - uppercase: Whether the exponent's sign is `E`.
    @inlinable @inline(__always)
    public static func exponential(
      precision: Int = 6, explicitPositiveSign: Bool = false, uppercase: Bool = false
    ) -> Self {
      Logger.FloatFormat(
        style: 6, precision: precision, explicitPositiveSign: explicitPositiveSign,
        uppercase: uppercase)
    }

    /// The shorter of fixed and exponential, as C's `%g`.
    @inlinable public static var hybrid: Logger.FloatFormat { .hybrid() }
    /// The shorter of fixed and exponential, as C's `%g`.
    ///
    /// - Parameters:
    ///   - precision: Significant digits, 0 to 254.
    ///   - explicitPositiveSign: Whether positive numbers get a `+`.
    ///   - uppercase: Whether the exponent's sign is `E`.
    @inlinable @inline(__always)
    public static func hybrid(
      precision: Int = 6, explicitPositiveSign: Bool = false, uppercase: Bool = false
    ) -> Self {
      Logger.FloatFormat(
        style: 7, precision: precision, explicitPositiveSign: explicitPositiveSign,
        uppercase: uppercase)
    }
  }

  /// The minimum width of an argument in the message, and the side on which spaces are added.
  @frozen
  public struct Alignment: Equatable, Sendable {
    @usableFromInline let word: UInt64
    @inlinable @inline(__always) init(word: UInt64) { self.word = word }

    /// No minimum width. The default.
    @inlinable public static var none: Logger.Alignment { Logger.Alignment(word: 0) }
    /// The argument at the left, spaces after it.
    ///
    /// - Parameter columns: The minimum number of Unicode scalars. A character may be several, and
    ///   one may take two columns of a terminal: the argument then looks shorter or wider.
    @inlinable @inline(__always)
    public static func left(columns: Int) -> Logger.Alignment {
      Logger.Alignment(word: 1 | UInt64(UInt16(clamping: columns)) << 8)
    }
    /// The argument at the right, spaces before it.
    ///
    /// - Parameter columns: The minimum number of Unicode scalars. A character may be several, and
    ///   one may take two columns of a terminal: the argument then looks shorter or wider.
    @inlinable @inline(__always)
    public static func right(columns: Int) -> Logger.Alignment {
      Logger.Alignment(word: 2 | UInt64(UInt16(clamping: columns)) << 8)
    }
  }
}

/// The options of an interpolation: privacy, format and alignment.
@frozen
public struct ArgumentStyle: Sendable {
  @usableFromInline let privacy: Logger.Privacy
  /// Format in the low half, alignment in the high one.
  @usableFromInline let appearance: UInt64

  @inlinable @inline(__always)
  init(privacy: Logger.Privacy, format: UInt64, align: Logger.Alignment) {
    self.privacy = privacy
    appearance = format | align.word << 32
  }
}
