public import CMMLogWriter
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
    beginMetadata()
    putDown()
    for (key, value) in metadata.pairs { writer.append(key, value) }
    self = writer.endMetadata()
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
  fileprivate mutating func append(bodyOf value: Logger.MetadataValue, depth: Int) {
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

// Of a record that is put down: see RecordCursor.putDown().
extension UnsafeMutablePointer<mmlog_writer> {
  /// Adds a pair. Outlined: it would be by far the largest part of a log statement.
  @usableFromInline @inline(never)
  func append(_ key: String, _ value: Logger.MetadataValue) {
    if !append(small: key, value) { append(large: key, value) }
  }

  /// Adds a pair that is in registers, as most are, and looks for room only once.
  ///
  /// - Returns: False if nothing was done.
  @inline(__always)
  private func append(small key: String, _ value: Logger.MetadataValue) -> Bool {
    guard let name = SmallText(key), let next = pointee.record_next,
      UnsafeMutableRawPointer(next + 6) <= UnsafeMutableRawPointer(pointee.limit)
    else { return false }
    let record = RecordCursor(putDownIn: self)
    let (type, word): (ValueType, UInt64)
    switch value {
    case .string(let text):
      guard let text = SmallText(text), record.keep(name, .string) else { return false }
      pointee.record_next = text.write(at: next)
      return true
    case .int(let value): (type, word) = (.int, UInt64(bitPattern: value))
    case .uint(let value): (type, word) = (.uint, value)
    case .double(let value): (type, word) = (.double, value.bitPattern)
    case .bool(let value): (type, word) = (.bool, value ? 1 : 0)
    default: return false
    }
    guard record.keep(name, type) else { return false }
    next.pointee = word
    pointee.record_next = next + 1
    return true
  }

  @inline(never)
  private func append(large key: String, _ value: Logger.MetadataValue) {
    var record = RecordCursor(putDownIn: self)
    record.append(key: key, value.type)
    record.append(bodyOf: value, depth: 0)
    record.putDown()
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

// MARK: - For those who have metadata in another form

extension SmallText {
  /// Writes it where there is room for it, and gives the place behind it.
  @inline(__always)
  fileprivate func write(
    at target: UnsafeMutablePointer<UInt64>
  ) -> UnsafeMutablePointer<UInt64> {
    target[0] = UInt64(truncatingIfNeeded: count)
    // What is not used is zero, as what is there already.
    (target[1], target[2]) = words
    return target + 1 + (count &+ wordSize &- 1) / wordSize
  }
}

extension RecordCursor {
  /// Adds a pair of texts of which the key is small to the record that is put down, without counting
  /// references.
  ///
  /// - Returns: False if nothing was done.
  package func putDown(key: TextWords, _ text: TextWords) -> Bool {
    guard let name = key.small else { return false }
    let record = RecordCursor(putDownIn: writer)
    var next = record.next
    let room = UnsafeMutableRawPointer(writer.pointee.limit) - UnsafeMutableRawPointer(next)
    if let small = text.small {
      guard room >= 6 * wordSize, record.keep(name, .string) else { return false }
      writer.pointee.record_next = small.write(at: next)
      return true
    }
    guard let bytes = text.bytes, let source = bytes.baseAddress,
      bytes.count <= RecordLayout.longestValue, room >= bytes.count + 6 * wordSize,
      record.keep(name, .string)
    else { return false }
    next.pointee = UInt64(truncatingIfNeeded: bytes.count)
    next += 1
    var done = 0
    while done + wordSize <= bytes.count {
      next.pointee = source.loadUnaligned(fromByteOffset: done, as: UInt64.self)
      next += 1
      done += wordSize
    }
    if done < bytes.count {
      next.pointee = RecordCursor.lastWord(source + done, bytes.count - done)
      next += 1
    }
    writer.pointee.record_next = next
    return true
  }

  /// Adds a key of a dictionary in the metadata.
  package mutating func append(key: String) { append(key, reserving: 0) }

  /// Adds what stands for an array or dictionary inside more than ``ValueType/deepest`` others.
  package mutating func appendTooDeep() {
    append(checked: UInt64(ValueType.string.rawValue))
    append("…", reserving: 0)
  }
}
