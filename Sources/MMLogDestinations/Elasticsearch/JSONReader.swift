/// A value of JSON (RFC 8259), as servers answer with it. It is hostile: what is wrong, or deeper
/// than 32 values, is nil.
enum JSONTree {
  case object([String: JSONTree])
  case array([JSONTree])
  case string(String)
  case number(Double)
  case bool(Bool)
  case null

  /// Reads a text.
  init?(_ bytes: [UInt8]) {
    var reader = JSONReader(bytes[...])
    guard let value = reader.value(depth: 0), reader.isAtEnd else { return nil }
    self = value
  }

  subscript(_ name: String) -> JSONTree? {
    if case .object(let members) = self { members[name] } else { nil }
  }

  var elements: [JSONTree] { if case .array(let elements) = self { elements } else { [] } }
  var string: String? { if case .string(let text) = self { text } else { nil } }
  var isTrue: Bool { if case .bool(true) = self { true } else { false } }
  var integer: Int? { if case .number(let value) = self { Int(exactly: value) } else { nil } }
}

private struct JSONReader {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  var isAtEnd: Bool {
    mutating get {
      skipSpaces()
      return rest.isEmpty
    }
  }

  mutating func value(depth: Int) -> JSONTree? {
    guard depth < 32 else { return nil }
    skipSpaces()
    switch rest.first {
    case UInt8(ascii: "{"): return object(depth)
    case UInt8(ascii: "["): return array(depth)
    case UInt8(ascii: "\""): return string().map(JSONTree.string)
    case UInt8(ascii: "t"): return take("true") ? .bool(true) : nil
    case UInt8(ascii: "f"): return take("false") ? .bool(false) : nil
    case UInt8(ascii: "n"): return take("null") ? .null : nil
    default: return number()
    }
  }

  private mutating func object(_ depth: Int) -> JSONTree? {
    var members: [String: JSONTree] = [:]
    guard take("{") else { return nil }
    if take("}") { return .object(members) }
    repeat {
      skipSpaces()
      guard let name = string(), take(":"), let value = value(depth: depth + 1) else { return nil }
      members[name] = value
    } while take(",")
    return take("}") ? .object(members) : nil
  }

  private mutating func array(_ depth: Int) -> JSONTree? {
    var elements: [JSONTree] = []
    guard take("[") else { return nil }
    if take("]") { return .array(elements) }
    repeat {
      guard let value = value(depth: depth + 1) else { return nil }
      elements.append(value)
    } while take(",")
    return take("]") ? .array(elements) : nil
  }

  private mutating func string() -> String? {
    guard take("\"") else { return nil }
    var bytes: [UInt8] = []
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "\""): return String(decoding: bytes, as: UTF8.self)
      case UInt8(ascii: "\\"):
        guard let scalar = escape() else { return nil }
        bytes += Array(String(Character(scalar)).utf8)
      default: bytes.append(byte)
      }
    }
    return nil
  }

  private mutating func escape() -> Unicode.Scalar? {
    guard let byte = rest.popFirst() else { return nil }
    switch byte {
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{c}"
    case UInt8(ascii: "u"):
      guard let high = unit() else { return nil }
      guard 0xD800..<0xDC00 ~= high else { return Unicode.Scalar(high) ?? "\u{FFFD}" }
      guard take("\\u"), let low = unit(), 0xDC00..<0xE000 ~= low else { return nil }
      return Unicode.Scalar(0x10000 + (high - 0xD800) << 10 + (low - 0xDC00))
    default: return Unicode.Scalar(byte)
    }
  }

  private mutating func unit() -> UInt32? {
    guard rest.count >= 4 else { return nil }
    let digits = String(decoding: rest.prefix(4), as: UTF8.self)
    rest = rest.dropFirst(4)
    return UInt32(digits, radix: 16)
  }

  private mutating func number() -> JSONTree? {
    let digits = rest.prefix { byte in
      UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || "+-.eE".utf8.contains(byte)
    }
    rest = rest.dropFirst(digits.count)
    return Double(String(decoding: digits, as: UTF8.self)).map(JSONTree.number)
  }

  private mutating func skipSpaces() {
    rest = rest.drop { $0 == 0x20 || $0 == 0x0A || $0 == 0x0D || $0 == 0x09 }
  }

  private mutating func take(_ text: StaticString) -> Bool {
    if text.utf8CodeUnitCount == 1 { skipSpaces() }
    let wanted = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    guard rest.starts(with: wanted) else { return false }
    rest = rest.dropFirst(wanted.count)
    return true
  }
}
