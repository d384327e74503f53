/// A level or a rate limit for all labels that a pattern matches, or a single statement of them.
public struct LevelRule: Hashable, Sendable, CustomStringConvertible {
  /// A label, in which `*` stands for any bytes and `?` for any one.
  public let pattern: String
  /// The lowest level that is recorded.
  public let level: Level
  /// The statement that the rule is about, which is recorded whatever its level is; nil: all are.
  public let statement: Statement?
  /// How often statements are recorded, if the rule is about that; nil: it is not.
  public let limit: RateLimit?

  /// A log statement, by where it is.
  public struct Statement: Hashable, Sendable, CustomStringConvertible {
    /// The source file, or the end of its path: `Book.swift`, `Orders/Book.swift`.
    public let file: String
    /// The line.
    public let line: UInt32

    package init(file: String, line: UInt32) { (self.file, self.line) = (file, line) }

    /// Reads `Book.swift:42`; nil if it is something else.
    package init?(_ text: String) {
      guard let colon = text.lastIndex(of: ":"),
        let line = UInt32(text[text.index(after: colon)...])
      else { return nil }
      self.init(file: String(text[..<colon]), line: line)
      if !isValid { return nil }
    }

    /// Whether there can be such a statement, as far as processes know.
    package var isValid: Bool { line > 0 && (1...Self.longestFile).contains(file.utf8.count) }

    /// What processes have room for, in bytes.
    package static let longestFile = 104

    /// `Book.swift:42`
    public var description: String { "\(file):\(line)" }

    /// Whether a place is that of the statement.
    package func matches(file: String, line: UInt32) -> Bool {
      line == self.line && (file == self.file || file.hasSuffix("/\(self.file)"))
    }
  }

  /// Makes a rule about a single statement.
  package init(_ statement: Statement, of pattern: String = "*") {
    (level, self.pattern, self.statement, limit) = (.trace, pattern, statement, nil)
  }

  /// Makes a rule about how often statements are recorded.
  package init(_ limit: RateLimit, for pattern: String) {
    (level, self.pattern, statement, self.limit) = (.trace, pattern, nil, limit)
  }

  /// Makes a rule.
  ///
  /// - Parameters:
  ///   - level: The lowest level that is recorded.
  ///   - pattern: A label, in which `*` stands for any bytes and `?` for any one.
  package init(_ level: Level, for pattern: String) {
    self.level = level
    self.pattern = pattern
    (statement, limit) = (nil, nil)
  }

  /// Whether it says what the level of labels is.
  package var isOfLevel: Bool { statement == nil && limit == nil }

  /// As ``list(_:)`` reads it: `db.*=debug`, `db.*=100/1s`. Of a statement: `Book.swift:42`.
  public var description: String {
    if let limit { return "\(pattern)=\(limit)" }
    guard let statement else { return "\(pattern)=\(level)" }
    return pattern == "*" ? "\(statement)" : "\(statement) of \(pattern)"
  }

  /// Reads `db.*=debug,*=info,db.*=100/1s`. A level or a limit alone is for all labels.
  ///
  /// - Returns: The rules, and each part that is none.
  package static func list(_ text: String) -> (rules: [LevelRule], wrong: [String]) {
    var (rules, wrong) = ([LevelRule](), [String]())
    for part in parts(text) {
      if let level = Level(inRule: part.level) {
        rules.append(LevelRule(level, for: part.pattern))
      } else if let limit = RateLimit(part.level) {
        rules.append(LevelRule(limit, for: part.pattern))
      } else {
        wrong.append(part.text)
      }
    }
    return (rules, wrong)
  }

  /// The parts of a list, each taken apart at its last `=`. Spaces around them do not count, nor
  /// does what is empty.
  package static func parts(_ text: String) -> [(pattern: String, level: String, text: String)] {
    text.split(separator: ",").map { String($0.trimmed()) }.filter { !$0.isEmpty }.map { part in
      guard let sign = part.lastIndex(of: "=") else { return ("*", part, part) }
      let level = part[part.index(after: sign)...]
      return (String(part[..<sign].trimmed()), String(level.trimmed()), part)
    }
  }
}

extension Sequence<LevelRule> {
  /// The level for a label among rules that were given together: that of the most particular
  /// pattern, which has the most bytes that stand for themselves; of equal ones, the last. Nil if
  /// none matches. Other rules say nothing of that.
  package func level(of label: String) -> Level? {
    mostParticular(for: label, \.isOfLevel)?.level
  }

  /// The rate limit for a label, by the same order.
  package func limit(of label: String) -> RateLimit? {
    mostParticular(for: label) { $0.limit != nil }?.limit
  }

  private func mostParticular(
    for label: String, _ isMeant: (LevelRule) -> Bool
  ) -> LevelRule? {
    var best: (rule: LevelRule, count: Int)?
    for rule in self where isMeant(rule) {
      let glob = Glob(rule.pattern)
      let count = glob.literalCount
      if count >= best?.count ?? 0, glob.matches(label) { best = (rule, count) }
    }
    return best?.rule
  }
}
