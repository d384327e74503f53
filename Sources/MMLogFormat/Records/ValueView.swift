/// A value where it stands. Numbers are copied; text and bytes stay in place; an array or a
/// dictionary has only the number of its elements, which follow in the reader.
package enum ValueView {
  case int(Int64)
  case uint(UInt64)
  case double(Double)
  case float(Float)
  case bool(Bool)
  /// Meant to be UTF-8.
  case string(UnsafeRawBufferPointer)
  case bytes(UnsafeRawBufferPointer)
  case int128(Int128)
  case uint128(UInt128)
  case redacted
  case hash(UInt64)
  /// See ``SealedValue``.
  case sealed(UnsafeRawBufferPointer)
  case null
  /// So many tagged values follow.
  case array(Int)
  /// So many pairs of string and tagged value follow.
  case dictionary(Int)
}

extension WordReader {
  /// The argument whose type byte, with the optional bit, is `type`.
  package mutating func view(ofArgumentType type: UInt8) throws(FormatError) -> ValueView {
    if type & ValueType.optionalBit != 0, try word() == 0 { return .null }
    return try view(of: type & ~ValueType.optionalBit)
  }

  /// A tagged value.
  package mutating func taggedView() throws(FormatError) -> ValueView {
    let tag = try word()
    guard tag <= 255 else { throw .invalid("value type") }
    return try view(of: UInt8(tag))
  }

  /// Passes over the elements of an array or a dictionary; other values have none.
  ///
  /// - Parameter depth: How many containers the value itself is in.
  /// - Throws: as reading them would.
  package mutating func skipElements(of value: ValueView, depth: Int = 0) throws(FormatError) {
    switch value {
    case .array(let count):
      try checkDepth(depth)
      for _ in 0..<count { try skipElements(of: taggedView(), depth: depth + 1) }
    case .dictionary(let count):
      try checkDepth(depth)
      for _ in 0..<count {
        _ = try string()
        try skipElements(of: taggedView(), depth: depth + 1)
      }
    default: return
    }
  }

  /// Throws for a container that is in too many others.
  package func checkDepth(_ depth: Int) throws(FormatError) {
    guard depth < ValueType.deepest else { throw .invalid("nesting") }
  }

  private mutating func view(of rawType: UInt8) throws(FormatError) -> ValueView {
    guard let type = ValueType(rawValue: rawType) else { throw .invalid("value type") }
    switch type {
    case .int: return .int(Int64(bitPattern: try word()))
    case .uint: return .uint(try word())
    case .double: return .double(Double(bitPattern: try word()))
    case .float: return .float(Float(bitPattern: UInt32(truncatingIfNeeded: try word())))
    case .bool: return .bool(try word() != 0)
    case .string: return .string(try string())
    case .bytes: return .bytes(try string())
    case .int128: return .int128(Int128(truncatingIfNeeded: try wide()))
    case .uint128: return .uint128(try wide())
    case .redacted: return .redacted
    case .hash: return .hash(try word())
    case .sealed: return .sealed(try string())
    case .null: return .null
    case .array: return .array(try count(wordsEach: 1))
    case .dictionary: return .dictionary(try count(wordsEach: 2))
    }
  }

  private mutating func wide() throws(FormatError) -> UInt128 {
    let low = try word()
    return UInt128(try word()) << 64 | UInt128(low)
  }

  /// Reads a number of elements, each of `wordsEach` words or more. A hostile number ends here, not
  /// in an allocation.
  package mutating func count(wordsEach: Int) throws(FormatError) -> Int {
    let count = try word()
    guard count <= UInt64(remaining / (wordSize * wordsEach)) else { throw .truncated }
    return Int(count)
  }
}
