import CMMLogCore
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

  /// A value of ``Metadata``. The calling thread writes it, with its type.
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
    /// Stands for a value that must not be written; shown as `<private>`. See
    /// ``value(_:privacy:)``.
    case redacted
    /// The hash that stands for a private value. See ``Logger/Privacy/hash``.
    case hash(UInt64)
    /// A private value, encrypted. See ``Logger/Privacy/sealed``.
    case sealed([UInt8])
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
  /// Takes a string with interpolations. The string is made as elsewhere in Swift.
  @inlinable public init(stringInterpolation: DefaultStringInterpolation) {
    self = .string(String(stringInterpolation: stringInterpolation))
  }
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
    writer.beginMetadata(next, checksum)
    // The check of the values so far, from 0. It stays in a register: through memory, each pair
    // would wait for the one before.
    var check: UInt64 = 0
    for (key, value) in metadata.pairs {
      if case .string(let text) = value {
        check = writer.append(key, text, check)
      } else if value.isPlain {
        check = writer.append(plain: key, value, check)
      } else {
        writer.append(key, value)
      }
    }
    let checksum = writer.endMetadata(check)
    self = RecordCursor(putDownIn: writer, checksum: checksum)
  }

  /// Adds a value as an argument. The call site has the value's type.
  ///
  /// - Parameter reserve: How many bytes must be left behind the value.
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
    case .bytes(let bytes), .sealed(let bytes): bytes.withUnsafeBytes { append($0, reserving: 0) }
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

// These functions work on a record that is put down: see RecordCursor.putDown(). They are outlined,
// because pairs would be by far the largest part of a log statement.
//
// Most of them run no code of others. An attribute tells the compiler that these release nothing,
// so that it counts no references to the texts of a literal.
//
// Those that take the check of the values so far continue it over what they add, and return it. The
// others leave the record without a check: see RecordCursor.putDown().
extension UnsafeMutablePointer<mmlog_writer> {
  /// Adds a pair of texts.
  @usableFromInline @inline(never) @_effects(releasenone)
  func append(_ key: String, _ text: String, _ check: UInt64) -> UInt64 {
    var check = check
    return append(small: TextWords(key), TextWords(text), &check)
      ? check : append(key, large: text, check)
  }

  @inline(never)
  private func append(_ key: String, large text: String, _ check: UInt64) -> UInt64 {
    var check = check
    return append(small: TextWords(key), some: TextWords(text), &check)
      ? check : append(large: key, text, check)
  }

  @inline(never)
  private func append(large key: String, _ text: String, _ check: UInt64) -> UInt64 {
    var check = check
    if !append(TextWords(key), any: TextWords(text), &check) { append(key, .string(text)) }
    return check
  }

  /// Adds a pair whose value is plain: writing it runs no code of others.
  @usableFromInline @inline(never) @_effects(releasenone)
  func append(plain key: String, _ value: Logger.MetadataValue, _ check: UInt64) -> UInt64 {
    var check = check
    let isDone =
      switch value {
      case .int(let value): append(TextWords(key), .int, UInt64(bitPattern: value), &check)
      case .uint(let value): append(TextWords(key), .uint, value, &check)
      case .double(let value): append(TextWords(key), .double, value.bitPattern, &check)
      case .bool(let value): append(TextWords(key), .bool, value ? 1 : 0, &check)
      default: false
      }
    if !isDone { append(key, value) }
    return check
  }

  /// Adds a pair of any kind.
  @usableFromInline @inline(never)
  func append(_ key: String, _ value: Logger.MetadataValue) {
    var record = RecordCursor(putDownIn: self)
    record.append(key: key, value.type)
    record.append(bodyOf: value, depth: 0)
    record.putDown()
  }
}

extension Logger.MetadataValue {
  /// Whether writing the value runs no code of others. A constant in most log statements.
  @inlinable @inline(__always)
  var isPlain: Bool {
    switch self {
    case .string, .int, .uint, .double, .bool, .bytes, .null, .redacted, .hash, .sealed: true
    case .stringConvertible, .array, .dictionary: false
    }
  }

  /// The type that the value is written with.
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
    case .sealed: .sealed
    case .array: .array
    case .dictionary: .dictionary
    }
  }
}

// MARK: - Pairs of a record that is put down

// These look for room only once. If they return false, they have done nothing.
extension UnsafeMutablePointer<mmlog_writer> {
  /// Adds a pair of texts, without counting references.
  fileprivate func append(_ key: TextWords, _ text: TextWords) -> Bool {
    var check: UInt64 = 0
    return append(small: key, text, &check) || append(small: key, some: text, &check)
      || append(key, any: text, &check)
  }

  /// Adds a pair of small texts. Calls nothing, so that it needs no place on the stack.
  @inline(__always)
  fileprivate func append(
    small key: TextWords, _ text: TextWords, _ check: inout UInt64
  ) -> Bool {
    guard let (key, text) = TextWords.small(key, text), hasRoom(forBytes: 0),
      keep(key, .string)
    else { return false }
    write(text, &check)
    return true
  }

  /// Adds a pair of a small key and a text of 9 to 32 bytes in memory. Calls nothing either.
  @inline(__always)
  fileprivate func append(
    small key: TextWords, some text: TextWords, _ check: inout UInt64
  ) -> Bool {
    guard let key = key.small, let bytes = text.someBytes, hasRoom(forBytes: 32),
      keep(key, .string)
    else { return false }
    write(some: bytes, &check)
    return true
  }

