public import MMLogFormat

/// What a message's interpolation can do: the arguments that it takes, and how it stores each.
///
/// There are two conforming types, ``LogLiteral/StringInterpolation``, which writes into the ring,
/// and ``LogMessage/StringInterpolation``, which keeps the message on the heap.
public protocol LogInterpolation: StringInterpolationProtocol
where StringLiteralType == StaticString {
  /// Adds a part of the message.
  mutating func append(_ part: MessagePart)
  /// Adds a word of a value. An argument has no more than three words.
  mutating func append(word: UInt64)
  /// Adds a length and the bytes, cut to 16 MiB.
  mutating func append(bytes: UnsafeRawBufferPointer)
  /// Adds text, as its bytes in UTF-8.
  mutating func append(text: some StringProtocol)
  /// Adds a value with structure, without its type.
  mutating func append(value: Logger.MetadataValue)
  /// What ``Logger/Privacy/auto`` means for values that are neither numbers nor Booleans.
  var autoPrivacy: Logger.Privacy { get }
}

extension LogInterpolation {
  /// Adds literal text. Called by the compiler.
  @inlinable @inline(__always)
  public mutating func appendLiteral(_ literal: StaticString) {
    if literal.utf8CodeUnitCount > 0 { append(MessagePart(literal: literal)) }
  }

  /// Adds an integer of any width.
  ///
  /// - Parameters:
  ///   - value: The value; stored as a 64-bit word, or as two words if it is wider. An integer of
  ///     more than 128 bits is stored as text, which the calling thread makes and allocates.
  ///   - name: Makes the value a field of that name as well.
  ///   - format: How the value is shown. An integer of more than 128 bits is always decimal.
  ///   - align: The minimum width.
  ///   - privacy: Whether the value is written to disk.
  @inlinable @inline(__always)
  public mutating func appendInterpolation<T: FixedWidthInteger>(
    _ value: T, name: StaticString? = nil, format: Logger.IntegerFormat = .decimal,
    align: Logger.Alignment = .none, privacy: Logger.Privacy = .public
  ) {
    if T.bitWidth > 128 { return append(wide: value, name, align, privacy) }
    let style = ArgumentStyle(privacy: privacy.resolved(.public), format: format.word, align: align)
    if begin(integerType(T.self), T.bitWidth, name, style, value) { append(integer: value) }
  }

  /// Adds an integer of any width, or `nil`. See the form for values that are not optional.
  @inlinable @inline(__always)
  public mutating func appendInterpolation<T: FixedWidthInteger>(
    _ value: T?, name: StaticString? = nil, format: Logger.IntegerFormat = .decimal,
    align: Logger.Alignment = .none, privacy: Logger.Privacy = .public
  ) {
    if T.bitWidth > 128 { return append(wide: value, name, align, privacy) }
    let style = ArgumentStyle(privacy: privacy.resolved(.public), format: format.word, align: align)
    if begin(optional: integerType(T.self), T.bitWidth, name, style, value), let value {
      append(integer: value)
    }
  }

  /// Adds a `Double`.
  ///
  /// - Parameters:
  ///   - value: The value, stored with all its bits.
  ///   - name: Makes the value a field of that name as well.
  ///   - format: How the value is shown.
  ///   - align: The minimum width.
  ///   - privacy: Whether the value is written to disk.
  @inlinable @inline(__always)
  public mutating func appendInterpolation(
    _ value: Double, name: StaticString? = nil, format: Logger.FloatFormat = .shortest,
    align: Logger.Alignment = .none, privacy: Logger.Privacy = .public
  ) {
    let style = ArgumentStyle(privacy: privacy.resolved(.public), format: format.word, align: align)
    if begin(ValueType.double.rawValue, 0, name, style, value) { append(word: value.bitPattern) }
  }

