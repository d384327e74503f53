import MMLogFormat

/// A line as a user wants it: text with names, in whose place values are put.
///
///     {time} {level:-8} {label}: {message} {fields.user}
///
/// | name | what it stands for |
/// | - | - |
/// | `time`, `date`, `clock` | RFC 3339; its date; its time of day, with nine digits of a second |
/// | `unix` | nanoseconds since 1970 |
/// | `level`, `LEVEL` | its name; in capitals |
/// | `label`, `message`, `file`, `line`, `function` | |
/// | `place` | file and line: `App/Main.swift:7` |
/// | `fields` | named arguments and metadata, as `name=value`, a space before each |
/// | `fields.NAME` | the value of one of them; nothing if there is none |
/// | `thread` | its name, or its id if it has none |
/// | `thread_id`, `thread_ordinal` | |
/// | `flight` | `flight` for a flight record; nothing for others |
/// | `span`, `trace` | the number of the span, and the id of the trace, that it belongs to |
/// | `span_event`, `parent_span` | of what begins or ends a span: `begin` or `end`; what it is a part of |
/// | `span_name` | of what begins or ends a span: the message of its beginning, without its arguments |
/// | `span_failed` | `failed` for the end of a span that failed; nothing for others |
/// | `duration`, `duration_ns` | of what ends a span: how long it took, as `1.234 ms`; in nanoseconds |
/// | `id` | the record's name, which no other has; nothing if it is in no archive yet |
/// | `service`, `process`, `pid`, `host`, `session` | |
///
/// `{name:N}` puts spaces before the value, up to N characters; `{name:-N}` puts them behind it.
/// `{{` and `}}` are braces; `\n`, `\t` and `\\` are a line end, a tab and a backslash. A line end
/// follows each record. Control characters in values are escaped, as ``TextFormatter`` does.
public struct TextTemplate: Sendable {
  enum Name: String, CaseIterable {
    case time, date, clock, unix, level, LEVEL, label, message, file, line, function, place, fields
    case thread, thread_name, thread_id, thread_ordinal, service, process, pid, host, session
    case flight
    case id, span, trace, span_event, span_name, span_failed, parent_span, duration, duration_ns
    // As JSON calls them.
    case severity_number, body_base64, trace_flags, start_time_unix_nano, cut, unterminated
  }

  enum Element {
    case text([UInt8])
    case name(Name, Alignment)
    case field(String, Alignment)
  }

  /// What is wrong with a template: a sentence without capital letter and full stop.
  public struct Invalid: Error, Equatable, CustomStringConvertible {
    /// The sentence.
    public let description: String
  }

  let elements: [Element]

  /// Reads a template.
  ///
  /// - Throws: what is wrong with the template, and what would be right.
  public init(_ text: String) throws(Invalid) {
    var parser = TemplateParser(rest: text[...])
    elements = try parser.parse()
  }
}

/// Reads a template once.
private struct TemplateParser {
  var rest: Substring
  private var elements: [TextTemplate.Element] = []
  private var literal: [UInt8] = []

  init(rest: Substring) { self.rest = rest }

  mutating func parse() throws(TextTemplate.Invalid) -> [TextTemplate.Element] {
    while let character = rest.popFirst() {
      switch character {
      case "{" where take("{"): literal.append(UInt8(ascii: "{"))
      case "{": try placeholder()
      case "}" where take("}"): literal.append(UInt8(ascii: "}"))
      case "}": throw invalid("a '}' has no '{' before it; write '}}' for a brace")
      case "\\": try escape()
      default: literal += Array(String(character).utf8)
      }
    }
    endLiteral()
    return elements
  }

  private mutating func take(_ character: Character) -> Bool {
    guard rest.first == character else { return false }
    rest.removeFirst()
    return true
  }

  private mutating func escape() throws(TextTemplate.Invalid) {
    switch rest.popFirst() {
    case "n": literal.append(0x0A)
    case "t": literal.append(0x09)
    case "\\": literal.append(0x5C)
    default: throw invalid("after a backslash stands n, t or another backslash")
    }
  }

  private mutating func placeholder() throws(TextTemplate.Invalid) {
    guard let end = rest.firstIndex(of: "}") else {
      throw invalid("a '{' has no '}' behind it; write '{{' for a brace")
    }
    let inside = rest[..<end]
    rest = rest[rest.index(after: end)...]
    endLiteral()
    let parts = inside.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let alignment = try parts.count > 1 ? alignment(parts[1]) : Alignment(0)
    elements.append(try element(parts.first ?? "", alignment))
  }

  private func element(
    _ name: Substring, _ alignment: Alignment
  ) throws(TextTemplate.Invalid) -> TextTemplate.Element {
    if name.hasPrefix("fields."), name.utf8.count > 7 {
      return .field(String(name.dropFirst(7)), alignment)
    }
    guard let known = TextTemplate.Name(rawValue: String(name)) else {
      let names = TextTemplate.Name.allCases.map(\.rawValue).joined(separator: ", ")
      throw invalid("there is no '{\(name)}'; there are \(names), fields.NAME")
    }
    return .name(known, alignment)
  }

  private func alignment(_ text: Substring) throws(TextTemplate.Invalid) -> Alignment {
    guard let columns = Int(text), (1...1000).contains(columns.magnitude), text.first != "+"
    else {
      throw invalid("'\(text)' is no width; write {name:8} or {name:-8}, up to 1000")
    }
    // The alignment as a word of a call site has it (FORMAT.md, 6).
    return Alignment(UInt64(columns < 0 ? 1 : 2) | UInt64(columns.magnitude) << 8)
  }

  private mutating func endLiteral() {
    if !literal.isEmpty { elements.append(.text(literal)) }
    literal = []
  }

  private func invalid(_ text: String) -> TextTemplate.Invalid {
    TextTemplate.Invalid(description: "in the template, \(text)")
  }
}
