/// A regular expression as people write it, turned into one that regcomp(3) means the same by, and
/// the longest text that whatever matches must have in it: a search for that is much faster than
/// the expression.
struct PatternTranslation {
  private var reader: PatternReader
  /// As the system reads it.
  private(set) var result = ""
  /// Whether the expression is nothing but ``requiredText``.
  private(set) var isText = true
  private var longest = ""
  private var run = String.UnicodeScalarView()
  /// How many groups are open, those of ours not counted.
  private var depth = 0
  private var hasChoice = false
  /// The number that each group has in ``result``, where ours are counted too.
  private var groups: [Int] = []
  private var groupCount = 0

  init(_ pattern: String) { reader = PatternReader(pattern) }

  /// Empty if there is none.
  var requiredText: String { hasChoice ? "" : longest }

  /// Does the work.
  mutating func translate() throws(TextPattern.Invalid) {
    while let next = reader.pop() {
      switch next {
      case "\\": try addEscape()
      case "[":
        let brackets = try PatternBrackets(&reader)
        if brackets.isGroup { groupCount += 1 }
        addSpecial(brackets.text)
      case "(": try beginGroup()
      case ")":
        addSpecial(")")
        depth = max(0, depth - 1)
      case "|":
        if depth == 0 { hasChoice = true }
        addSpecial("|")
      case "{": addBrace()
      case "*", "+", "?": addRepetition(String(next))
      case ".", "^", "$": addSpecial(String(next))
      default: add(next)
      }
    }
    endRun()
  }

  // MARK: - One thing

  private mutating func addEscape() throws(TextPattern.Invalid) {
    let start = reader.position - 1
    switch try PatternEscape(&reader, isInBrackets: false) {
    case .character(let scalar): add(scalar)
    case .set(let byteClass, let isNegated):
      addSpecial("[\(isNegated ? "^" : "")\(byteClass.members)]")
    case .place(let text): addSpecial(text)
    case .reference(let number):
      guard number <= groups.count, groups[number - 1] <= 9 else {
        throw reader.refusal("there is no group of that number before it", at: start)
      }
      addSpecial("\\\(groups[number - 1])")
    }
  }

  private mutating func beginGroup() throws(TextPattern.Invalid) {
    let start = reader.position - 1
    let isCounted = reader.next != "?"
    if !isCounted, !reader.take("?:") { throw refusedGroup(start) }
    groupCount += 1
    if isCounted { groups.append(groupCount) }
    depth += 1
    addSpecial("(")
  }

  private static let noLookaround =
    "nothing can be said of what is before or behind; say it in another --grep or --where"

  private func refusedGroup(_ start: Int) -> TextPattern.Invalid {
    switch reader.peek(1) {
    case "=", "!": reader.refusal(Self.noLookaround, at: start)
    case "<" where "=!".unicodeScalars.contains(reader.peek(2) ?? " "):
      reader.refusal(Self.noLookaround, at: start)
    case "i":
      reader.refusal("(?i) is unknown; give --grep --ignore-case too, or write [Ee]", at: start)
    default: reader.refusal("(? is unknown; write a group as (a|b)", at: start)
    }
  }

  /// A count as `{2,3}`; any other brace stands for itself.
  private mutating func addBrace() {
    let rest = reader
    let minimum = reader.take { ("0"..."9").contains($0) }
    let maximum = reader.take(",") ? reader.take { ("0"..."9").contains($0) } : nil
    guard reader.take("}"), !minimum.isEmpty || !(maximum ?? "").isEmpty else {
      reader = rest
      return add("{")
    }
    addRepetition("{\(minimum.isEmpty ? "0" : minimum)\(maximum.map { ",\($0)" } ?? "")}")
  }

  /// A sign of repetition. Others behind it are passed over, which the C library would take twice
  /// as long for each; only a star changes whether anything is found.
  private mutating func addRepetition(_ sign: String) {
    let signs = reader.take { "*+?".unicodeScalars.contains($0) }
    let hasStar = signs.contains("*")
    // What stands before it may be missing.
    if sign != "+" || hasStar, !run.isEmpty { run.removeLast() }
    addSpecial(hasStar && !sign.hasPrefix("{") ? "*" : sign + (hasStar ? "*" : ""))
  }

  // MARK: - Writing

  /// A character that stands for itself, with what repeats it.
  private mutating func add(_ scalar: Unicode.Scalar) {
    if depth == 0 { run.append(scalar) } else { isText = false }
    let text = #"\.[]{}()*+?^$|"#.unicodeScalars.contains(scalar) ? "\\\(scalar)" : String(scalar)
    // A sign of repetition means the last byte.
    let isWide = !scalar.isASCII && isRepetition(reader.next)
    if isWide { groupCount += 1 }
    result += isWide ? "(\(text))" : text
  }

  private func isRepetition(_ next: Unicode.Scalar?) -> Bool {
    next.map { "*+?{".unicodeScalars.contains($0) } ?? false
  }

  /// What is no text.
  private mutating func addSpecial(_ text: String) {
    isText = false
    endRun()
    result += text
  }

  private mutating func endRun() {
    if run.count > longest.unicodeScalars.count { longest = String(run) }
    run = String.UnicodeScalarView()
  }
}
