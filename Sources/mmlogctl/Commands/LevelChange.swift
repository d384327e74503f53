import CommandLineTool
import MMLogFormat

/// What one `set-level` asks for.
struct LevelChange {
  /// The rules to be added.
  var rules: [LevelRule] = []
  /// The patterns whose rules are taken back.
  var takenBack: Set<String> = []
  /// Whether all earlier rules are taken back.
  var takesBackAll = false

  /// Reads the rules of the command line.
  init(_ text: String) throws(UsageError) {
    for part in LevelRule.parts(text) {
      if let level = Level(inRule: part.level) {
        add(LevelRule(level, for: part.pattern))
      } else if let limit = RateLimit(part.level) {
        add(LevelRule(limit, for: part.pattern))
      } else if part.level == "default" {
        takenBack.insert(part.pattern)
        if part.text == "default" { takesBackAll = true }
      } else {
        throw UsageError(
          "'\(part.level)' is neither a level nor a limit; set-level takes PATTERN=LEVEL,… such as "
            + "'db.*=debug' or 'db.*=100/1s/1000', or PATTERN=default, and the levels "
            + Level.namesInRules
        )
      }
    }
    if rules.isEmpty && takenBack.isEmpty {
      throw UsageError(
        "set-level '\(text)' asks for nothing; give it PATTERN=LEVEL,… or default")
    }
  }

  /// Adds a rule, which takes the place of an earlier one of its kind for the same pattern.
  private mutating func add(_ rule: LevelRule) {
    rules.removeAll { rule.takesPlace(of: $0) }
    rules.append(rule)
  }
}

extension LevelRule {
  /// Whether this rule replaces another one: both are levels for the same pattern, or both limits.
  func takesPlace(of other: LevelRule) -> Bool {
    pattern == other.pattern && isOfLevel == other.isOfLevel
  }
}

extension Option {
  static let duration = Option(
    "for", value: "DURATION",
    """
    End the rules after DURATION, such as 30s, 10m or 2h. Without this option, the rules hold \
    until you end them, or the process ends.
    """)
}
