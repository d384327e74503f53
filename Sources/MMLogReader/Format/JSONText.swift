import MMLogFormat

extension [UInt8] {
  /// Appends a JSON string. What is not UTF-8 becomes U+FFFD; what must not reach a terminal is
  /// escaped, also where JSON would take it as it is.
  ///
  /// - Returns: Whether all of it is UTF-8.
  @discardableResult
  mutating func append(json bytes: UnsafeRawBufferPointer) -> Bool {
    append(UInt8(ascii: "\""))
    var isUTF8 = true
    var (start, index) = (0, 0)
    while index < bytes.count {
      let byte = bytes[index]
      if byte >= 0x20, byte < 0x7F, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
        index += 1
        continue
      }
      let character = bytes.character(at: index)
      if case .scalar(let scalar, let count) = character, byte >= 0x80, !isUnsafeToShow(scalar) {
        index += count
        continue
      }
      append(contentsOf: bytes[start..<index])
      switch character {
      case .scalar(let scalar, let count):
        append(jsonEscape: scalar)
        index += count
      case .invalid:
        append("\u{FFFD}")
        index += 1
        isUTF8 = false
      }
      start = index
    }
    append(contentsOf: bytes[start..<index])
    append(UInt8(ascii: "\""))
    return isUTF8
  }

  /// Appends a JSON string.
  mutating func append(json text: String) {
    var text = text
    text.withUTF8 { _ = append(json: UnsafeRawBufferPointer($0)) }
  }

  /// Appends a member's name, with a comma before it unless it is the first of its object.
  mutating func append(jsonName name: String) {
    if last != UInt8(ascii: "{") { append(UInt8(ascii: ",")) }
    append(json: name)
    append(UInt8(ascii: ":"))
  }

  private mutating func append(jsonEscape scalar: UInt32) {
    append(UInt8(ascii: "\\"))
    switch scalar {
    case 0x22: append(UInt8(ascii: "\""))
    case 0x5C: append(UInt8(ascii: "\\"))
    case 0x0A: append(UInt8(ascii: "n"))
    case 0x0D: append(UInt8(ascii: "r"))
    case 0x09: append(UInt8(ascii: "t"))
    default:
      // All that is unsafe to show is below U+10000: no surrogates needed.
      append(UInt8(ascii: "u"))
      append(digits: scalar, base: 16, least: 4)
    }
  }

  /// Appends a value as JSON. The elements of an array or a dictionary are taken from `reader`.
  mutating func append(
    json value: ValueView, from reader: inout WordReader, depth: Int = 0
  ) throws(FormatError) {
    switch value {
    case .int(let value): append(value, .plain)
    case .uint(let value): append(value, .plain)
    case .int128(let value): append(jsonWide: value, fits: Int64(exactly: value) != nil)
    case .uint128(let value): append(jsonWide: value, fits: UInt64(exactly: value) != nil)
    case .double(let value): append(jsonFloat: value)
    case .float(let value): append(jsonFloat: value)
    case .bool(let value): append(value ? "true" : "false")
    case .string(let bytes): append(json: bytes)
    case .bytes(let bytes):
      append(#"{"base64":""#)
      append(base64: bytes)
      append(#""}"#)
    case .redacted: append(#""<private>""#)
    case .hash(let hash):
      append(UInt8(ascii: "\""))
      append(hash: hash)
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
    for _ in 0..<count {
      append(jsonName: names.unique(String(decoding: try reader.string(), as: UTF8.self)))
      try append(json: reader.taggedView(), from: &reader, depth: depth + 1)
    }
    append(UInt8(ascii: "}"))
  }

  private mutating func append<T: FixedWidthInteger>(
    jsonWide value: T, fits: Bool
  ) where T.Magnitude: FixedWidthInteger & UnsignedInteger {
    if !fits { append(UInt8(ascii: "\"")) }
    append(value, .plain)
    if !fits { append(UInt8(ascii: "\"")) }
  }

  private mutating func append(jsonFloat value: some BinaryFloatingPoint & CustomStringConvertible)
  {
    if value.isFinite { return append(value.description) }
    append(value.isNaN ? #""NaN""# : value < 0 ? #""-Infinity""# : #""Infinity""#)
  }

  /// Appends bytes in base64 (RFC 4648, 4).
  mutating func append(base64 bytes: some Collection<UInt8>) {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    var (bits, count) = (UInt32(0), 0)
    for byte in bytes {
      bits = bits << 8 | UInt32(byte)
      count += 8
      while count >= 6 {
        count -= 6
        append(alphabet[Int(bits >> UInt32(count) & 63)])
      }
    }
    if count > 0 { append(alphabet[Int(bits << UInt32(6 - count) & 63)]) }
    for _ in 0..<((3 - bytes.count % 3) % 3) { append(UInt8(ascii: "=")) }
  }
}
