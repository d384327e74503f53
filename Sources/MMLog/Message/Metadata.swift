import CMMLogWriter
import MMLogFormat

extension Logger {
  /// Values by name that go with a record, in the order in which they are written.
  ///
  /// ```swift
  /// log.info("order accepted", metadata: ["venue": .string(venue), "attempt": 3])
  /// ```
  public struct Metadata: ExpressibleByDictionaryLiteral, Sendable {
    @usableFromInline var pairs: [(String, MetadataValue)]

    /// Metadata without any pair.
    @inlinable public init() { pairs = [] }

    /// Takes a dictionary literal; a key that occurs twice is kept twice. Called by the compiler.
    @inlinable @inline(__always)
    public init(dictionaryLiteral elements: (String, MetadataValue)...) { pairs = elements }

    /// Adds a pair at the end.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - key: Its name.
    @inlinable public mutating func append(_ value: MetadataValue, for key: String) {
      pairs.append((key, value))
    }
  }

  /// A value of ``Metadata``. Written by the calling thread, with its type.
  public enum MetadataValue: Sendable {
    /// Text.
    case string(String)
    /// Text that is made when the record is written.
    indirect case stringConvertible(any CustomStringConvertible & Sendable)
    /// A signed integer.
    case int(Int64)
    /// An unsigned integer.
    case uint(UInt64)
    /// A floating-point number.
    case double(Double)
    /// A Boolean.
    case bool(Bool)
    /// Bytes of no known meaning, kept as they are; more than 16 MiB are cut.
    case bytes([UInt8])
    /// No value; shown as `nil`.
    case null
    /// What stands for a value that is not to be written; shown as `<private>`. See
    /// ``value(_:privacy:)``.
    case redacted
    /// The hash that stands for such a value. See ``Logger/Privacy/hash``.
    case hash(UInt64)
    /// Values one after the other.
    case array([MetadataValue])
    /// Values by name.
    case dictionary(Metadata)
  }
}

extension Logger.MetadataValue: ExpressibleByStringLiteral, ExpressibleByStringInterpolation,
  ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  /// Takes a string literal.
  @inlinable public init(stringLiteral value: String) { self = .string(value) }
  /// Takes an integer literal.
  @inlinable public init(integerLiteral value: Int64) { self = .int(value) }
  /// Takes a floating-point literal.
  @inlinable public init(floatLiteral value: Double) { self = .double(value) }
  /// Takes a Boolean literal.
  @inlinable public init(booleanLiteral value: Bool) { self = .bool(value) }
  /// Takes an array literal.
  @inlinable public init(arrayLiteral elements: Logger.MetadataValue...) { self = .array(elements) }
  /// Takes a dictionary literal.
  @inlinable public init(dictionaryLiteral elements: (String, Logger.MetadataValue)...) {
    var metadata = Logger.Metadata()
    for (key, value) in elements { metadata.append(value, for: key) }
    self = .dictionary(metadata)
  }
}

extension RecordCursor {
  /// Adds a record's metadata.
  ///
  /// Inlined, so that the optimizer sees that the literal's array goes nowhere, and puts it on the
  /// stack.
  @inlinable @inline(__always)
  mutating func append(_ metadata: Logger.Metadata) {
    beginMetadata(pairs: metadata.pairs.count)
    for (key, value) in metadata.pairs { self = appending(key, value) }
  }

  /// The record with a pair added. Outlined: it would be by far the largest part of a log
  /// statement.
  @usableFromInline @inline(never)
  func appending(_ key: String, _ value: Logger.MetadataValue) -> RecordCursor {
    var cursor = self
    if !cursor.append(small: key, value) {
      cursor.append(key: key)
      cursor.append(value, depth: 0)
    }
    return cursor
  }

  /// Adds a pair that is in registers, as most are, and looks for room only once.
  ///
  /// - Returns: False if nothing was done.
  @inline(__always)
  private mutating func append(small key: String, _ value: Logger.MetadataValue) -> Bool {
    guard let name = SmallText(key),
      UnsafeMutableRawPointer(next) + 10 * wordSize
        <= UnsafeMutableRawPointer(writer.pointee.limit)
    else { return false }
    let (type, word): (ValueType, UInt64)
    switch value {
    case .string(let text):
      guard let text = SmallText(text) else { return false }
      append(name)
      append(UInt64(ValueType.string.rawValue))
      append(text)
      return true
    case .int(let value): (type, word) = (.int, UInt64(bitPattern: value))
    case .uint(let value): (type, word) = (.uint, value)
    case .double(let value): (type, word) = (.double, value.bitPattern)
    case .bool(let value): (type, word) = (.bool, value ? 1 : 0)
    default: return false
    }
    append(name)
    append(UInt64(type.rawValue))
    append(word)
    return true
  }

