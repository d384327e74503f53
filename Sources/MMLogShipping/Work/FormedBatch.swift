import MMLogReader

/// A batch that is made: its records, and the range of rows that it stands for.
struct FormedBatch {
  var session: LogReader.Session
  var from: ConsumerState.Progress?
  var to: ConsumerState.Progress
  var records: [LogReader.Records] = []
  private(set) var missing: [Missing] = []
  /// Where edits changed the number of records: by how many (−1: dropped), and the place of the
  /// record that was edited.
  private var changes: [(place: LogReader.Cursor.Place, count: Int)] = []
  /// Whether the batch was on its way before, in this process or another.
  var mayBeRepeat = false
  /// Whether the batch was made again, and ends before the end that it had: it became full, because
  /// the filter lets more records pass now.
  var isCutShort = false
  var count = 0

  init(session: LogReader.Session, from: ConsumerState.Progress?, to: ConsumerState.Progress) {
    (self.session, self.from, self.to) = (session, from, to)
  }

  /// Something that is missing among the records.
  struct Missing {
    let gap: LogBatch.Gap
    /// How many rows are missing, in archives that are gone.
    let rows: Int
    /// The place behind it, where reading goes on.
    let end: LogReader.Cursor.Place
  }

  mutating func add(_ gap: LogBatch.Gap, rows: Int = 0, before end: LogReader.Cursor.Place) {
    missing.append(Missing(gap: gap, rows: rows, end: end))
  }

  /// Notes that `count` records were added to one, or that it was dropped (−1).
  mutating func note(_ count: Int, at id: LogReader.RecordID?) {
    let place = id.map { LogReader.Cursor.Place(archive: $0.archive, frame: $0.frame, row: $0.row) }
    changes.append((place ?? to.next, count))
  }

  /// How many records were dropped on the way, and how many were added.
  var dropped: Int { changes.reduce(0) { $0 - min($1.count, 0) } }
  var added: Int { changes.reduce(0) { $0 + max($1.count, 0) } }

  var gaps: [LogBatch.Gap] { missing.map(\.gap) }

  var isEmpty: Bool { count == 0 && missing.isEmpty }

  /// How many records of an archive the batch was made from, without those that edits and the
  /// transform added, and with those that they dropped.
  func sourceCount(in archive: UInt32) -> Int {
    let count = records.reduce(0) { $1.firstID?.archive == archive ? $0 + $1.count : $0 }
    return changes.reduce(count) { $1.place.archive == archive ? $0 - $1.count : $0 }
  }

  // MARK: - Dividing

  /// Returns two batches with about half the records each; or, of a single record, one with the
  /// record and one with the gaps before it or behind it. Nil if nothing can be divided.
  func halves() -> (FormedBatch, FormedBatch)? {
    var (first, second) = (self, self)
    (first.records, second.records, first.count) = ([], [], 0)
    for records in records {
      let room = count / 2 - first.count
      if room <= 0 {
        second.records.append(records)
      } else if records.count <= room {
        first.records.append(records)
        first.count += records.count
      } else {
        first.records.append(records.prefix(room))
        second.records.append(records.dropFirst(room))
        first.count += room
      }
    }
    second.count = count - first.count
    // Records that came of one record have the same id, and stay together.
    while first.count > 0, let last = first.records.last?.lastID,
      last == second.records.first?.firstID
    {
      first.moveLast(to: &second)
    }
    if first.count == 0 { return gapsApart() }
    guard second.count > 0, let last = first.records.last?.lastID else { return nil }
    first.end(at: behind(last), before: &second)
    return (first, second)
  }

  /// Returns the gaps before the batch's records, and the rest; or, without such gaps, the records,
  /// and the gaps behind them. Nil if the batch does not have both.
  private func gapsApart() -> (FormedBatch, FormedBatch)? {
    guard !missing.isEmpty, let id = records.first?.firstID, let last = records.last?.lastID
    else { return nil }
    var (first, second) = (self, self)
    let next = LogReader.Cursor.Place(archive: id.archive, frame: id.frame, row: id.row)
    if missing.contains(where: { $0.end <= next }) {
      (first.records, first.count) = ([], 0)
      first.end(at: ConsumerState.Progress(next: next, checksum: id.checksum), before: &second)
    } else {
      (second.records, second.count) = ([], 0)
      first.end(at: behind(last), before: &second)
    }
    return (first, second)
  }

  private func behind(_ last: LogReader.RecordID) -> ConsumerState.Progress {
    let next = LogReader.Cursor.Place(archive: last.archive, frame: last.frame, row: last.row + 1)
    // A record whose fragments continue behind this place began behind the batch's start.
    let start = from?.start ?? .init(archive: 1)
    return ConsumerState.Progress(next: next, checksum: last.checksum, start: start)
  }

  /// Ends the batch at a place, and leaves the gaps and changes behind that place to the half that
  /// begins there.
  private mutating func end(at place: ConsumerState.Progress, before other: inout FormedBatch) {
    (to, other.from) = (place, place)
    changes.removeAll { $0.place >= place.next }
    other.changes.removeAll { $0.place < place.next }
    missing.removeAll { $0.end > place.next }
    other.missing.removeAll { $0.end <= place.next }
  }

  /// Moves the last record to the beginning of another batch.
  private mutating func moveLast(to other: inout FormedBatch) {
    guard let last = records.popLast() else { return }
    if last.count > 1 { records.append(last.prefix(last.count - 1)) }
    other.records.insert(last.dropFirst(last.count - 1), at: 0)
    count -= 1
    other.count += 1
  }
}
