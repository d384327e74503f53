public import MMLogFormat

/// Which records a ``LogReader`` gives. What is not a record is given in any case.
public struct LogFilter: Sendable {
  /// The least level; default: all.
  public var minimumLevel = Level.trace
  /// The earliest time, in nanoseconds since 1970; default: no limit.
  public var since: Int64?
  /// The time from which on none is wanted, in nanoseconds since 1970; default: no limit.
  public var until: Int64?

  /// Makes a filter that passes everything.
  public init() {}

  func passes(level: Level) -> Bool { level >= minimumLevel }

  func passes(time: Int64) -> Bool {
    if let since, time < since { return false }
    if let until, time >= until { return false }
    return true
  }

  /// False for a frame that has no record that passes: it need not be decompressed.
  func mayPass(_ frame: RecordSummary) -> Bool {
    if let since, frame.lastWall < since { return false }
    if let until, frame.firstWall >= until { return false }
    // A level that no one knows counts as the highest.
    return frame.levels >> minimumLevel.rawValue != 0
  }
}
