/// A value of a record, as it was logged.
@nonexhaustive
public indirect enum Value: Equatable, Sendable {
  /// A signed integer of up to 64 bits.
  case int(Int64)
  /// An unsigned integer of up to 64 bits.
  case uint(UInt64)
  /// A `Double`.
  case double(Double)
  /// A `Float`, or narrower.
  case float(Float)
  /// A `Bool`.
  case bool(Bool)
  /// Text; its bytes as they were logged, meant to be UTF-8.
  case string([UInt8])
  /// Bytes of no known meaning.
  case bytes([UInt8])
  /// A signed integer of up to 128 bits.
  case int128(Int128)
  /// An unsigned integer of up to 128 bits.
  case uint128(UInt128)
  /// Something private, of which nothing was kept.
  case redacted
  /// Something private: a keyed hash, equal within a session for equal values.
  case hash(UInt64)
  /// A text that stays encrypted, because no identity of its recipients is here: the bytes as they
  /// were logged.
  case sealed([UInt8])
  /// Nothing: a nil.
  case null
  /// A sequence of values.
  case array([Value])
  /// Values by name, in the order in which they were logged.
  case dictionary([(key: String, value: Value)])

  /// Values are equal if they have the same type and content; doubles by their bits.
  public static func == (a: Value, b: Value) -> Bool {
    switch (a, b) {
    case (.int(let a), .int(let b)): a == b
    case (.uint(let a), .uint(let b)): a == b
    case (.double(let a), .double(let b)): a.bitPattern == b.bitPattern
    case (.float(let a), .float(let b)): a.bitPattern == b.bitPattern
    case (.bool(let a), .bool(let b)): a == b
    case (.string(let a), .string(let b)), (.bytes(let a), .bytes(let b)),
      (.sealed(let a), .sealed(let b)):
      a == b
    case (.int128(let a), .int128(let b)): a == b
    case (.uint128(let a), .uint128(let b)): a == b
    case (.redacted, .redacted), (.null, .null): true
    case (.hash(let a), .hash(let b)): a == b
    case (.array(let a), .array(let b)): a == b
    case (.dictionary(let a), .dictionary(let b)):
      a.elementsEqual(b) { $0.key == $1.key && $0.value == $1.value }
    default: false
    }
  }
}

extension Value {
  /// The text, if the value is one.
  package var string: String? {
    if case .string(let bytes) = self { String(decoding: bytes, as: UTF8.self) } else { nil }
  }

  package var type: ValueType {
    switch self {
    case .int: .int
    case .uint: .uint
    case .double: .double
    case .float: .float
    case .bool: .bool
    case .string: .string
    case .bytes: .bytes
    case .int128: .int128
    case .uint128: .uint128
    case .redacted: .redacted
    case .hash: .hash
    case .sealed: .sealed
    case .null: .null
    case .array: .array
    case .dictionary: .dictionary
    }
  }

  /// Whether it is nested too deep to be written.
  package func isTooDeep(_ depth: Int = 0) -> Bool {
    switch self {
    case .array(let values):
      depth >= ValueType.deepest || values.contains { $0.isTooDeep(depth + 1) }
    case .dictionary(let pairs):
      depth >= ValueType.deepest || pairs.contains { $0.value.isTooDeep(depth + 1) }
    default: false
    }
  }
}

extension WordWriter {
  /// Appends a value that is not nested too deep, with its type.
  package mutating func append(tagged value: Value) {
    append(UInt64(value.type.rawValue))
    append(bodyOf: value)
  }

  /// Appends the words of a value that is not nested too deep, without its type.
  package mutating func append(bodyOf value: Value) {
    switch value {
    case .int(let value): append(UInt64(bitPattern: value))
    case .uint(let value): append(value)
    case .double(let value): append(value.bitPattern)
    case .float(let value): append(UInt64(value.bitPattern))
    case .bool(let value): append(value ? 1 : 0)
    case .string(let bytes), .bytes(let bytes), .sealed(let bytes): append(string: bytes)
    case .int128(let value): append(wide: UInt128(bitPattern: value))
    case .uint128(let value): append(wide: value)
    case .redacted, .null: break
    case .hash(let hash): append(hash)
    case .array(let values):
      append(UInt64(values.count))
      for value in values { append(tagged: value) }
    case .dictionary(let pairs):
      append(UInt64(pairs.count))
      for (key, value) in pairs {
        append(key)
        append(tagged: value)
      }
    }
  }

  private mutating func append(wide value: UInt128) {
    append(UInt64(truncatingIfNeeded: value))
    append(UInt64(truncatingIfNeeded: value >> 64))
  }
}

extension WordReader {
  /// The value of an argument whose type byte, with the optional bit, is `type`.
  package mutating func value(ofArgumentType type: UInt8) throws(FormatError) -> Value {
    try value(view(ofArgumentType: type), depth: 0)
  }

  /// A tagged value.
  private mutating func taggedValue(depth: Int) throws(FormatError) -> Value {
    try value(taggedView(), depth: depth)
  }

  /// The value that a view stands for, with the elements that follow in the reader.
  package mutating func value(_ view: ValueView, depth: Int = 0) throws(FormatError) -> Value {
    switch view {
    case .int(let value): return .int(value)
    case .uint(let value): return .uint(value)
    case .double(let value): return .double(value)
    case .float(let value): return .float(value)
    case .bool(let value): return .bool(value)
    case .string(let bytes): return .string(Array(bytes))
    case .bytes(let bytes): return .bytes(Array(bytes))
    case .int128(let value): return .int128(value)
    case .uint128(let value): return .uint128(value)
    case .redacted: return .redacted
    case .hash(let value): return .hash(value)
    case .sealed(let bytes):
      return open(bytes).map { .string($0) } ?? .sealed(Array(bytes))
    case .null: return .null
    case .array(let count): return .array(try elements(count, depth: depth))
    case .dictionary(let count): return .dictionary(try pairs(count, depth: depth))
    }
  }

  private mutating func elements(_ count: Int, depth: Int) throws(FormatError) -> [Value] {
    try checkDepth(depth)
    var values: [Value] = []
    for _ in 0..<count { values.append(try taggedValue(depth: depth + 1)) }
    return values
  }

  /// Reads `count` pairs of string and tagged value.
  private mutating func pairs(_ count: Int, depth: Int) throws(FormatError)
    -> [(key: String, value: Value)]
  {
    try checkDepth(depth)
    var pairs: [(key: String, value: Value)] = []
    for _ in 0..<count {
      let key = try text()
      pairs.append((key, try taggedValue(depth: depth + 1)))
    }
    return pairs
  }
}
