/// What can be known of a frame's records without decompressing them.
package struct RecordSummary: Equatable, Sendable {
  package var count: UInt32 = 0
  package var firstTicks: UInt64 = 0
  package var lastTicks: UInt64 = 0
  package var firstWall = Timestamp.zero
  package var lastWall = Timestamp.zero
  /// Bit *l* is set if a record has level *l*.
  package var levels: UInt8 = 0

  package init() {}

  /// `1 row`, `150 rows`: what ``count`` counts, each a record or a fragment of one.
  package var rows: String { "\(count) row\(count == 1 ? "" : "s")" }

  /// Takes in another frame, or the summary of other frames.
  package mutating func add(_ other: RecordSummary) {
    if other.count == 0 { return }
    let isFirst = count == 0
    firstTicks = isFirst ? other.firstTicks : min(firstTicks, other.firstTicks)
    lastTicks = isFirst ? other.lastTicks : max(lastTicks, other.lastTicks)
    firstWall = isFirst ? other.firstWall : min(firstWall, other.firstWall)
    lastWall = isFirst ? other.lastWall : max(lastWall, other.lastWall)
    levels |= other.levels
    let (sum, overflow) = count.addingReportingOverflow(other.count)
    count = overflow ? .max : sum
  }

  /// Takes in one more record.
  package mutating func add(ticks: UInt64, level: Level) {
    firstTicks = count == 0 ? ticks : min(firstTicks, ticks)
    lastTicks = max(lastTicks, ticks)
    levels |= 1 << level.rawValue
    count += 1
  }
}
