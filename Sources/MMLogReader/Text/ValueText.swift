package import MMLogFormat

extension TextBuffer {
  /// Appends a value as messages show it, in a form. The elements of an array or a dictionary are
  /// taken from `reader`.
  ///
  /// - Returns: Whether all of it is UTF-8.
  @discardableResult
  mutating func append(
    _ value: ValueView, _ form: TextForm, style: ValueStyle = .plain,
    from reader: inout WordReader, depth: Int = 0
  ) throws(FormatError) -> Bool {
    switch value {
    case .int(let value): append(value, style)
    case .uint(let value): append(value, style)
    case .int128(let value): append(value, style)
    case .uint128(let value): append(value, style)
    case .double(let value): append(value, style, plain: value.description)
    case .float(let value): append(Double(value), style, plain: value.description)
    case .bool(let value): append(value ? "true" : "false")
    case .string(let bytes): append(repairing: bytes, form)
    case .bytes(let bytes): return append(bytes, form)
    case .redacted: append("<private>")
    case .hash(let hash): append(hash: hash)
    case .sealed(let bytes): append(opened: reader.open(bytes), form)
    case .null: append("nil")
    case .array(let count): return try append(array: count, form, from: &reader, depth: depth)
    case .dictionary(let count):
      return try append(dictionary: count, form, from: &reader, depth: depth)
    }
    return true
  }

  /// Appends a value as messages show it, without a style.
  package mutating func append(
    text value: ValueView, from reader: inout WordReader
  ) throws(FormatError) {
    try append(value, .raw, from: &reader)
  }

  /// Appends text with U+FFFD for bytes that are not UTF-8.
  package mutating func append(repairing bytes: UnsafeRawBufferPointer, _ form: TextForm) {
    let start = count
    let isUTF8 = form == .raw ? bytes.isUTF8 : append(bytes, form)
    if isUTF8 {
      if form == .raw { append(bytes) }
    } else {
      cut(to: start)
      append(String(decoding: bytes, as: UTF8.self), form)
    }
  }

  /// Appends a sealed value, or `<sealed>` if no identity opens it.
  private mutating func append(opened text: [UInt8]?, _ form: TextForm) {
    guard let text else { return append("<sealed>") }
    text.withUnsafeBytes { append(repairing: $0, form) }
  }

  /// Appends the hash of a private value: `<hash:0123456789abcdef>`.
  mutating func append(hash: UInt64) {
    append("<hash:")
    append(digits: hash, base: 16, minimum: 16)
    append(UInt8(ascii: ">"))
  }

  /// `[1, 2]`
  private mutating func append(
    array count: Int, _ form: TextForm, from reader: inout WordReader, depth: Int
  ) throws(FormatError) -> Bool {
    try reader.checkDepth(depth)
    var isUTF8 = true
    append(UInt8(ascii: "["))
    for index in 0..<count {
      if index > 0 { append(", ") }
      isUTF8 =
        try append(reader.taggedView(), form, from: &reader, depth: depth + 1) && isUTF8
    }
    append(UInt8(ascii: "]"))
    return isUTF8
  }

  /// `[key: 1, other: 2]`, or `[:]`
  private mutating func append(
    dictionary count: Int, _ form: TextForm, from reader: inout WordReader, depth: Int
  ) throws(FormatError) -> Bool {
    try reader.checkDepth(depth)
    var isUTF8 = true
    append(UInt8(ascii: "["))
    if count == 0 { append(UInt8(ascii: ":")) }
    for index in 0..<count {
      if index > 0 { append(", ") }
      append(repairing: try reader.string(), form)
      append(": ")
      isUTF8 =
        try append(reader.taggedView(), form, from: &reader, depth: depth + 1) && isUTF8
    }
    append(UInt8(ascii: "]"))
    return isUTF8
  }

  /// Puts spaces beside what was appended from `start` on.
  ///
  /// - Parameter width: How many characters it has; nil to count them as they stand there.
  mutating func align(from start: Int, _ alignment: Alignment, width: Int? = nil) {
    guard alignment.side != .none else { return }
    let width = width ?? withBytes(from: start) { UnsafeRawBufferPointer($0).characterCount }
    guard width < alignment.columns else { return }
    let space = UInt8(ascii: " ")
    if alignment.side == .left {
      append(space, count: alignment.columns - width)
    } else {
      insert(space, count: alignment.columns - width, at: start)
    }
  }
}
