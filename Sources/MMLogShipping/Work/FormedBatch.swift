import MMLogReader

/// A batch that is made: its records, and the range of rows that it stands for.
struct FormedBatch {
  typealias Progress = LogReader.Cursor.Progress

  var session: LogReader.Session
  var from: Progress?
  var to: Progress
  var records: [LogReader.Records] = []
  var gaps: [LogBatch.Gap] = []
  /// Records that were dropped on the way, and that came in addition.
  var dropped = 0
  var added = 0
  /// Rows of archives that were gone, and of these what may have been sent.
  var missed = 0
  var maybeSent = 0
  /// Whether it was on its way before, in this process or another.
  var mayBeRepeat = false
  var count = 0

  init(session: LogReader.Session, from: Progress?, to: Progress) {
    (self.session, self.from, self.to) = (session, from, to)
  }

  var isEmpty: Bool { count == 0 && gaps.isEmpty }

  /// How many records of an archive it was made of.
  func sourceCount(in archive: UInt32) -> Int {
    var (count, last) = (0, LogReader.RecordID?.none)
    for chunk in records where chunk.firstID?.archive == archive {
      // What came of one record follows one another.
      if chunk.count != 1 || chunk.firstID != last { count += chunk.count }
      last = chunk.lastID
    }
    return count + dropped
  }

  // MARK: - Dividing

  /// Two batches of about half the records each, or of the gaps and a single record; nil if there
  /// is no more to divide.
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
    // Records that came of one have one id, and stay together.
    while first.count > 0, let last = first.records.last?.lastID,
      last == second.records.first?.firstID
    {
      first.moveLast(to: &second)
    }
    if first.count == 0 { return gapsApart() }
    guard second.count > 0, let last = first.records.last?.lastID else { return nil }
    let next = LogReader.Cursor.Place(archive: last.archive, frame: last.frame, row: last.row + 1)
    // What is in pieces at this place began behind the batch's start.
    first.to = FormedBatch.Progress(
      next: next, checksum: last.checksum, start: from?.start ?? .init(archive: 1))
    (second.from, second.gaps, second.missed, second.maybeSent) = (first.to, [], 0, 0)
    (first.dropped, first.added) = (0, 0)
    return (first, second)
  }

  /// The gaps of a batch, and its records without them; nil if it does not have both.
  private func gapsApart() -> (FormedBatch, FormedBatch)? {
    guard !gaps.isEmpty, let id = records.first?.firstID else { return nil }
    var (first, second) = (self, self)
    let next = LogReader.Cursor.Place(archive: id.archive, frame: id.frame, row: id.row)
    first.to = FormedBatch.Progress(next: next, checksum: id.checksum)
    (first.records, first.count, first.dropped, first.added) = ([], 0, 0, 0)
    (second.from, second.gaps, second.missed, second.maybeSent) = (first.to, [], 0, 0)
    return (first, second)
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
