/// A level for all labels that a pattern matches.
public struct LevelRule: Hashable, Sendable, CustomStringConvertible {
  /// A label, in which `*` stands for any bytes and `?` for any one.
  public let pattern: String
  /// The lowest level that is recorded.
  public let level: Level

  /// Makes a rule.
  ///
  /// - Parameters:
  ///   - level: The lowest level that is recorded.
  ///   - pattern: A label, in which `*` stands for any bytes and `?` for any one.
  package init(_ level: Level, for pattern: String) {
    self.level = level
    self.pattern = pattern
  }

  /// As ``list(_:)`` reads it: `db.*=debug`.
  public var description: String { "\(pattern)=\(level)" }

  /// Reads `db.*=debug,*=info`. A level alone is for all labels.
  ///
  /// - Returns: The rules, and each part that is none.
  package static func list(_ text: String) -> (rules: [LevelRule], wrong: [String]) {
    var (rules, wrong) = ([LevelRule](), [String]())
    for part in parts(text) {
      if let level = Level(name: part.level) {
        rules.append(LevelRule(level, for: part.pattern))
      } else {
        wrong.append(part.text)
      }
    }
    return (rules, wrong)
  }

  /// The parts of a list, each taken apart at its last `=`. Spaces around them do not count, nor
  /// does what is empty.
  package static func parts(_ text: String) -> [(pattern: String, level: String, text: String)] {
    text.split(separator: ",").map(trimmed).filter { !$0.isEmpty }.map { part in
      guard let sign = part.lastIndex(of: "=") else { return ("*", part, part) }
      return (trimmed(part[..<sign]), trimmed(part[part.index(after: sign)...]), part)
    }
  }

  private static func trimmed(_ text: Substring) -> String {
    let rest = text.drop { $0.isWhitespace }
    return String(rest.prefix(rest.count - rest.reversed().prefix { $0.isWhitespace }.count))
  }
}

extension Sequence<LevelRule> {
  /// The level for a label among rules that were given together: that of the most particular
  /// pattern, which has the most bytes that stand for themselves; of equal ones, the last. Nil if
  /// none matches.
  package func level(of label: String) -> Level? {
    var best: (level: Level, count: Int)?
    for rule in self {
      let glob = Glob(rule.pattern)
      let count = glob.literalCount
      if count >= best?.count ?? 0, glob.matches(label) { best = (rule.level, count) }
    }
    return best?.level
  }
}
