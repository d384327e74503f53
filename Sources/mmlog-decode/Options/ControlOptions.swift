import CommandLineTool
import MMLogFormat

/// What running processes are asked for.
let controlOptions: [Option] = [.setLevel, .duration, .levels, .capture]

/// What one `--set-level` asks for.
struct LevelChange {
  /// The rules to be added.
  var rules: [LevelRule] = []
  /// The patterns whose rules are taken back.
  var takenBack: Set<String> = []
  /// Whether all that was there before is taken back.
  var takesBackAll = false

  /// Reads the rules of the command line.
  init(_ text: String) throws(UsageError) {
    for part in LevelRule.parts(text) {
      if let level = Level(name: part.level) {
        rules.append(LevelRule(level, for: part.pattern))
      } else if part.level == "default" {
        takenBack.insert(part.pattern)
        if part.pattern == part.text || part.text == "default" { takesBackAll = true }
      } else {
        throw UsageError(
          "'\(part.text)' sets no level; --set-level takes PATTERN=LEVEL,… such as "
            + "'db.*=debug', or PATTERN=default"
        )
      }
    }
    if rules.isEmpty && takenBack.isEmpty {
      throw UsageError(
        "--set-level '\(text)' asks for nothing; give it PATTERN=LEVEL,… or default")
    }
  }
}

extension Arguments {
  /// Refuses what would have no effect.
  func checkAlone(_ option: Option) throws(UsageError) {
    let others =
      inputOptions + filterOptions + zoneOptions + outputOptions + fileJobOptions + pruneOptions
    for other in others where isSet(other) {
      throw UsageError(
        "--\(option.long) prints no records, so that --\(other.long) has no meaning; leave it away")
    }
    if operands.isEmpty { throw UsageError("PATH is missing; name one") }
    if operands.contains("-") {
      throw UsageError("--\(option.long) needs directories or rings, not '-'; name one")
    }
  }
}

extension Option {
  static let setLevel = Option(
    "set-level", value: "RULES",
    """
    Print nothing of the log: set levels in the processes that log into PATH now, which are \
    directories or rings. RULES are such as 'db.*=debug,orders=info', in which * and ? stand for \
    any characters; a level alone is for all labels, and the level 'off' lets no record pass. The \
    most particular pattern counts. A process does it within a second. 'db.*=default' takes the \
    rule of a pattern back, 'default' all of them.
    """)
  static let duration = Option(
    "for", value: "TIME",
    """
    With --set-level: go back by itself after TIME, such as 30s, 10m or 2h. Without it the levels \
    hold until they are taken back, or the process ends.
    """)
  static let levels = Option(
    "levels",
    "Print nothing of the log: list the labels of the processes that log into PATH now, with "
      + "their levels."
  )

  static let capture = Option(
    "capture",
    """
    Print nothing of the log: have the processes that log into PATH now move the flight records \
    of the last time into their archives, as a record of their captureLevel does.
    """)
}
