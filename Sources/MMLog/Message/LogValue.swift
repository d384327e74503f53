public import MMLogFormat
import MMLogSystem

/// A type whose values are recorded with their structure: readers can search their fields, and log
/// calls make no text of them.
///
/// ```swift
/// struct Price: LogValue {
///   let currency: String
///   let cents: Int
///
///   var logValue: Logger.MetadataValue {
///     ["currency": .string(currency), "cents": .value(cents)]
///   }
/// }
///
/// let price = Price(currency: "EUR", cents: 1250)
/// log.info("quoted", metadata: ["price": .value(price)])
/// log.info("quoted \(price, name: "price")")
/// ```
///
/// The decoder finds the value by `--where 'price.cents > 1000'`. It shows the value as
/// `price=[currency: EUR, cents: 1250]`. In a message, the value is an argument like any other.
public protocol LogValue {
  /// The value that is recorded. May be called on any thread, in the middle of a log call.
  var logValue: Logger.MetadataValue { get }
}

extension Logger.MetadataValue {
  /// Returns what is recorded of a value whose type says how it is recorded.
  ///
  /// ```swift
  /// log.info("signed in", metadata: ["user": .value("ann", privacy: .hash), "attempt": .value(3)])
  /// ```
  ///
  /// - Parameters:
  ///   - value: The value. Not evaluated if it is `private`.
  ///   - privacy: Whether the value is written to disk, as for arguments; default: it is. The hash
  ///     is that of the value if it is `Hashable`, else that of its description. With `auto`,
  ///     numbers and Booleans are written, and all other values are private, because it is not
  ///     known to which store they go.
  /// - Returns: What is recorded.
  public static func value<Value: LogValue>(
    _ value: @autoclosure () -> Value, privacy: Logger.Privacy = .public
  ) -> Logger.MetadataValue {
    recorded(value(), privacy, auto: .private).value
  }

  /// What is recorded of a value, and how private that is.
  ///
  /// - Parameter auto: What ``Logger/Privacy/auto`` means for values that are neither numbers nor
  ///   Booleans.
  fileprivate static func recorded<Value: LogValue>(
    _ value: @autoclosure () -> Value, _ privacy: Logger.Privacy,
    auto: @autoclosure () -> Logger.Privacy
  ) -> (value: Logger.MetadataValue, privacy: Logger.Privacy) {
    let resolved = privacy.resolved(auto())
    if privacy == .private { return (.redacted, resolved) }
    let value = value()
    if resolved == .public { return (value.logValue, resolved) }
    // If they differ, `privacy` is `auto`, which lets numbers pass.
    if resolved != privacy, value.logValue.isNumber { return (value.logValue, .public) }
    if resolved == .hash { return (.hash(privateHash(of: value)), resolved) }
    guard resolved == .sealed, let sealed = SealedText.seal(value) else {
      return (.redacted, resolved)
    }
    return (.sealed(sealed), resolved)
  }

  /// Returns bytes as text: two lower-case hexadecimal digits for each byte.
  ///
  /// - Complexity: O(bytes); allocates.
  public static func hex(_ bytes: some Sequence<UInt8>) -> Logger.MetadataValue {
    .string(bytes.map(\.allHexDigits).joined())
  }

  private var isNumber: Bool {
    switch self {
    case .int, .uint, .double, .bool, .null: true
    default: false
    }
  }
}

extension LogInterpolation {
  /// Adds bytes as text: two lower-case hexadecimal digits for each byte.
  ///
  /// ```swift
  /// let digest: [UInt8] = [0xCA, 0xFE]
  /// log.info("sealed with \(hex: digest, name: "digest")")
  /// ```
  ///
  /// The calling thread makes the text, and allocates it.
  ///
  /// - Parameters:
  ///   - bytes: The bytes.
  ///   - name: Makes the value a field of that name as well.
  ///   - align: The minimum width.
  ///   - privacy: Whether the value is written to disk.
  public mutating func appendInterpolation(
    hex bytes: some Sequence<UInt8>, name: StaticString? = nil, align: Logger.Alignment = .none,
    privacy: Logger.Privacy = .public
  ) {
    let isWritten = privacy.resolved(autoPrivacy) != .private
    let digits = isWritten ? bytes.map(\.allHexDigits).joined() : ""
    appendInterpolation(digits, name: name, align: align, privacy: privacy)
  }
}

extension LogInterpolation {
  /// Adds a value of a type that says how it is recorded, with its structure if it has one.
  ///
  /// A collection of such values is added with its structure, too. An `Error` and a `Duration` are
  /// still added as text. Allocates what ``LogValue/logValue`` allocates. That is not called for a
  /// value that is `private`; for one that `auto` makes private, it is called to know whether the
  /// value is a number.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - name: Makes the value a field of that name as well.
  ///   - align: The minimum width.
  ///   - privacy: Whether the value is written to disk.
  @_disfavoredOverload
  public mutating func appendInterpolation<Value: LogValue>(
    _ value: Value, name: StaticString? = nil, align: Logger.Alignment = .none,
    privacy: Logger.Privacy = .public
  ) {
    append(logValue: value, name, align, privacy)
  }

