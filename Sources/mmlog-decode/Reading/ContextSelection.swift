import MMLogReader

/// How many records before and after each found record are wanted, too.
struct Surroundings: Equatable {
  var before = 0
  var after = 0
}

/// Picks the found records, and so many before and after each.
struct ContextSelection {
  private let filter: LogReader.Filter
  private var searches: [SessionID: ContentSearch] = [:]
  private let surroundings: Surroundings
  /// How many records are still to be found.
  private var budget: Int
  /// The last records that were not picked: as many as are wanted before a found record, and at
  /// most as many again.
  private var before: [LogReader.Record] = []
  /// How many records after the last found one are still to be picked.
  private var after = 0
  private var hasPicked = false
  private var hasSkipped = false
  /// Whether the records that were given last do not follow those given before.
  private(set) var isApart = false

  /// Whether nothing more can be picked.
  var isDone: Bool { budget == 0 && after == 0 }

  init(_ filter: LogReader.Filter, _ surroundings: Surroundings, maximum: Int) {
    (self.filter, self.surroundings, budget) = (filter, surroundings, maximum)
  }

  /// Takes the next record, and returns those that are picked now.
  mutating func take(_ record: LogReader.Record) -> [LogReader.Record] {
    isApart = false
    guard budget > 0, isFound(record) else { return pass(record) }
    budget -= 1
    let picked = Array(before.suffix(surroundings.before)) + [record]
    isApart = hasPicked && (hasSkipped || before.count > surroundings.before)
    (before, after, hasPicked, hasSkipped) = ([], surroundings.after, true, false)
    return picked
  }

  private mutating func isFound(_ record: LogReader.Record) -> Bool {
    let id = record.session.id
    if let search = searches[id] { return search.passes(record) }
    let search = ContentSearch(filter, of: record.session.identity)
    searches[id] = search
    return search.passes(record)
  }

  private mutating func pass(_ record: LogReader.Record) -> [LogReader.Record] {
    if after > 0 {
      after -= 1
      return [record]
    }
    before.append(record)
    if before.count > 2 * surroundings.before {
      before.removeFirst(before.count - surroundings.before)
      hasSkipped = true
    }
    return []
  }
}
