/// A JSON value with all values in it. A text that is wrong, or deeper than 32 values, has none.
package enum JSONTree: JSONValue {
  package static let deepest = 32

  case object([(name: String, value: JSONTree)])
  case array([JSONTree])
  case string(String)
  case number(JSONReader.Number)
  case bool(Bool)
  case null

  /// Reads a text.
  package init?(_ bytes: [UInt8]) {
    let tree = bytes.withUnsafeBytes { bytes -> JSONTree? in
      var reader = JSONReader(bytes)
      guard let value: JSONTree = reader.value(), reader.isAtEnd else { return nil }
      return value
    }
    guard let tree else { return nil }
    self = tree
  }

  /// The last member of an object that has this name.
  package subscript(_ name: String) -> JSONTree? {
    if case .object(let members) = self { members.last { $0.name == name }?.value } else { nil }
  }

  package var elements: [JSONTree] {
    if case .array(let elements) = self { elements } else { [] }
  }
  package var string: String? { if case .string(let text) = self { text } else { nil } }
  package var integer: Int? {
    switch self {
    case .number(.int(let value)): Int(exactly: value)
    case .number(.double(let value)): Int(exactly: value)
    default: nil
    }
  }
}
