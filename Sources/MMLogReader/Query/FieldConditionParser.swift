import MMLogFormat
import MMLogStorage

/// Reads a ``FieldCondition``.
struct FieldConditionParser {
  typealias Node = FieldCondition.Node
  private let text: [UInt8]
  private let zone: LogTimeZone
  private var position = 0
  private var depth = 0

  /// How deep parentheses and negations may nest: what people type, and no stack overflows.
  private static let deepest = 100

  init(_ text: String, _ zone: LogTimeZone) {
    self.text = Array(text.utf8)
    self.zone = zone
  }

  mutating func parse() throws(FieldCondition.Invalid) -> Node {
    let node = try any()
    guard isAtEnd else {
      let start = position
      let advice = Self.operatorsElsewhere.first { $0.isWord ? takeWord($0.text) : take($0.text) }
      throw wrong(
        advice?.advice ?? "a condition ends here, or goes on with && or ||", at: start)
    }
    return node
  }

  /// Operators of other languages that stand where && or || would.
  private static let operatorsElsewhere: [(text: String, isWord: Bool, advice: String)] = [
    ("and", true, "'and' is written &&"), ("or", true, "'or' is written ||"),
    ("not", true, "'not' is written !, before what it is about"),
    ("is", true, "'is' is written =="),
    ("like", true, "a text is found by ~ 'text'"),
    ("contains", true, "a text is found by ~ 'text'"),
    ("matches", true, "an expression is found by ~ 'expression'"),
    ("between", true, "'between' is written with >= and <="), ("&", false, "'and' is written &&"),
    ("|", false, "'or' is written ||"), (")", false, "there is no ( before this )"),
  ]

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
    for (text, advice) in Self.comparisonsElsewhere where isNext(text) { throw wrong(advice) }
    if take("!~") { return .find(field, try pattern(for: field), isNot: true) }
    if take("~") { return .find(field, try pattern(for: field), isNot: false) }
    for comparison in FieldCondition.Comparison.allCases where take(comparison.rawValue) {
      return try compare(field, comparison)
    }
    if isNext("=") { throw wrong("equality is ==") }
    if takeWord("in") { return .any(try list()) }
    if case .named("not", _) = field, let peek, Self.isOfWord(peek) || "\"'@(".utf8.contains(peek) {
      throw wrong("'not' is written !, before what it is about")
    }
    return .exists(field)

