import MMLogReader

/// Picks the records that are found, and so many before and after each.
struct ContextSelection {
  private let filter: LogReader.Filter
  private let count: Int
  /// The last records that were not picked, at most ``count``.
  private var before: [LogReader.Record] = []
  /// How many after the last one found are still to be picked.
  private var after = 0
  private var hasPicked = false
  private var hasSkipped = false
  /// Whether what was given last does not follow what was given before it.
  private(set) var isApart = false

  init(_ filter: LogReader.Filter, _ count: Int) {
    self.filter = filter
    self.count = count
  }

  /// Takes the next record, and gives those that are picked now.
  mutating func take(_ record: LogReader.Record) -> [LogReader.Record] {
    isApart = false
    guard filter.matchesContent(of: record) else { return pass(record) }
    let picked = before + [record]
    isApart = hasPicked && hasSkipped
    (before, after, hasPicked, hasSkipped) = ([], count, true, false)
    return picked
  }

  private mutating func pass(_ record: LogReader.Record) -> [LogReader.Record] {
    if after > 0 {
      after -= 1
      return [record]
    }
    if before.count == count {
      before.removeFirst()
      hasSkipped = true
    }
    before.append(record)
    return []
  }
}
