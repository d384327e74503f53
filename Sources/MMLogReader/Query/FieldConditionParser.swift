import MMLogFormat

/// Reads a ``FieldCondition``.
struct FieldConditionParser {
  typealias Node = FieldCondition.Node
  private let text: [UInt8]
  private var position = 0
  private var depth = 0

  /// How deep parentheses and negations may nest: what a person types, and no stack overflows.
  private static let deepest = 100

  init(_ text: String) { self.text = Array(text.utf8) }

  mutating func parse() throws(FieldCondition.Invalid) -> Node {
    let node = try any()
    guard isAtEnd else { throw wrong("a condition ends here, or goes on with && or ||") }
    return node
  }

  // MARK: - Grammar

  private mutating func any() throws(FieldCondition.Invalid) -> Node {
    var nodes = [try all()]
    while take("||") { nodes.append(try all()) }
    return nodes.count == 1 ? nodes[0] : .any(nodes)
  }

  private mutating func all() throws(FieldCondition.Invalid) -> Node {
    var nodes = [try term()]
    while take("&&") { nodes.append(try term()) }
    return nodes.count == 1 ? nodes[0] : .all(nodes)
  }

  private mutating func term() throws(FieldCondition.Invalid) -> Node {
    depth += 1
    defer { depth -= 1 }
    guard depth <= Self.deepest else { throw wrong("fewer parentheses would do: at most 100") }
    if take("!") { return .not(try term()) }
    guard take("(") else { return try comparison() }
    let node = try any()
    guard take(")") else { throw wrong("a ) is missing") }
    return node
  }

  private mutating func comparison() throws(FieldCondition.Invalid) -> Node {
    let field = try field()
    if take("!~") { return .find(field, try pattern(), isNot: true) }
    if take("~") { return .find(field, try pattern(), isNot: false) }
    for comparison in FieldCondition.Comparison.allCases where take(comparison.rawValue) {
      return .compare(field, comparison, try operand(of: field))
    }
    if peek == UInt8(ascii: "=") { throw wrong("equality is ==") }
    if takeWord("in") { return .any(try list().map { .compare(field, .equal, $0) }) }
    return .exists(field)

    func list() throws(FieldCondition.Invalid) -> [FieldCondition.Operand] {
      guard take("(") else { throw wrong("after in comes a list such as (1, 2)") }
      var operands = [try operand(of: field)]
      while take(",") { operands.append(try operand(of: field)) }
      guard take(")") else { throw wrong("the list ends with )") }
      return operands
    }
  }

  private mutating func field() throws(FieldCondition.Invalid) -> FieldCondition.Field {
    if take("@") {
      let name = word()
      guard let field = FieldCondition.RecordField(rawValue: name) else {
        let names = FieldCondition.RecordField.allCases.map { "@\($0)" }.joined(separator: ", ")
        throw wrong("after @ comes one of \(names)")
      }
      return .record(field)
    }
    let quoted = try quotedText()
    let name = quoted.map { String(decoding: $0, as: UTF8.self) } ?? word()
    guard !name.isEmpty else { throw wrong("the name of a field is expected") }
    return .named(name, path: quoted == nil ? name.split(separator: ".").map(String.init) : [name])
  }

  private mutating func pattern() throws(FieldCondition.Invalid) -> TextPattern {
    guard let bytes = try quotedText() else {
      throw wrong("after ~ comes a regular expression in quotes")
    }
    do {
      return try TextPattern(String(decoding: bytes, as: UTF8.self))
    } catch {
      throw FieldCondition.Invalid(description: error.description)
    }
  }

  private mutating func operand(
    of field: FieldCondition.Field
  ) throws(FieldCondition.Invalid) -> FieldCondition.Operand {
    if let bytes = try quotedText() {
      if field == .record(.level) {
        return .level(try level(String(decoding: bytes, as: UTF8.self), at: nil))
      }
      return .text(bytes)
    }
    let start = position
    let word = word(signed: true)
    if field == .record(.level) {
      return .level(try level(word, at: start))
    }
    switch word {
    case "true": return .bool(true)
    case "false": return .bool(false)
    case "nil", "null": return .null
    case "": throw wrong("a value is expected: a number, a text in quotes, true, false or nil")
    default:
      guard let number = FieldCondition.Operand(number: Array(word.utf8)) else {
        throw wrong("'\(word)' is no number; a text stands in quotes", at: start)
      }
      return number
    }
  }

  private func level(
    _ name: String, at place: Int?
  ) throws(FieldCondition.Invalid) -> Level {
    // No record is off.
    if let level = Level(usualName: name) { return level }
    throw wrong(Self.levels, at: place)
  }

  private static let levels =
    "@level is compared with one of " + Level.allCases.map(\.description).joined(separator: ", ")

  // MARK: - Characters

  private var isAtEnd: Bool {
    mutating get {
      passSpaces()
      return position == text.count
    }
  }

  private var peek: UInt8? {
    mutating get {
      passSpaces()
      return position < text.count ? text[position] : nil
    }
  }

  private mutating func passSpaces() {
    while position < text.count, [0x20, 0x09, 0x0A, 0x0D].contains(text[position]) { position += 1 }
  }

  private mutating func take(_ token: String) -> Bool {
    passSpaces()
    guard text[position...].starts(with: token.utf8) else { return false }
    // `!=` and `!~` are no negation.
    if token == "!", position + 1 < text.count, [0x3D, 0x7E].contains(text[position + 1]) {
      return false
    }
    position += token.utf8.count
    return true
  }

  private mutating func takeWord(_ expected: String) -> Bool {
    let start = position
    if word() == expected { return true }
    position = start
    return false
  }

  /// Letters, digits, `_`, `-`, `.` and everything that is not ASCII; of a number also `+` and `:`.
  private mutating func word(signed: Bool = false) -> String {
    passSpaces()
    let start = position
    while position < text.count, Self.isOfWord(text[position]) || signed && text[position] == 0x2B {
      position += 1
    }
    return String(decoding: text[start..<position], as: UTF8.self)
  }

  private static func isOfWord(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x5F, 0x2D, 0x2E, 0x80...0xFF: true
    default: false
    }
  }

  /// What stands between quotes, if a quote comes next.
  private mutating func quotedText() throws(FieldCondition.Invalid) -> [UInt8]? {
    guard let quote = peek, quote == 0x22 || quote == 0x27 else { return nil }
    let start = position
    position += 1
    var bytes: [UInt8] = []
    while position < text.count {
      var byte = text[position]
      position += 1
      if byte == quote { return bytes }
      if byte == 0x5C, position < text.count, [quote, 0x5C].contains(text[position]) {
        byte = text[position]
        position += 1
      }
      bytes.append(byte)
    }
    throw wrong("a quote is not closed", at: start)
  }

  private func wrong(_ what: String, at place: Int? = nil) -> FieldCondition.Invalid {
    let rest = String(
      decoding: text[min(place ?? position, text.count)...].prefix(20), as: UTF8.self)
    let place = rest.isEmpty ? "at its end" : "before '\(rest)'"
    return FieldCondition.Invalid(
      description: "'\(String(decoding: text, as: UTF8.self))' is not a condition \(place): \(what)"
    )
  }
}

extension FieldCondition.Operand {
  /// A whole or a real number, as Swift writes them; nil for what is none.
  init?(number text: [UInt8]) {
    let text = String(decoding: text, as: UTF8.self)
    if let whole = Int128(text) {
      self = .whole(whole)
    } else if let real = Double(text), !real.isNaN {
      self = .real(real)
    } else {
      return nil
    }
  }
}
