import MMLogFormat

/// The levels as a line of text has them: in capitals, in one width, in colors.
struct LevelStyle {
  let colors: Bool

  @inline(__always)
  func append(_ level: Level, to output: inout TextBuffer) {
    if colors { return appendColored(level, to: &output) }
    output.append(" ")
    output.append(Self.padded(level))
  }

  private func appendColored(_ level: Level, to output: inout TextBuffer) {
    output.append(" ")
    output.append(SGR.color(of: level))
    output.append(text: level.description.uppercased())
    output.append(SGR.reset)
    output.append(UInt8(ascii: " "), count: 9 - level.description.utf8.count)
  }

  /// As wide as the longest, and a space.
  private static func padded(_ level: Level) -> StaticString {
    switch level {
    case .trace: "TRACE    "
    case .debug: "DEBUG    "
    case .info: "INFO     "
    case .notice: "NOTICE   "
    case .warning: "WARNING  "
    case .error: "ERROR    "
    case .critical, .off: "CRITICAL "
    }
  }
}