  /// Adds a pair of texts, unless the key may be gone when the metadata ends.
  @inline(__always)
  fileprivate func append(
    _ key: TextWords, any text: TextWords, _ check: inout UInt64
  ) -> Bool {
    if let text = text.small {
      guard hasRoom(forBytes: 0), keep(key, .string) else { return false }
      write(text, &check)
      return true
    }
    guard let bytes = text.bytes, hasRoom(for: bytes),
      keep(key, .string)
    else { return false }
    write(bytes, &check)
    return true
  }

  /// Adds a value of one word.
  @inline(__always)
  fileprivate func append(
    _ key: TextWords, _ type: ValueType, _ word: UInt64, _ check: inout UInt64
  ) -> Bool {
    guard hasRoom(forBytes: 0), keep(key, type) else { return false }
    next.pointee = word
    check = mmlog_crc32c_word(check, word)
    pointee.record_next = next + 1
    return true
  }

  /// Where the record's next word goes.
  @inline(__always)
  private var next: UnsafeMutablePointer<UInt64> { pointee.record_next.unsafelyUnwrapped }

  /// Whether there is room for a value of up to three words, or of `count` bytes more, and for what
  /// follows it.
  @inline(__always)
  private func hasRoom(forBytes count: Int) -> Bool {
    UnsafeMutableRawPointer(next + 6) + count <= UnsafeMutableRawPointer(pointee.limit)
  }

  /// Whether there is room for bytes that need not be cut, and for what follows them.
  @inline(__always)
  private func hasRoom(for bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.count <= RecordLayout.longestValue && hasRoom(forBytes: bytes.count)
  }

  /// Writes a length and a small text, for which there is room.
  @inline(__always)
  private func write(_ text: SmallText, _ check: inout UInt64) {
    let (target, count) = (next, text.count)
    target[0] = UInt64(truncatingIfNeeded: count)
    // Unused bytes are zero, as the memory there already is.
    (target[1], target[2]) = text.words
    // No branch: the length differs from call to call.
    let none = mmlog_crc32c_word(check, UInt64(truncatingIfNeeded: count))
    let one = mmlog_crc32c_word(none, text.words.0)
    let two = mmlog_crc32c_word(one, text.words.1)
    check = count > wordSize ? two : count > 0 ? one : none
    let end = UnsafeMutableRawPointer(target) + paddedSize(wordSize &+ count)
    pointee.record_next = end.assumingMemoryBound(to: UInt64.self)
  }

  /// Writes a length and 9 to 32 bytes, for which there is room, without a loop.
  @inline(__always)
  private func write(some bytes: UnsafeRawBufferPointer, _ check: inout UInt64) {
    guard let source = bytes.baseAddress else { return }
    let (target, count, size) = (next, bytes.count, paddedSize(bytes.count))
    target.pointee = UInt64(truncatingIfNeeded: count)
    let text = UnsafeMutableRawPointer(target + 1)
    check = mmlog_crc32c_word(check, UInt64(truncatingIfNeeded: count))
    if size > 2 &* wordSize {
      let words = source.loadUnaligned(as: SIMD2<UInt64>.self)
      text.storeBytes(of: words, as: SIMD2<UInt64>.self)
      let one = mmlog_crc32c_word(check, words[0])
      let two = mmlog_crc32c_word(one, words[1])
      check = size > 3 &* wordSize ? two : one
    }
    // The last two words. The last one has those of the last eight bytes that no earlier word has.
    let (end, lastBytes) = (size &- wordSize, count &- wordSize)
    let next = source.loadUnaligned(fromByteOffset: end &- wordSize, as: UInt64.self)
    let last =
      source.loadUnaligned(fromByteOffset: lastBytes, as: UInt64.self)
      &>> UInt64(truncatingIfNeeded: 8 &* (end &- lastBytes))
    text.storeBytes(of: next, toByteOffset: end &- wordSize, as: UInt64.self)
    text.storeBytes(of: last, toByteOffset: end, as: UInt64.self)
    check = mmlog_crc32c_word(mmlog_crc32c_word(check, next), last)
    pointee.record_next = (text + size).assumingMemoryBound(to: UInt64.self)
  }

  /// Writes a length and bytes, for which there is room.
  private func write(_ bytes: UnsafeRawBufferPointer, _ check: inout UInt64) {
    let (target, size) = (next, paddedSize(bytes.count))
    target.pointee = UInt64(truncatingIfNeeded: bytes.count)
    let text = UnsafeMutableRawPointer(target + 1)
    if let source = bytes.baseAddress, size > 0 {
      (text + (size - wordSize)).storeBytes(of: 0, as: UInt64.self)
      text.copyMemory(from: source, byteCount: bytes.count)
    }
    check = UInt64(
      mmlog_crc32c_words(UInt32(truncatingIfNeeded: check), target, 1 + size / wordSize))
    pointee.record_next = (text + size).assumingMemoryBound(to: UInt64.self)
  }
}

extension RecordCursor {
  /// Adds a pair of texts to the record that is put down, without counting references.
  ///
  /// - Returns: False if nothing was done.
  package func putDown(key: TextWords, _ text: TextWords) -> Bool { writer.append(key, text) }

  /// Adds a key of a dictionary in the metadata.
  package mutating func append(key: String) { append(key, reserving: 0) }

  /// Adds what stands for an array or dictionary that is inside more than ``ValueType/deepest``
  /// others.
  package mutating func appendTooDeep() {
    append(checked: UInt64(ValueType.string.rawValue))
    append("…", reserving: 0)
  }
}