  /// Adds a `Double`, or `nil`. See the form for values that are not optional.
  @inlinable @inline(__always)
  public mutating func appendInterpolation(
    _ value: Double?, name: StaticString? = nil, format: Logger.FloatFormat = .shortest,
    align: Logger.Alignment = .none, privacy: Logger.Privacy = .public
  ) {
    let style = ArgumentStyle(privacy: privacy.resolved(.public), format: format.word, align: align)
    if begin(optional: ValueType.double.rawValue, 0, name, style, value), let value {
      append(word: value.bitPattern)
    }
  }

  /// Adds a `Float`. See the form for `Double`.
  @inlinable @inline(__always)
  public mutating func appendInterpolation(
    _ value: Float, name: StaticString? = nil, format: Logger.FloatFormat = .shortest,
    align: Logger.Alignment = .none, privacy: Logger.Privacy = .public
  ) {
    let style = ArgumentStyle(privacy: privacy.resolved(.public), format: format.word, align: align)
    if begin(ValueType.float.rawValue, 0, name, style, value) {
      append(word: UInt64(value.bitPattern))
    }
  }

  /// Adds a `Float`, or `nil`. See the form for `Double`.
  @inlinable @inline(__always)
  public mutating func appendInterpolation(
    _ value: Float?, name: StaticString? = nil, format: Logger.FloatFormat = .shortest,
    align: Logger.Alignment = .none, privacy: Logger.Privacy = .public
  ) {
    let style = ArgumentStyle(privacy: privacy.resolved(.public), format: format.word, align: align)
    if begin(optional: ValueType.float.rawValue, 0, name, style, value), let value {
      append(word: UInt64(value.bitPattern))
    }
  }

  /// Adds a `Bool`.
  ///
  /// - Parameters:
  ///   - value: The value, shown as `true` or `false`.
  ///   - name: Makes the value a field of that name as well.
  ///   - align: The minimum width.
  ///   - privacy: Whether the value is written to disk.
  @inlinable @inline(__always)
  public mutating func appendInterpolation(
    _ value: Bool, name: StaticString? = nil, align: Logger.Alignment = .none,
    privacy: Logger.Privacy = .public
  ) {
    let style = ArgumentStyle(privacy: privacy.resolved(.public), format: 0, align: align)
    if begin(ValueType.bool.rawValue, 0, name, style, value) { append(word: value ? 1 : 0) }
  }

  /// Adds a `Bool`, or `nil`. See the form for values that are not optional.
  @inlinable @inline(__always)
  public mutating func appendInterpolation(
    _ value: Bool?, name: StaticString? = nil, align: Logger.Alignment = .none,
    privacy: Logger.Privacy = .public
  ) {
    let style = ArgumentStyle(privacy: privacy.resolved(.public), format: 0, align: align)
    if begin(optional: ValueType.bool.rawValue, 0, name, style, value), let value {
      append(word: value ? 1 : 0)
    }
  }

  /// Adds text.
  ///
  /// - Parameters:
  ///   - value: The text; its bytes are copied, without allocating.
  ///   - name: Makes the value a field of that name as well.
  ///   - align: The minimum width.
  ///   - privacy: Whether the value is written to disk.
  @inlinable @inline(__always)
  public mutating func appendInterpolation(
    _ value: String, name: StaticString? = nil, align: Logger.Alignment = .none,
    privacy: Logger.Privacy = .public
  ) {
    let style = ArgumentStyle(privacy: privacy.resolved(autoPrivacy), format: 0, align: align)
    if begin(ValueType.string.rawValue, 0, name, style, value) { append(text: value) }
  }

  /// Adds text, or `nil`. See the form for values that are not optional.
  @inlinable @inline(__always)
  public mutating func appendInterpolation(
    _ value: String?, name: StaticString? = nil, align: Logger.Alignment = .none,
    privacy: Logger.Privacy = .public
  ) {
    let style = ArgumentStyle(privacy: privacy.resolved(autoPrivacy), format: 0, align: align)
    if begin(optional: ValueType.string.rawValue, 0, name, style, value), let value {
      append(text: value)
    }
  }

