/// Translates a regular expression as people write it into one with the same meaning for
/// regcomp(3). Also finds the longest text that every match must have in it: a search for that text
/// is much faster than the expression.
struct PatternTranslation {
  private var reader: PatternReader
  /// The expression as the system reads it.
  private(set) var result = ""
  /// Whether the expression is nothing but ``requiredText``.
  private(set) var isText = true
  private var longest = ""
  private var run = String.UnicodeScalarView()
  /// Where the open groups begin, except those that the translation adds.
  private var openGroups: [Int] = []
  private var hasChoice = false
  /// Whether the last element may be repeated.
  private var canRepeat = false
  /// The number that each group has in ``result``, where added groups are counted, too.
  private(set) var groups: [Int] = []
  private var groupCount = 0

  init(_ pattern: String) { reader = PatternReader(pattern) }

  /// The longest text that every match has; empty if there is none.
  var requiredText: String { hasChoice ? "" : longest }

  /// Translates the whole expression.
  mutating func translate() throws(TextPattern.Invalid) {
    while let next = reader.pop() {
      switch next {
      case "\\": try addEscape()
      case "[":
        let brackets = try PatternBrackets(&reader)
        if brackets.isGroup { groupCount += 1 }
        addSpecial(brackets.text, canRepeat: true)
      case "(": try beginGroup()
      case ")":
        guard openGroups.popLast() != nil else {
          throw reader.refusal(
            #"there is no ( before it; a ) by itself is \)"#, at: reader.position - 1)
        }
        addSpecial(")", canRepeat: true)
      case "|":
        if openGroups.isEmpty { hasChoice = true }
        addSpecial("|")
      case "{": try addBrace()
      case "*", "+", "?": try addRepetition(String(next), at: reader.position - 1)
      case ".": addSpecial(String(next), canRepeat: true)
      case "^", "$": addSpecial(String(next))
      default: add(next)
      }
    }
    if let open = openGroups.last {
      throw reader.refusal(#"this ( has no ); a ( by itself is \("#, at: open)
    }
    endRun()
  }

  // MARK: - One thing

  private mutating func addEscape() throws(TextPattern.Invalid) {
    let start = reader.position - 1
    switch try PatternEscape(&reader, isInBrackets: false) {
    case .character(let scalar): add(scalar)
    case .set(let byteClass, let isNegated):
      addSpecial("[\(isNegated ? "^" : "")\(byteClass.members)]", canRepeat: true)
    case .place(let text): addSpecial(text)
    case .reference(let number):
      guard number <= groups.count, groups[number - 1] <= 9 else {
        throw reader.refusal("there is no group of that number before it", at: start)
      }
      addSpecial("\\\(groups[number - 1])", canRepeat: true)
    }
  }

  private mutating func beginGroup() throws(TextPattern.Invalid) {
    let start = reader.position - 1
    let isCounted = reader.next != "?"
    if !isCounted, !reader.take("?:") { throw refusedGroup(start) }
    groupCount += 1
    if isCounted { groups.append(groupCount) }
    openGroups.append(start)
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

  /// The system refuses a greater count.
  private static let maximumCount = 32767

  /// Adds a count as `{2,3}`; any other brace stands for itself.
  private mutating func addBrace() throws(TextPattern.Invalid) {
    let (rest, start) = (reader, reader.position - 1)
    let minimum = reader.take { ("0"..."9").contains($0) }
    let maximum = reader.take(",") ? reader.take { ("0"..."9").contains($0) } : nil
    guard reader.take("}"), !minimum.isEmpty || !(maximum ?? "").isEmpty else {
      reader = rest
      return add("{")
    }
    let count = { (digits: String) in digits.isEmpty ? 0 : Int(digits) ?? .max }
    let (low, high) = (count(minimum), count(maximum ?? ""))
    guard max(low, high) <= Self.maximumCount, low <= high || (maximum ?? "").isEmpty else {
      throw reader.refusal(
        "a count is at most \(Self.maximumCount), and of two the lower one comes first",
        at: start)
    }
    try addRepetition(
      "{\(minimum.isEmpty ? "0" : minimum)\(maximum.map { ",\($0)" } ?? "")}", at: start)
  }

  /// Adds a sign of repetition. Further signs behind it are passed over, because each would double
  /// the time that the C library takes. Of these, only a star changes whether anything is found.
  private mutating func addRepetition(_ sign: String, at start: Int) throws(TextPattern.Invalid) {
    guard canRepeat else {
      throw reader.refusal(
        "nothing stands before it that it could repeat; by itself it is \\\(sign.prefix(1))",
        at: start)
    }
    let signs = reader.take { "*+?".unicodeScalars.contains($0) }
    let hasStar = signs.contains("*")
    // The character before it may be missing.
    if sign != "+" || hasStar, !run.isEmpty { run.removeLast() }
    addSpecial(
      hasStar && !sign.hasPrefix("{") ? "*" : sign + (hasStar ? "*" : ""), canRepeat: true)
  }

  // MARK: - Writing

  /// Adds a character that stands for itself, with what repeats it.
  private mutating func add(_ scalar: Unicode.Scalar) {
    if openGroups.isEmpty { run.append(scalar) } else { isText = false }
    canRepeat = true
    let text = #"\.[]{}()*+?^$|"#.unicodeScalars.contains(scalar) ? "\\\(scalar)" : String(scalar)
    // A sign of repetition applies to the last byte.
    let isWide = !scalar.isASCII && isRepetition(reader.next)
    if isWide { groupCount += 1 }
    result += isWide ? "(\(text))" : text
  }

  private func isRepetition(_ next: Unicode.Scalar?) -> Bool {
    next.map { "*+?{".unicodeScalars.contains($0) } ?? false
  }

  /// Adds something that is no text.
  private mutating func addSpecial(_ text: String, canRepeat: Bool = false) {
    (isText, self.canRepeat) = (false, canRepeat)
    endRun()
    result += text
  }

  private mutating func endRun() {
    if run.count > longest.unicodeScalars.count { longest = String(run) }
    run = String.UnicodeScalarView()
  }
}
