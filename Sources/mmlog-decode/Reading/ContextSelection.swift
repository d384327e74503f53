import MMLogReader

/// How many records before and after each found record are wanted, too.
struct Surroundings: Equatable {
  var before = 0
  var after = 0
}

/// Picks the found records, and those around each of them that are wanted, too.
struct ContextSelection {
  private let filter: LogReader.Filter
  private var searches: [SessionID: ContentSearch] = [:]
  private let surroundings: Surroundings
  /// How many records are still to be found.
  private var budget: Int
  /// The last records that were not picked: as many as are wanted before a found record, and at
  /// most as many again.
  private var before: [LogReader.Record] = []
  /// What these records keep in memory: even a record of a few bytes may keep a frame.
  private var (kept, keptBytes) = (KeptBytes(), 0)
  private static let maximumKeptBytes = 64 << 20
  /// How many records were not picked since the last one that was.
  private var passedCount = 0
  /// How many records after the last found one are still to be picked.
  private var after = 0
  private var hasPicked = false
  /// Whether the records that were given last do not follow those given before.
  private(set) var isApart = false
  /// How many records are missing among those that were given last: they had no room.
  private(set) var missingCount = 0

  /// Whether nothing more can be picked.
  var isDone: Bool { budget == 0 && after == 0 }

  init(_ filter: LogReader.Filter, _ surroundings: Surroundings, maximum: Int) {
    (self.filter, self.surroundings, budget) = (filter, surroundings, maximum)
  }

  /// Takes the next record, and returns those that are picked now.
  mutating func take(_ record: LogReader.Record) -> [LogReader.Record] {
    (isApart, missingCount) = (false, 0)
    guard budget > 0, isFound(record) else { return pass(record) }
    budget -= 1
    let picked = before.suffix(surroundings.before)
    isApart = hasPicked && passedCount > picked.count
    missingCount = min(passedCount, surroundings.before) - picked.count
    (before, kept, keptBytes, passedCount) = ([], KeptBytes(), 0, 0)
    (after, hasPicked) = (surroundings.after, true)
    return picked + [record]
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
    passedCount += 1
    if surroundings.before == 0 { return [] }
    keptBytes += kept.add(record, behind: before.last)
    before.append(record)
    if before.count > 2 * surroundings.before || keptBytes > Self.maximumKeptBytes { makeRoom() }
    return []
  }

  /// Lets go of records that are not wanted any more. If the others keep too much, lets go of their
  /// frames, and of the earliest records.
  private mutating func makeRoom() {
    before.removeFirst(max(0, before.count - surroundings.before))
    if keptBytes <= Self.maximumKeptBytes { return }
    (kept, keptBytes) = (KeptBytes(), 0)
    for record in before { keptBytes += kept.add(record) }
    // Half of it: otherwise the next records would soon need room again.
    if keptBytes <= Self.maximumKeptBytes / 2 { return }
    (kept, keptBytes) = (KeptBytes(), 0)
    var copies: [LogReader.Record] = []
    for copy in before.reversed().lazy.map(\.copy) {
      keptBytes += kept.add(copy)
      if keptBytes > Self.maximumKeptBytes / 2, !copies.isEmpty { break }
      copies.append(copy)
    }
    before = copies.reversed()
  }
}
