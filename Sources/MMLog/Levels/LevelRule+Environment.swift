import MMLogFormat
import MMLogStorage
import MMLogSystem

extension LevelRule {
  /// The environment variable that sets levels.
  private static let variable = "MMLOG_LEVEL"

  /// The rules of the environment variable `MMLOG_LEVEL`, and an error for each part that is no
  /// rule.
  static func environmentRules() -> ([LevelRule], [LogError]) {
    let (rules, wrong) = list(CurrentProcess.variable(variable) ?? "")
    return (rules, wrong.map(error(of:)))
  }

  private static func error(of text: String) -> LogError {
    LogError(
      .invalidConfiguration,
      "\(variable) has '\(text)', which is passed over: it takes PATTERN=LEVEL,… such as "
        + "db.*=debug,*=info, with the levels \(Level.namesInRules).")
  }
}
