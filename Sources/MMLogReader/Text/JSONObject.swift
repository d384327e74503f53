import MMLogFormat

/// A JSON object that is put together name by name; nil values are left out.
package struct JSONObject {
  private var members: [String] = []

  /// Makes an object without members.
  package init() {}

  /// The object's text.
  package var text: String { "{" + members.joined(separator: ",") + "}" }

  /// The text of an array.
  package static func array(_ elements: some Sequence<String>) -> String {
    "[" + elements.joined(separator: ",") + "]"
  }

  /// Adds a text.
  package mutating func add(_ name: String, _ text: String?) {
    add(name, json: text.map(Self.text(of:)))
  }

  /// Adds a whole number.
  package mutating func add(_ name: String, _ number: (some BinaryInteger)?) {
    add(name, json: number.map { "\($0)" })
  }

  /// Adds a time: as RFC 3339 has it, and in nanoseconds since 1970.
  package mutating func add(
    _ name: String, _ time: Timestamp?, _ formatter: inout TimeFormatter
  ) {
    guard let time else { return }
    add(name, formatter.text(of: time))
    add("\(name)_unix_nano", time.nanosecondsSince1970)
  }

  /// Adds a text that is already JSON.
  package mutating func add(_ name: String, json: String?) {
    if let json { members.append("\(Self.text(of: name)):\(json)") }
  }

  /// Adds what a formatter would print about a session.
  package mutating func add(_ session: LogReader.Session) {
    var buffer = TextBuffer()
    JSONFormatter.append(session, to: &buffer)
    // A comma stands before the first name.
    members.append(buffer.withUnsafeBytes { String(decoding: $0.dropFirst(), as: UTF8.self) })
  }

  /// A text as JSON has it, in quotation marks.
  package static func text(of string: String) -> String {
    var buffer = TextBuffer(capacity: string.utf8.count + 2)
    buffer.append(json: string)
    return buffer.text()
  }
}
