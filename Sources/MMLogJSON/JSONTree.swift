/// A value of JSON with all that is in it. Text that is wrong, or deeper than 32 values, is nil.
package enum JSONTree {
  case object([String: JSONTree])
  case array([JSONTree])
  case string(String)
  case number(JSONReader.Number)
  case bool(Bool)
  case null

  /// Reads a text. Of members of one name, the last counts.
  package init?(_ bytes: [UInt8]) {
    let tree = bytes.withUnsafeBytes { bytes -> JSONTree? in
      var reader = JSONReader(bytes)
      guard let value = JSONTree(&reader, depth: 0), reader.isAtEnd else { return nil }
      return value
    }
    guard let tree else { return nil }
    self = tree
  }

  private static let deepest = 32

  private init?(_ reader: inout JSONReader, depth: Int) {
    guard depth < Self.deepest, let kind = reader.kind else { return nil }
    switch kind {
    case .object:
      var members: [String: JSONTree] = [:]
      let isWhole = reader.members { reader, name in
        members[name] = JSONTree(&reader, depth: depth + 1)
        return members[name] != nil
      }
      guard isWhole else { return nil }
      self = .object(members)
    case .array:
      var elements: [JSONTree] = []
      let isWhole = reader.elements { reader in
        guard let element = JSONTree(&reader, depth: depth + 1) else { return false }
        elements.append(element)
        return true
      }
      guard isWhole else { return nil }
      self = .array(elements)
    case .string:
      guard let text = reader.string() else { return nil }
      self = .string(text)
    case .number:
      guard let number = reader.number() else { return nil }
      self = .number(number)
    case .bool:
      guard let value = reader.bool() else { return nil }
      self = .bool(value)
    case .null:
      guard reader.null() else { return nil }
      self = .null
    }
  }

  package subscript(_ name: String) -> JSONTree? {
    if case .object(let members) = self { members[name] } else { nil }
  }

  package var elements: [JSONTree] {
    if case .array(let elements) = self { elements } else { [] }
  }
  package var string: String? { if case .string(let text) = self { text } else { nil } }
  package var isTrue: Bool { if case .bool(true) = self { true } else { false } }
  package var integer: Int? {
    switch self {
    case .number(.int(let value)): Int(exactly: value)
    case .number(.double(let value)): Int(exactly: value)
    default: nil
    }
  }
}
