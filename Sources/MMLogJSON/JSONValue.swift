/// What a JSON value becomes, with all values in it.
package protocol JSONValue {
  /// How many values deep a value may be. A deeper one is wrong.
  static var deepest: Int { get }

  /// Makes a value of the members of an object, in their order. A name may occur twice.
  static func object(_ members: [(name: String, value: Self)]) -> Self
  static func array(_ elements: [Self]) -> Self
  static func string(_ text: String) -> Self
  static func number(_ number: JSONReader.Number) -> Self
  static func bool(_ value: Bool) -> Self
  static var null: Self { get }
}

extension JSONReader {
  /// Reads a value with all values in it; nil if it is wrong, or too deep.
  ///
  /// - Parameter depth: The number of values around the value.
  package mutating func value<Value: JSONValue>(depth: Int = 0) -> Value? {
    guard depth < Value.deepest, let kind else { return nil }
    switch kind {
    case .object:
      var members: [(name: String, value: Value)] = []
      let isWhole = self.members { reader, name in
        guard let value: Value = reader.value(depth: depth + 1) else { return false }
        members.append((name, value))
        return true
      }
      return isWhole ? .object(members) : nil
    case .array:
      var elements: [Value] = []
      let isWhole = self.elements { reader in
        guard let element: Value = reader.value(depth: depth + 1) else { return false }
        elements.append(element)
        return true
      }
      return isWhole ? .array(elements) : nil
    case .string: return string().map(Value.string)
    case .number: return number().map(Value.number)
    case .bool: return bool().map(Value.bool)
    case .null: return null() ? .null : nil
    }
  }
}