  /// Adds a part of a text. See the form for `String`.
  @inlinable @inline(__always)
  public mutating func appendInterpolation(
    _ value: Substring, name: StaticString? = nil, align: Logger.Alignment = .none,
    privacy: Logger.Privacy = .public
  ) {
    let style = ArgumentStyle(privacy: privacy.resolved(autoPrivacy), format: 0, align: align)
    if begin(ValueType.string.rawValue, 0, name, style, value) { append(text: value) }
  }

  /// Adds a text known at compile time. See the form for `String`.
  @inlinable @inline(__always)
  public mutating func appendInterpolation(
    _ value: StaticString, name: StaticString? = nil, align: Logger.Alignment = .none,
    privacy: Logger.Privacy = .public
  ) {
    let style = ArgumentStyle(privacy: privacy.resolved(autoPrivacy), format: 0, align: align)
    if begin(ValueType.string.rawValue, 0, name, style, value.description) {
      value.withUTF8Buffer { append(bytes: UnsafeRawBufferPointer($0)) }
    }
  }

  /// Adds bytes of no known meaning, kept as they are.
  ///
  /// - Parameters:
  ///   - value: The bytes, which are copied.
  ///   - name: Makes the value a field of that name as well.
  ///   - privacy: Whether the value is written to disk.
  @inlinable @inline(__always)
  public mutating func appendInterpolation(
    _ value: UnsafeRawBufferPointer, name: StaticString? = nil, privacy: Logger.Privacy = .public
  ) {
    let style = ArgumentStyle(privacy: privacy.resolved(autoPrivacy), format: 0, align: .none)
    if begin(ValueType.bytes.rawValue, 0, name, style, Array(value)) { append(bytes: value) }
  }

  /// Adds bytes of no known meaning, kept as they are. See the form for `UnsafeRawBufferPointer`.
  @inlinable @inline(__always)
  public mutating func appendInterpolation(
    _ value: [UInt8], name: StaticString? = nil, privacy: Logger.Privacy = .public
  ) {
    let style = ArgumentStyle(privacy: privacy.resolved(autoPrivacy), format: 0, align: .none)
    if begin(ValueType.bytes.rawValue, 0, name, style, value) {
      value.withUnsafeBytes { append(bytes: $0) }
    }
  }

  /// Adds an error, as `String(describing:)` puts it.
  ///
  /// - Parameters:
  ///   - error: The error.
  ///   - name: Makes the value a field of that name as well.
  ///   - align: The minimum width.
  ///   - privacy: Whether the value is written to disk.
  @inlinable
  public mutating func appendInterpolation(
    _ error: any Error, name: StaticString? = nil, align: Logger.Alignment = .none,
    privacy: Logger.Privacy = .public
  ) {
    let privacy = privacy.resolved(autoPrivacy)
    append(description: privacy == .private ? "" : String(describing: error), name, align, privacy)
  }

  /// Adds anything else, as `String(describing:)` puts it: its `description` if it has one.
  ///
  /// The calling thread makes the text and allocates it, but not for a private value.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - name: Makes the value a field of that name as well.
  ///   - align: The minimum width.
  ///   - privacy: Whether the value is written to disk.
  @_disfavoredOverload
  @inlinable
  public mutating func appendInterpolation<T>(
    _ value: T, name: StaticString? = nil, align: Logger.Alignment = .none,
    privacy: Logger.Privacy = .public
  ) {
    let privacy = privacy.resolved(autoPrivacy)
    append(description: privacy == .private ? "" : String(describing: value), name, align, privacy)
  }

  /// Adds anything else, or `nil`. See the form for values that are not optional.
  @_disfavoredOverload
  @inlinable
  public mutating func appendInterpolation<T>(
    _ value: T?, name: StaticString? = nil, align: Logger.Alignment = .none,
    privacy: Logger.Privacy = .public
  ) {
    let privacy = privacy.resolved(autoPrivacy)
    let text = privacy == .private ? nil : value.map { String(describing: $0) }
    appendInterpolation(text, name: name, align: align, privacy: privacy)
  }
}

