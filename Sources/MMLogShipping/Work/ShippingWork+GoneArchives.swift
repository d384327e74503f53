import MMLogFormat
import MMLogReader
import MMLogStorage
import MMLogSystem

/// What is gone before it was shipped.
extension ShippingWork {
  /// Takes in that archives are not there which have not been read.
  func take(
    _ gap: LogReader.Gap, _ session: QueuedSession, into batch: inout FormedBatch
  ) {
    guard case .archivesNotHere(let numbers) = gap.cause else {
      batch.add(LogBatch.Gap(gap.summary, session: gap.session.id), before: session.place)
      return
    }
    let id = gap.session.id
    // That the oldest archives are gone before a consumer begins is how retention is meant.
    if batch.from == nil, notes(of: numbers, in: id).isEmpty, doubtful[id] == nil,
      session.identity.startTime < state.created
    {
      return
    }
    if let missed = self.gap(of: numbers, in: id, at: batch.from) {
      batch.add(missed.gap, rows: missed.rows, before: session.place)
    }
  }

  /// What is noted of archives that are gone. There are fewer notes than there may be numbers.
  private func notes(
    of numbers: ClosedRange<Int>, in session: SessionID
  ) -> [ArchiveID: DeletedArchives.Note] {
    deletedNotes.filter { $0.key.session == session && numbers.contains(Int($0.key.number)) }
  }

  /// The gap of archives that are gone, and how many rows that are; nil if all of them had been
  /// acknowledged.
  private func gap(
    of numbers: ClosedRange<Int>, in session: SessionID, at from: ConsumerState.Progress?
  ) -> (gap: LogBatch.Gap, rows: Int)? {
    var rows = 0
    var (count, levels, times) = (UInt64(0), [Level: UInt64](), ClosedRange<Timestamp>?.none)
    let notes = notes(of: numbers, in: session)
    let isKnown = notes.count == numbers.count
    for (key, note) in notes {
      let isBegun = from?.next.archive == key.number
      let balance = isBegun ? state.balances[session] : nil
      let passed = UInt64(balance?.recordsOfArchive ?? 0)
      rows += max(0, note.rows - (balance?.rowsOfArchive ?? 0))
      count += note.count - min(passed, note.count)
      if passed == 0 {
        for (level, number) in zip(Level.allCases, note.counts) where number > 0 {
          levels[level, default: 0] += number
        }
      }
      if let others = note.times {
        times =
          times.map {
            min($0.lowerBound, others.lowerBound)...max($0.upperBound, others.upperBound)
          } ?? others
      }
    }
    if isKnown, count == 0 { return nil }
    let mayBeSent =
      doubtful[session].map { Int($0.to.next.archive) >= numbers.lowerBound } ?? false
    let which = numbers.count == 1 ? "archive \(numbers.lowerBound)" : "archives \(numbers)"
    let amount = isKnown ? "\(count)" : "an unknown number of"
    let gap = LogBatch.Gap(
      "\(which) of the session were deleted before they were shipped: \(amount) records"
        + (mayBeSent ? ", some of which may have been sent" : ""),
      session: session, count: isKnown ? count : nil, levels: levels, archives: numbers,
      times: times, mayBeSent: mayBeSent)
    return (gap, rows)
  }

  /// Reads the notes of deleted archives.
  func readDeleted() throws(LogError) {
    let all = try explaining("Reading what was deleted failed") { () throws(SystemError) in
      try DeletedArchives(in: Directory.open(path))
    }
    deletedNotes = all.notes.filter { $0.value.consumers.contains(consumer) }
  }

