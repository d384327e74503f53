import MMLogFormat
public import MMLogReader

/// The number of records over time, by level, as bars in a terminal.
///
///     2026-11-21T09:00:00Z     1,204 ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
///     2026-11-21T09:00:05Z        17 ━▪
///
/// Each line is a span of time, wide enough that all lines fit. The length of a bar is proportional
/// to the number of records in its span. Warnings and higher levels are at the end of a bar, each
/// with at least one column. Memory is bounded. For one thread at a time.
public struct LogHistogram {
  private var timestamp: TimeFormatter
  private var buckets = TimeBuckets(maximum: 4096)
  private let rows: Int
  private let columns: Int
  private let colors: Bool

  /// Makes an empty histogram.
  ///
  /// - Parameters:
  ///   - zone: The zone that times are shown in.
  ///   - rows: The maximum number of lines. Fewer than four lines may not suffice if records are
  ///     from before 1970 and from later, or are centuries apart.
  ///   - columns: The maximum width of lines.
  ///   - colors: Whether parts of the bars have their level's color, instead of another character.
  public init(
    zone: LogTimeZone = .local, rows: Int = 40, columns: Int = 80, colors: Bool = false
  ) {
    timestamp = TimeFormatter(zone)
    (self.rows, self.columns, self.colors) = (max(1, rows), columns, colors)
  }

  /// Adds what a reader gave.
  public mutating func add(_ item: LogReader.Item) {
    if case .record(let record) = item { buckets.add(record.time, record.level) }
  }

  /// Whether there were no records.
  package var isEmpty: Bool { buckets.isEmpty }

  /// Appends the histogram's lines.
  public mutating func append(to output: inout TextBuffer) {
    buckets.widen(toSpan: rows)
    let filled = buckets.buckets
    guard let first = filled.keys.min(), let last = filled.keys.max() else {
      return output.append("no records\n")
    }
    let maximum = filled.values.map(\.total).max() ?? 1
    for index in first...last {
      let counts = filled[index] ?? TimeBuckets.Counts(repeating: 0)
      append(buckets.start(of: index), counts, maximum, &output)
    }
    output.append(text: "each line: \(duration(buckets.width)); ")
    if colors {
      appendLegend(&output)
    } else {
      output.append("━ below warning, ▪ warning, ▓ error, █ critical\n")
    }
  }

  /// Appends the levels' names in their colors.
  private func appendLegend(_ output: inout TextBuffer) {
    for level in Level.allCases where level != .off {
      if level != .trace { output.append(", ") }
      output.append(Self.color(of: level))
      output.append(text: level.description)
      output.append(SGR.reset)
    }
    output.append("\n")
  }

  private static func color(of level: Level) -> StaticString {
    level == .critical ? "\u{1b}[35m" : SGR.color(of: level)
  }

  private mutating func append(
    _ start: Timestamp, _ counts: TimeBuckets.Counts, _ maximum: UInt64, _ output: inout TextBuffer
  ) {
    let line = output.count
    // Times are only as exact as a line's span of time is wide.
    output.append(text: timestamp.text(of: start, digits: buckets.width < 1_000_000_000 ? 3 : 0))
    let total = grouped(counts.total)
    output.append(UInt8(ascii: " "), count: max(1, 10 - total.utf8.count))
    output.append(text: total)
    output.append(" ")
    // Nobody looks at a longer bar, and `columns` may be any number.
    let room = min(max(10, columns - (output.count - line)), 1000)
    appendBar(counts, room, maximum, &output)
    output.append("\n")
  }

  /// Every level that has a record gets a column; otherwise, columns are proportional. What the
  /// parts together have in excess, or lack, is taken from the longest part, or given to it.
  private func appendBar(
    _ counts: TimeBuckets.Counts, _ room: Int, _ maximum: UInt64, _ output: inout TextBuffer
  ) {
    func length(of count: UInt64) -> Int { Int(Double(count) / Double(maximum) * Double(room)) }
    let levels = Level.allCases.filter { counts[Int($0.rawValue)] > 0 }
    var lengths = levels.map { max(1, length(of: counts[Int($0.rawValue)])) }
    let whole = max(levels.count, length(of: counts.total))
    while lengths.reduce(0, +) > whole, let longest = lengths.max(),
      let place = lengths.firstIndex(of: longest)
    {
      lengths[place] -= 1
    }
    let missing = whole - lengths.reduce(0, +)
    if let place = lengths.firstIndex(of: lengths.max() ?? 0) { lengths[place] += max(0, missing) }
    for (level, columns) in zip(levels, lengths) {
      if colors { output.append(Self.color(of: level)) }
      for _ in 0..<columns { output.append(colors ? "━" : Self.mark(level)) }
      if colors { output.append(SGR.reset) }
    }
  }

  private static func mark(_ level: Level) -> StaticString {
    switch level {
    case .trace, .debug, .info, .notice: "━"
    case .warning: "▪"
    case .error: "▓"
    case .critical, .off: "█"
    }
  }
}

/// `5 s`, `30 min`, `7 d`
func duration(_ nanoseconds: Int64) -> String {
  let unit = durationUnits.first { nanoseconds >= $0.length && nanoseconds % $0.length == 0 }
  return unit.map { "\(nanoseconds / $0.length) \($0.name)" } ?? "\(nanoseconds) ns"
}

private let durationUnits: [(length: Int64, name: String)] = [
  (86_400_000_000_000, "d"), (3_600_000_000_000, "h"), (60_000_000_000, "min"),
  (1_000_000_000, "s"), (1_000_000, "ms"), (1000, "µs"),
]
