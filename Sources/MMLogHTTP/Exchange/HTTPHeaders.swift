/// The header fields of a request or a response, as an ``HTTPLog`` takes them.
///
/// ```swift
/// let exchange = http.begin(method: "GET", url: "/", headers: ["accept": "application/json"])
/// ```
public struct HTTPHeaders: ExpressibleByDictionaryLiteral, Sendable {
  /// The fields in their order. A name may occur several times.
  public var fields: [(name: String, value: String)]

  /// Takes fields in their order.
  ///
  /// - Parameter fields: Names and values.
  public init(_ fields: some Sequence<(name: String, value: String)>) {
    self.fields = Array(fields)
  }

  /// Takes fields, and sorts them by name.
  ///
  /// - Parameter fields: Values by name.
  public init(_ fields: [String: String]) {
    // Each dictionary has an order of its own. In one order, records share the names.
    self.fields = fields.map { (name: $0.key, value: $0.value) }.sorted { $0.name < $1.name }
  }

  /// Takes a dictionary literal. Called by the compiler.
  public init(dictionaryLiteral elements: (String, String)...) {
    fields = elements.map { (name: $0.0, value: $0.1) }
  }
}

extension HTTPHeaders: CustomStringConvertible {
  /// Names and values, as a dictionary shows them. A ``Redactor`` finds the values that are secret.
  public var description: String {
    let pairs = fields.map { "\($0.name): \($0.value.debugDescription)" }
    return "[" + pairs.joined(separator: ", ") + "]"
  }
}