  /// Adds a value of a type that says how it is recorded, or `nil`. See the form for values that
  /// are not optional.
  @_disfavoredOverload
  public mutating func appendInterpolation<Value: LogValue>(
    _ value: Value?, name: StaticString? = nil, align: Logger.Alignment = .none,
    privacy: Logger.Privacy = .public
  ) {
    append(logValue: value, name, align, privacy)
  }

  /// Adds integers one after the other, as in any collection of values.
  ///
  /// Because of this form, an array literal of integers is one of `Int`, as elsewhere in Swift, and
  /// not one of bytes.
  ///
  /// - Parameters:
  ///   - value: The integers.
  ///   - name: Makes the value a field of that name as well.
  ///   - align: The minimum width.
  ///   - privacy: Whether the value is written to disk.
  public mutating func appendInterpolation(
    _ value: [Int], name: StaticString? = nil, align: Logger.Alignment = .none,
    privacy: Logger.Privacy = .public
  ) {
    append(logValue: value, name, align, privacy)
  }

  private mutating func append(
    logValue value: some LogValue, _ name: StaticString?, _ align: Logger.Alignment,
    _ privacy: Logger.Privacy
  ) {
    let (recorded, privacy) = Logger.MetadataValue.recorded(value, privacy, auto: autoPrivacy)
    let style = ArgumentStyle(privacy: privacy, format: 0, align: align)
    append(MessagePart(argument: recorded.type.rawValue, width: 0, name: name, style: style))
    append(value: recorded)
  }

  /// Adds a duration as text, with its unit.
  ///
  /// - Parameters:
  ///   - value: The duration.
  ///   - name: Makes the value a field of that name as well.
  ///   - align: The minimum width.
  ///   - privacy: Whether the value is written to disk.
  public mutating func appendInterpolation(
    _ value: Duration, name: StaticString? = nil, align: Logger.Alignment = .none,
    privacy: Logger.Privacy = .public
  ) {
    let privacy = privacy.resolved(autoPrivacy)
    append(description: privacy == .private ? "" : String(describing: value), name, align, privacy)
  }
}

/// The hash that an argument of a message with this value would have. The hash of an optional is
/// the hash of the value in it.
private func privateHash(of value: Any) -> UInt64 {
  func hash(_ value: some Hashable) -> UInt64 { PrivateHash.of(value) }
  if let optional = value as? any AnyOptional {
    return optional.wrapped.map { privateHash(of: $0) } ?? hash(Never?.none)
  }
  return (value as? any Hashable).map { hash($0) } ?? hash(String(describing: value))
}

/// An optional of a type that is not known.
protocol AnyOptional {
  var wrapped: Any? { get }
}

extension Optional: AnyOptional {
  var wrapped: Any? { self }
}

// MARK: - Types of the standard library

extension LogValue where Self: FixedWidthInteger {
  /// The number; as text if 64 bits do not hold it.
  public var logValue: Logger.MetadataValue {
    if let value = Int64(exactly: self) { return .int(value) }
    return UInt64(exactly: self).map { .uint($0) } ?? .string(String(self))
  }
}

extension Int: LogValue {}
extension Int8: LogValue {}
extension Int16: LogValue {}
extension Int32: LogValue {}
extension Int64: LogValue {}
extension Int128: LogValue {}
extension UInt: LogValue {}
extension UInt8: LogValue {}
extension UInt16: LogValue {}
extension UInt32: LogValue {}
extension UInt64: LogValue {}
extension UInt128: LogValue {}

extension LogValue where Self: BinaryFloatingPoint {
  /// The number as a `Double`. A `Float` gets the digits that it has as a `Double`: 0.1 is shown as
  /// 0.10000000149011612. As an argument of a message, a `Float` stays a `Float`.
  public var logValue: Logger.MetadataValue { .double(Double(self)) }
}

extension Double: LogValue {}
extension Float: LogValue {}

extension Bool: LogValue {
  /// The Boolean.
  public var logValue: Logger.MetadataValue { .bool(self) }
}

extension LogValue where Self: StringProtocol {
  /// The text.
  public var logValue: Logger.MetadataValue { .string(String(self)) }
}

extension String: LogValue {}
extension Substring: LogValue {}

extension Optional: LogValue where Wrapped: LogValue {
  /// The value, or that there is none.
  public var logValue: Logger.MetadataValue { self?.logValue ?? .null }
}

extension Array: LogValue where Element: LogValue {
  /// The values one after the other.
  public var logValue: Logger.MetadataValue { .array(map(\.logValue)) }
}

extension Dictionary: LogValue where Key == String, Value: LogValue {
  /// The values by name, sorted by name.
  public var logValue: Logger.MetadataValue {
    var pairs = Logger.Metadata()
    for (key, value) in sorted(by: { $0.key < $1.key }) { pairs.append(value.logValue, for: key) }
    return .dictionary(pairs)
  }
}

extension Logger.MetadataValue: LogValue {
  /// The value itself.
  public var logValue: Logger.MetadataValue { self }
}

extension Logger.Metadata: LogValue {
  /// The values by name.
  public var logValue: Logger.MetadataValue { .dictionary(self) }
}

extension Duration: LogValue {
  /// The number of seconds.
  public var logValue: Logger.MetadataValue { .double(self / .seconds(1)) }
}

extension Timestamp: LogValue {
  /// The time in UTC as text: RFC 3339, with nine digits behind the point.
  public var logValue: Logger.MetadataValue { .string(description) }
}