    func list() throws(FieldCondition.Invalid) -> [Node] {
      guard take("(") else { throw wrong("after in comes a list such as (1, 2)") }
      var nodes = [try compare(field, .equal)]
      while take(",") { nodes.append(try compare(field, .equal)) }
      guard take(")") else { throw wrong("the list ends with )") }
      return nodes
    }
  }

  private static let comparisonsElsewhere = [
    ("=~", "an expression is found by ~"), ("===", "equality is =="), ("=<", "at most is <="),
    ("=>", "at least is >="), ("<>", "inequality is !="),
  ]

  private mutating func compare(
    _ field: FieldCondition.Field, _ comparison: FieldCondition.Comparison
  ) throws(FieldCondition.Invalid) -> Node {
    let operand = try operand(of: field)
    switch (field, operand) {
    case (.record(let own), .whole), (.record(let own), .real):
      return .compare(.record(own.byNumber), comparison, operand)
    case (_, .beginning) where comparison != .equal && comparison != .unequal:
      throw wrong("@session is compared by == and !=")
    default: return .compare(field, comparison, operand)
    }
  }

  private mutating func field() throws(FieldCondition.Invalid) -> FieldCondition.Field {
    if take("@") {
      let start = position
      let name = word()
      guard let field = FieldCondition.RecordField(rawValue: name) else {
        let names = FieldCondition.RecordField.allCases.map(\.name)
        throw wrong(
          "after @ comes one of \(names.joined(separator: ", "))", at: start - 1,
          unknown: ("@\(name)", names))
      }
      return .record(field)
    }
    let quoted = try quotedText()
    let name = quoted.map { String(decoding: $0, as: UTF8.self) } ?? word()
    guard !name.isEmpty else { throw wrong("the name of a field is expected") }
    return .named(name, path: quoted == nil ? name.split(separator: ".").map(String.init) : [name])
  }

  private mutating func pattern(
    for field: FieldCondition.Field
  ) throws(FieldCondition.Invalid) -> TextPattern {
    if case .record(let own) = field, !own.isText {
      throw wrong("\(own.name) has no text; it is compared by ==, !=, <, <=, > and >=")
    }
    passSpaces()
    let start = position
    guard let bytes = try quotedText() else {
      throw wrong("after ~ comes a regular expression in quotes")
    }
    do {
      return try TextPattern(String(decoding: bytes, as: UTF8.self))
    } catch {
      throw wrong(error.description, at: start)
    }
  }

  private mutating func operand(
    of field: FieldCondition.Field
  ) throws(FieldCondition.Invalid) -> FieldCondition.Operand {
    passSpaces()
    let start = position
    if let bytes = try quotedText() {
      let text = String(decoding: bytes, as: UTF8.self)
      return try operand(ofRecordIn: field, text, at: start) ?? .text(bytes)
    }
    let word = word(of: field)
    if let operand = try operand(ofRecordIn: field, word, at: start) { return operand }
    switch word {
    case "true": return .bool(true)
    case "false": return .bool(false)
    case "nil", "null": return .null
    case "": throw wrong("a value is expected: a number, a text in quotes, true, false or nil")
    default: break
    }
    if let number = FieldCondition.Operand(number: Array(word.utf8)) { return number }
    if case .record(let own) = field, own.isText { return .text(Array(word.utf8)) }
    return try quantity(word, of: field, at: start)
  }

  /// An operand of a special kind; nil for one that is compared as in other fields.
  private func operand(
    ofRecordIn field: FieldCondition.Field, _ text: String, at start: Int
  ) throws(FieldCondition.Invalid) -> FieldCondition.Operand? {
    guard case .record(let own) = field, text != "nil", text != "null" else { return nil }
    switch own {
    case .level:
      // No record has the level off.
      if let level = Level(usualName: text) { return .level(level) }
      let names = Level.allCases.map(\.description)
      throw wrong(
        "@level is compared with one of " + names.joined(separator: ", "), at: start,
        unknown: (text, names))
    case .time:
      if let time = timeArgument(text, zone: zone, now: .now) {
        return .whole(Int128(time.nanosecondsSince1970))
      }
      throw wrong(
        "@time is compared with a time such as '15:00', 15m or 2026-11-21T09:00:00Z", at: start)
    case .duration:
      if let nanoseconds = Quantity(text)?.nanoseconds {
        return FieldCondition.Operand(nanoseconds)
      }
      throw wrong("@duration is compared with a duration such as 250us, 10ms or 1.5s", at: start)
    case .session:
      let id = text.lowercased().utf8.filter { $0 != 0x2D }
      if (1...32).contains(id.count), id.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) {
        return .beginning(id)
      }
      throw wrong(
        "@session is compared with the first hexadecimal digits of an id, such as '3f0e5a7c'",
        at: start)
    case .span, .trace:
      guard !text.isEmpty else { return nil }
      return .text(Array(text.lowercased().utf8))
    case .label, .message, .thread, .threadID, .process, .processID, .file, .line, .function,
      .spanName:
      return nil
    }
  }

  /// A number with a unit, converted to the unit that the field has.
  private func quantity(
    _ word: String, of field: FieldCondition.Field, at start: Int
  ) throws(FieldCondition.Invalid) -> FieldCondition.Operand {
    guard let quantity = Quantity(word) else {
      throw wrong("'\(word)' is no number; a text stands in quotes", at: start)
    }
    guard case .named(let name, _) = field else {
      throw wrong("\(word) has a unit, which this is not counted in", at: start)
    }
    if let number = quantity.number(inUnitOf: name) { return FieldCondition.Operand(number) }
    throw wrong(
      quantity.nanoseconds == nil
        ? "'\(name)' is no size by its name; compare it with a number"
        : "'\(name)' does not end in its unit, as elapsed_ms does; compare it with a number",
      at: start)
  }

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

  private mutating func isNext(_ token: String) -> Bool {
    passSpaces()
    return text[position...].starts(with: token.utf8)
  }

  private mutating func takeWord(_ expected: String) -> Bool {
    let start = position
    if word() == expected { return true }
    position = start
    return false
  }

  /// A value without quotes: a time has colons, and a file slashes.
  private mutating func word(of field: FieldCondition.Field) -> String {
    switch field {
    case .record(.time): word(with: "+:@")
    case .record(.file): word(with: "+/")
    default: word(with: "+")
    }
  }

  /// Letters, digits, `_`, `-`, `.`, everything that is not ASCII, and other characters.
  private mutating func word(with others: String = "") -> String {
    passSpaces()
    let start = position
    while position < text.count,
      Self.isOfWord(text[position]) || others.utf8.contains(text[position])
    {
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

  private func wrong(
    _ what: String, at place: Int? = nil, unknown: (word: String, names: [String])? = nil
  ) -> FieldCondition.Invalid {
    let rest = String(
      decoding: text[min(place ?? position, text.count)...].prefix(20), as: UTF8.self)
    let place = rest.isEmpty ? "at its end" : "before '\(rest)'"
    return FieldCondition.Invalid(
      description:
        "'\(String(decoding: text, as: UTF8.self))' is not a condition \(place): \(what)",
      unknown: unknown)
  }
}

extension FieldCondition.Operand {
  /// Reads a whole or a real number, as Swift writes them; nil for anything else.
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
  /// Makes a whole number if the number is one.
  fileprivate init(_ number: Double) {
    self = Int64(exactly: number).map { .whole(Int128($0)) } ?? .real(number)
  }
}
