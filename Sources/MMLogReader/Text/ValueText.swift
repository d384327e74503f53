import MMLogFormat

extension [UInt8] {
  /// Appends a value as messages show it. The elements of an array or a dictionary are taken from
  /// `reader`, where they follow.
  mutating func append(
    _ value: ValueView, _ style: ValueStyle = .plain, from reader: inout WordReader,
    depth: Int = 0
  ) throws(FormatError) {
    switch value {
    case .int(let value): append(value, style)
    case .uint(let value): append(value, style)
    case .int128(let value): append(value, style)
    case .uint128(let value): append(value, style)
    case .double(let value): append(value, style, plain: value.description)
    case .float(let value): append(Double(value), style, plain: value.description)
    case .bool(let value): append(value ? "true" : "false")
    case .string(let bytes): append(repairing: bytes)
    case .bytes(let bytes): append(contentsOf: bytes)
    case .redacted: append("<private>")
    case .hash(let hash): append(hash: hash)
    case .null: append("nil")
    case .array(let count): try append(array: count, from: &reader, depth: depth)
    case .dictionary(let count): try append(dictionary: count, from: &reader, depth: depth)
    }
  }

  /// Appends text with U+FFFD for what of it is not UTF-8.
  mutating func append(repairing bytes: UnsafeRawBufferPointer) {
    if bytes.isUTF8 {
      append(contentsOf: bytes)
    } else {
      append(String(decoding: bytes, as: UTF8.self))
    }
  }

  /// Appends the hash of a private value: `<hash:0123456789abcdef>`.
  mutating func append(hash: UInt64) {
    append("<hash:")
    append(digits: hash, base: 16, least: 16)
    append(UInt8(ascii: ">"))
  }

  /// `[1, 2]`
  private mutating func append(
    array count: Int, from reader: inout WordReader, depth: Int
  ) throws(FormatError) {
    try reader.checkDepth(depth)
    append(UInt8(ascii: "["))
    for index in 0..<count {
      if index > 0 { append(", ") }
      try append(reader.taggedView(), from: &reader, depth: depth + 1)
    }
    append(UInt8(ascii: "]"))
  }

  /// `[key: 1, other: 2]`, or `[:]`
  private mutating func append(
    dictionary count: Int, from reader: inout WordReader, depth: Int
  ) throws(FormatError) {
    try reader.checkDepth(depth)
    append(count == 0 ? "[:" : "[")
    for index in 0..<count {
      if index > 0 { append(", ") }
      append(repairing: try reader.string())
      append(": ")
      try append(reader.taggedView(), from: &reader, depth: depth + 1)
    }
    append(UInt8(ascii: "]"))
  }

  /// Puts spaces beside what was appended from `start` on.
  mutating func align(from start: Int, _ alignment: Alignment) {
    guard alignment.side != .none else { return }
    // Characters: every byte of UTF-8 but those that continue one.
    let width = self[start...].reduce(0) { $0 + ($1 & 0xC0 == 0x80 ? 0 : 1) }
    guard width < alignment.columns else { return }
    let spaces = repeatElement(UInt8(ascii: " "), count: alignment.columns - width)
    insert(contentsOf: spaces, at: alignment.side == .left ? count : start)
  }
}
