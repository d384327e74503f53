/// A level or a rate limit for all labels that a pattern matches, or a switch for a single
/// statement of them.
public struct LevelRule: Hashable, Sendable, CustomStringConvertible {
  /// A label, in which `*` stands for any bytes and `?` for any one.
  public let pattern: String
  /// The lowest level that is recorded.
  public let level: Level
  /// The statement that the rule turns on, whatever the statement's level; nil: the rule is about
  /// all.
  public let statement: Statement?
  /// How often statements are recorded; nil: the rule is not about that.
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

    /// Whether a process can know such a statement.
    package var isValid: Bool { line > 0 && (1...Self.longestFile).contains(file.utf8.count) }

    /// The longest ``file`` that processes have room for, in bytes.
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

  /// Whether the rule says what the level of labels is.
  package var isOfLevel: Bool { statement == nil && limit == nil }

  /// The rule as ``list(_:)`` reads it: `db.*=debug`, `db.*=100/1s`. For a statement:
  /// `Book.swift:42`.
  public var description: String {
    if let limit { return "\(pattern)=\(limit)" }
    guard let statement else { return "\(pattern)=\(level)" }
    return pattern == "*" ? "\(statement)" : "\(statement) of \(pattern)"
  }

  /// Reads `db.*=debug,*=info,db.*=100/1s`. A level or a limit alone is for all labels.
  ///
  /// - Returns: The rules, and the parts that are no rules.
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

  /// The parts of a list, each split at its last `=`. Spaces around parts are dropped, and so are
  /// empty parts.
  package static func parts(_ text: String) -> [(pattern: String, level: String, text: String)] {
    text.split(separator: ",").map { String($0.trimmed()) }.filter { !$0.isEmpty }.map { part in
      guard let sign = part.lastIndex(of: "=") else { return ("*", part, part) }
      let level = part[part.index(after: sign)...]
      return (String(part[..<sign].trimmed()), String(level.trimmed()), part)
    }
  }
}

extension Sequence<LevelRule> {
  /// The level that rules given together set for a label; nil if none matches. Of the rules that
  /// match, the one whose pattern has the most bytes that stand for themselves counts; of equal
  /// ones, the last. Rules that are not about levels are ignored.
  package func level(of label: String) -> Level? {
    mostParticular(for: label, \.isOfLevel)?.level
  }

  /// The rate limit for a label, chosen in the same way.
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