  /// Adds a value as an argument, whose type its call site has.
  ///
  /// - Parameter reserve: How many bytes must be left behind it.
  mutating func append(argument value: Logger.MetadataValue, reserving reserve: Int) {
    append(bodyOf: value, depth: 0)
    self.reserve(reserve)
  }

  private mutating func append(_ value: Logger.MetadataValue, depth: Int) {
    switch value {
    case .array where depth == ValueType.deepest, .dictionary where depth == ValueType.deepest:
      appendTooDeep()
    default:
      append(checked: UInt64(value.type.rawValue))
      append(bodyOf: value, depth: depth)
    }
  }

  /// Adds what follows a value's type.
  private mutating func append(bodyOf value: Logger.MetadataValue, depth: Int) {
    switch value {
    case .string(let text): append(text, reserving: 0)
    case .stringConvertible(let value): append(value.description, reserving: 0)
    case .int(let value): append(checked: UInt64(bitPattern: value))
    case .uint(let value): append(checked: value)
    case .double(let value): append(checked: value.bitPattern)
    case .bool(let value): append(checked: value ? 1 : 0)
    case .bytes(let bytes): bytes.withUnsafeBytes { append($0, reserving: 0) }
    case .null, .redacted: break
    case .hash(let value): append(checked: value)
    case .array(let values):
      append(checked: UInt64(values.count))
      for value in values { append(value, depth: depth + 1) }
    case .dictionary(let metadata):
      append(checked: UInt64(metadata.pairs.count))
      for (key, value) in metadata.pairs {
        append(key: key)
        append(value, depth: depth + 1)
      }
    }
  }
}

extension Logger.MetadataValue {
  /// As what it is written.
  var type: ValueType {
    switch self {
    case .string, .stringConvertible: .string
    case .int: .int
    case .uint: .uint
    case .double: .double
    case .bool: .bool
    case .bytes: .bytes
    case .null: .null
    case .redacted: .redacted
    case .hash: .hash
    case .array: .array
    case .dictionary: .dictionary
    }
  }
}

// MARK: - Metadata part by part: for those who have it in another form

extension RecordCursor {
  /// Begins a record's metadata; so many keys, each with its value, have to follow.
  @inlinable @inline(__always)
  package mutating func beginMetadata(pairs count: Int) {
    flags |= RecordFlags.metadata.rawValue
    append(checked: UInt64(count))
  }

  /// Adds a key, of the metadata or of a dictionary in it.
  @inline(__always)
  package mutating func append(key: String) { append(key, reserving: 0) }

  /// Adds a key that is there as bytes.
  package mutating func append(key: UnsafeRawBufferPointer) { append(key, reserving: 0) }

  /// Adds a text as a value that is there as bytes.
  package mutating func append(string bytes: UnsafeRawBufferPointer) {
    append(checked: UInt64(ValueType.string.rawValue))
    append(bytes, reserving: 0)
  }

  /// Adds a text as a value.
  @inline(__always)
  package mutating func append(string text: String) {
    append(checked: UInt64(ValueType.string.rawValue))
    append(text, reserving: 0)
  }

  /// Adds a value of one word, or the count of an array's or dictionary's elements, which have to
  /// follow.
  @inline(__always)
  package mutating func append(_ type: ValueType, _ word: UInt64) {
    append(checked: UInt64(type.rawValue))
    append(checked: word)
  }

  /// Adds what stands for a text that is not to be written.
  package mutating func append(private text: String, _ privacy: Logger.Privacy) {
    switch privacy {
    case .public: append(string: text)
    case .hash: append(.hash, PrivateHash.of(text))
    default: append(checked: UInt64(ValueType.redacted.rawValue))
    }
  }

  /// Adds what stands for an array or dictionary inside more than ``ValueType/deepest`` others.
  package mutating func appendTooDeep() { append(string: "…") }
}
