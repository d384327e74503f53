import MMLogFormat

extension Level {
  /// The level of a name that people have for it from elsewhere.
  package init?(usualName name: String) {
    let lower = name.lowercased()
    let known = Level.allCases.first { $0.description == lower }
    guard let level = known ?? Self.usualNames[lower] else { return nil }
    self = level
  }

  private static let usualNames: [String: Level] = [
    "verbose": .trace, "all": .trace, "dbg": .debug, "information": .info, "inf": .info,
    "warn": .warning, "wrn": .warning, "err": .error, "severe": .error, "fatal": .critical,
    "crit": .critical, "note": .notice, "fault": .critical, "alert": .critical, "emerg": .critical,
    "emergency": .critical, "panic": .critical,
  ]
}
