extension Level {
  /// The level that other loggers know by a name, or nil.
  package init?(usualName name: String) {
    guard let level = Self.usualNames[name.lowercased()] else { return nil }
    self = level
  }

  /// The level that a rule for labels names: by any of the level's names, or ``off``. "all" is
  /// none, because somebody may mean all labels by it.
  package init?(inRule name: String) {
    guard let level = Level(name: name) ?? Level(usualName: name), name.lowercased() != "all" else {
      return nil
    }
    self = level
  }

  /// The level names that rules take, for people to read: only our own.
  package static var namesInRules: String {
    (allCases + [.off]).map(\.description).joined(separator: ", ")
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