// MARK: - The steps that all forms share

extension LogInterpolation {
  @inlinable @inline(__always)
  func integerType<T: FixedWidthInteger>(_: T.Type) -> UInt8 {
    if T.bitWidth > 64 {
      return T.isSigned ? ValueType.int128.rawValue : ValueType.uint128.rawValue
    }
    return T.isSigned ? ValueType.int.rawValue : ValueType.uint.rawValue
  }

  @inlinable @inline(__always)
  mutating func append<T: FixedWidthInteger>(integer value: T) {
    append(word: UInt64(truncatingIfNeeded: value))
    if T.bitWidth > 64 { append(word: UInt64(truncatingIfNeeded: value >> 64)) }
  }

  /// Adds an integer that two words do not hold, as text.
  @inlinable
  mutating func append<T: FixedWidthInteger>(
    wide value: T, _ name: StaticString?, _ align: Logger.Alignment, _ privacy: Logger.Privacy
  ) {
    let privacy = privacy.resolved(.public)
    append(description: privacy == .private ? "" : String(describing: value), name, align, privacy)
  }

  /// The same for an integer that may be nil.
  @inlinable
  mutating func append<T: FixedWidthInteger>(
    wide value: T?, _ name: StaticString?, _ align: Logger.Alignment, _ privacy: Logger.Privacy
  ) {
    let privacy = privacy.resolved(.public)
    let text = privacy == .private ? nil : value.map { String(describing: $0) }
    appendInterpolation(text, name: name, align: align, privacy: privacy)
  }

  @inlinable
  mutating func append(
    description: String, _ name: StaticString?, _ align: Logger.Alignment, _ privacy: Logger.Privacy
  ) {
    appendInterpolation(description, name: name, align: align, privacy: privacy)
  }

  /// Adds an argument's part. For a private argument, also adds all that is stored of it.
  ///
  /// - Returns: Whether the value is to be added.
  @inlinable @inline(__always)
  mutating func begin<T: Hashable>(
    _ type: UInt8, _ width: Int, _ name: StaticString?, _ style: ArgumentStyle,
    _ value: @autoclosure () -> T
  ) -> Bool {
    if style.privacy == .public {
      append(MessagePart(argument: type, width: width, name: name, style: style))
      return true
    }
    beginPrivate(name, style, value())
    return false
  }

  /// The same for a value that may be nil. A word before the value says whether there is one.
  @inlinable @inline(__always)
  mutating func begin<T: Hashable>(
    optional type: UInt8, _ width: Int, _ name: StaticString?, _ style: ArgumentStyle, _ value: T?
  ) -> Bool {
    if style.privacy == .public {
      append(
        MessagePart(argument: type | ValueType.optionalBit, width: width, name: name, style: style))
      append(word: value == nil ? 0 : 1)
      return true
    }
    // The hash of an optional is the hash of the value in it.
    if let value { beginPrivate(name, style, value) } else { beginPrivate(name, style, value) }
    return false
  }

  @inlinable
  mutating func beginPrivate<T: Hashable>(
    _ name: StaticString?, _ style: ArgumentStyle, _ value: @autoclosure () -> T
  ) {
    if style.privacy == .sealed, let sealed = SealedText.seal(value()) {
      append(MessagePart(argument: ValueType.sealed.rawValue, width: 0, name: name, style: style))
      return sealed.withUnsafeBytes { append(bytes: $0) }
    }
    let hashed = style.privacy == .hash
    let type = hashed ? ValueType.hash : ValueType.redacted
    append(MessagePart(argument: type.rawValue, width: 0, name: name, style: style))
    if hashed { append(word: PrivateHash.of(value())) }
  }
}
