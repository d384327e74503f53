package import MMLogFormat

extension TextBuffer {
  /// Appends a JSON string.
  ///
  /// - Returns: Whether all of it is UTF-8.
  @discardableResult
  mutating func append(json bytes: UnsafeRawBufferPointer) -> Bool {
    append(UInt8(ascii: "\""))
    let isUTF8 = append(bytes, .json)
    append(UInt8(ascii: "\""))
    return isUTF8
  }

  /// Appends a JSON string.
  package mutating func append(json text: String) {
    append(UInt8(ascii: "\""))
    append(text, .json)
    append(UInt8(ascii: "\""))
  }

  /// Appends a value as JSON. The elements of an array or a dictionary are taken from `reader`.
  package mutating func append(
    json value: ValueView, from reader: inout WordReader, depth: Int = 0
  ) throws(FormatError) {
    switch value {
    case .int(let value): append(decimal: value)
    case .uint(let value): append(jsonWide: value)
    case .int128(let value): append(jsonWide: value)
    case .uint128(let value): append(jsonWide: value)
    case .double(let value): append(jsonNumber: value)
    case .float(let value):
      if !append(jsonNotFinite: Double(value)) { append(text: value.description) }
    case .bool(let value): append(value ? "true" : "false")
    case .string(let bytes): append(json: bytes)
    case .bytes(let bytes):
      append(#"{"base64":""#)
      append(base64: bytes)
      append(#""}"#)
    case .redacted, .hash, .sealed:
      append(UInt8(ascii: "\""))
      try append(value, .json, from: &reader)
      append(UInt8(ascii: "\""))
    case .null: append("null")
    case .array(let count): try append(jsonArray: count, from: &reader, depth: depth)
    case .dictionary(let count): try append(jsonObject: count, from: &reader, depth: depth)
    }
  }

  private mutating func append(
    jsonArray count: Int, from reader: inout WordReader, depth: Int
  ) throws(FormatError) {
    try reader.checkDepth(depth)
    append(UInt8(ascii: "["))
    for index in 0..<count {
      if index > 0 { append(UInt8(ascii: ",")) }
      try append(json: reader.taggedView(), from: &reader, depth: depth + 1)
    }
    append(UInt8(ascii: "]"))
  }

  private mutating func append(
    jsonObject count: Int, from reader: inout WordReader, depth: Int
  ) throws(FormatError) {
    try reader.checkDepth(depth)
    append(UInt8(ascii: "{"))
    var names = UniqueNames()
    for index in 0..<count {
      if index > 0 { append(UInt8(ascii: ",")) }
      append(json: names.unique(String(decoding: try reader.string(), as: UTF8.self)))
      append(UInt8(ascii: ":"))
      try append(json: reader.taggedView(), from: &reader, depth: depth + 1)
    }
    append(UInt8(ascii: "}"))
  }

  /// Many programs that read JSON take the whole line for invalid if a number does not fit into a
  /// signed word.
  private mutating func append<T: FixedWidthInteger>(
    jsonWide value: T
  ) where T.Magnitude: FixedWidthInteger & UnsignedInteger {
    if let value = Int64(exactly: value) { return append(decimal: value) }
    append(UInt8(ascii: "\""))
    append(value, .plain)
    append(UInt8(ascii: "\""))
  }

  /// Appends a number; a string for a number that JSON has no word for.
  mutating func append(jsonNumber value: Double) {
    if !append(jsonNotFinite: value) { append(shortest: value) }
  }

  private mutating func append(jsonNotFinite value: Double) -> Bool {
    if value.isFinite { return false }
    append(value.isNaN ? #""NaN""# : value < 0 ? #""-Infinity""# : #""Infinity""#)
    return true
  }

  /// Appends bytes in base64 (RFC 4648, 4).
  package mutating func append(base64 bytes: UnsafeRawBufferPointer) {
    let alphabet: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    append(maximum: (bytes.count + 2) / 3 * 4) { place in
      var (bits, waiting, count) = (UInt32(0), 0, 0)
      let put = { (value: UInt32) in
        place[count] = alphabet.utf8Start[Int(value & 63)]
        count += 1
      }
      for byte in bytes {
        bits = bits << 8 | UInt32(byte)
        waiting += 8
        while waiting >= 6 {
          waiting -= 6
          put(bits >> UInt32(waiting))
        }
      }
      if waiting > 0 { put(bits << UInt32(6 - waiting)) }
      while count % 4 != 0 {
        place[count] = UInt8(ascii: "=")
        count += 1
      }
      return count
    }
  }
}