  /// Ships a gap for each session of which nothing is left behind what was deleted.
  func takeInDeleted() throws(LogError) {
    if deletedNotes.isEmpty { return }
    let directory = try openDirectory()
    for (session, keys) in Dictionary(grouping: deletedNotes.keys, by: \.session) {
      if mayNotSend { break }
      let given = state.cursor.sessions[session]?.next.archive ?? 0
      let numbers = keys.map(\.number).filter { $0 >= given }
      if let first = numbers.min(), let last = numbers.max() {
        try takeIn(first...last, of: session)
      }
    }
    let settled = deletedNotes.keys.filter { key in
      state.cursor.sessions[key.session].map { $0.next.archive > key.number } ?? false
    }
    try DeletedArchives.settle(settled, for: consumer, in: directory)
    for key in settled { deletedNotes[key] = nil }
  }

  /// Ships a gap for each session whose last archives are gone without a note: somebody has removed
  /// them.
  func takeInRemoved() throws(LogError) {
    if !deletedNotes.isEmpty || queue.sessions.values.contains(where: { $0.goneAtEnd != nil }) {
      // What was before them is shipped now; and retention may have deleted more since.
      try readDeleted()
      try takeInDeleted()
    }
    for (id, session) in queue.sessions {
      if mayNotSend { return }
      if let gone = session.goneAtEnd { try takeIn(gone, of: id) }
    }
    // Of a session that had not ended, no file may be left at all. What cannot be read now may be
    // of it. Before the start of an archive all was there: whether that one was ever made, nobody
    // knows.
    guard !queue.mayReadMore else { return }
    for (id, given) in state.cursor.sessions
    where !given.isEnded && !given.next.isAtStart && queue.sessions[id] == nil
      && !queue.filteredOut.contains(id)
    {
      if mayNotSend { return }
      try takeIn(given.next.archive...given.next.archive, of: id)
    }
  }

  /// Ships the gap of archives that are gone, and of all before them up to the cursor, if nothing
  /// of their session is left to be read.
  ///
  /// - Parameter isRepeat: Whether it was on its way before.
  func takeIn(
    _ gone: ClosedRange<UInt32>, of session: SessionID, isRepeat: Bool = false
  ) throws(LogError) {
    // What is on its way is sent again first.
    guard state.batches[session] == nil else { return }
    let queued = queue.sessions[session]
    let from = state.cursor.sessions[session]
    // What can be read still is read; what is followed by more is found when that is read.
    let last = queued?.archives.last(where: \.isReadable)?.number ?? 0
    guard queued?.hasUnread != true, last < gone.lowerBound else { return }
    if queue.mayHaveRing(session) || queue.error(of: session) != nil { return }
    let to = ConsumerState.Progress(next: .behind(gone.upperBound), isEnded: true)
    let note = deletedNotes[ArchiveID(session: session, number: gone.upperBound)]
    let identity =
      queued?.identity ?? SessionIdentity(unknown: session, note, since: state.created)
    var batch = FormedBatch(session: LogReader.Session(identity), from: from, to: to)
    batch.mayBeRepeat = isRepeat
    let first = from.map { max($0.next.archive, queued?.firstMissing ?? 0) } ?? gone.lowerBound
    let numbers = Int(min(first, gone.lowerBound))...Int(gone.upperBound)
    if let missed = gap(of: numbers, in: session, at: from) {
      batch.add(missed.gap, rows: missed.rows, before: to.next)
    }
    // Before it is delivered: then what is gone is forgotten with it.
    queued?.goOn(at: to)
    _ = try deliver(batch, of: queued)
  }
}

extension SessionIdentity {
  /// Of a session of which no file is left.
  ///
  /// - Parameter time: When it was there at the latest, if nothing says when it began: receivers
  ///   refuse what is of 1970.
  fileprivate init(
    unknown session: SessionID, _ note: DeletedArchives.Note?, since time: Timestamp
  ) {
    self.init(
      session: session, bootID: [UInt8](repeating: 0, count: 16), processID: 0,
      startTime: note?.times?.lowerBound ?? note?.time ?? time, processName: "", hostName: "",
      timeZone: "", storeName: note?.storeName ?? "")
  }
}
