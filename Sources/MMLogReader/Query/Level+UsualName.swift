import MMLogFormat

extension Level {
  /// The level of a name that people have for it from elsewhere.
  package init?(usualName name: String) {
    guard let level = Self.usualNames[name.lowercased()] else { return nil }
    self = level
  }

  /// The levels by all their names in lower case: ours, and those of other loggers.
  package static let usualNames: [String: Level] = names.merging(
    Level.allCases.map { ($0.description, $0) }
  ) { $1 }

  private static let names: [String: Level] = [
    "verbose": .trace, "all": .trace, "dbg": .debug, "information": .info, "inf": .info,
    "warn": .warning, "wrn": .warning, "err": .error, "severe": .error, "fatal": .critical,
    "crit": .critical, "note": .notice, "fault": .critical, "alert": .critical, "emerg": .critical,
    "emergency": .critical, "panic": .critical,
  ]
}
