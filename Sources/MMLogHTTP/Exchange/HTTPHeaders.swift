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

  /// Takes fields in any order.
  ///
  /// - Parameter fields: Values by name.
  public init(_ fields: [String: String]) {
    self.fields = fields.map { (name: $0.key, value: $0.value) }
  }

  /// Takes a dictionary literal. Called by the compiler.
  public init(dictionaryLiteral elements: (String, String)...) {
    fields = elements.map { (name: $0.0, value: $0.1) }
  }
}
