import MMLogFormat
import MMLogReader
import MMLogStorage
import MMLogSystem

/// Records that are gone before they were shipped.
extension ShippingWork {
  /// Adds what is missing in a session to a batch.
  func take(
    _ gap: LogReader.Gap, _ session: QueuedSession, into batch: inout FormedBatch
  ) {
    guard case .archivesNotHere(let numbers) = gap.cause else {
      batch.add(LogBatch.Gap(gap.summary, session: gap.session.id), before: session.place)
      return
    }
    let id = gap.session.id
    // This is no gap: retention is meant to delete the oldest archives before a consumer begins.
    if batch.from == nil, notes(of: numbers, in: id).isEmpty, doubtful[id] == nil,
      session.identity.startTime < state.created
    {
      return
    }
    if let missed = self.gap(of: numbers, in: id, at: batch.from) {
      batch.add(missed.gap, rows: missed.rows, before: session.place)
    }
  }

  /// Returns the notes of archives that are gone. This filters the notes, since the range may have
  /// many more numbers.
  private func notes(
    of numbers: ClosedRange<Int>, in session: SessionID
  ) -> [ArchiveID: DeletedArchives.Note] {
    deletedNotes.filter { $0.key.session == session && numbers.contains(Int($0.key.number)) }
  }

  /// Returns the gap of archives that are gone, and its number of rows; nil if all their records
  /// had been acknowledged.
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

  /// Reads the notes of deleted archives, if they may have changed: each change makes another file
  /// of them, and so changes the directory. There may be thousands of notes for other consumers,
  /// and a shipper that has nothing to do calls this many times a second.
  func readDeleted() throws(LogError) {
    try explaining("Reading what was deleted failed") { () throws(SystemError) in
      let directory = try Directory.open(path)
      let status = try directory.status()
      if let known = notedDirectory, known == (status.identity, status.modified) { return }
      notedDirectory = nil
      let all = try DeletedArchives(in: directory)
      deletedNotes = all.notes.filter { $0.value.consumers.contains(consumer) }
      // Another change within the same tick of the file system's clock would not be seen.
      if Clock.realtime() &- status.modified > Self.coarsestTick {
        notedDirectory = (status.identity, status.modified)
      }
    }
  }

  /// Longer than the ticks of any file system's clock, in nanoseconds.
  private static let coarsestTick: Int64 = 3_000_000_000

  /// Ships a gap for each session in which nothing is left behind the deleted archives.
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
      // What was before the missing archives is shipped by now, and retention may have deleted more
      // since.
      try readDeleted()
      try takeInDeleted()
    }
    for (id, session) in queue.sessions {
      if mayNotSend { return }
      if let gone = session.goneAtEnd { try takeIn(gone, of: id) }
    }
    // A session that had not ended may have no file left at all. A file that cannot be read now may
    // belong to such a session. If the cursor is at the start of an archive, everything before it
    // was there, and nobody knows whether that archive was ever made.
    guard !queue.mayReadMore else { return }
    for (id, given) in state.cursor.sessions
    where !given.isEnded && !given.next.isAtStart && queue.sessions[id] == nil
      && !queue.filteredOut.contains(id)
    {
      if mayNotSend { return }
      try takeIn(given.next.archive...given.next.archive, of: id)
    }
  }

  /// Ships one gap for archives that are gone and for all before them up to the cursor, if nothing
  /// of their session is left to be read.
  ///
  /// - Parameter isRepeat: Whether the gap was on its way before.
  func takeIn(
    _ gone: ClosedRange<UInt32>, of session: SessionID, isRepeat: Bool = false
  ) throws(LogError) {
    // A batch that is on its way is sent again first.
    guard state.batches[session] == nil else { return }
    let queued = queue.sessions[session]
    let from = state.cursor.sessions[session]
    // What can still be read is read first. A gap that more archives follow is found when those are
    // read.
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
    // The session goes on first: the delivery then also forgets the archives that are gone.
    queued?.goOn(at: to)
    _ = try deliver(batch, of: queued)
  }
}

extension SessionIdentity {
  /// Makes the identity of a session of which no file is left.
  ///
  /// - Parameter time: The start time if nothing says when the session began: receivers refuse
  ///   records of 1970.
  fileprivate init(
    unknown session: SessionID, _ note: DeletedArchives.Note?, since time: Timestamp
  ) {
    self.init(
      session: session, bootID: [UInt8](repeating: 0, count: 16), processID: 0,
      startTime: note?.times?.lowerBound ?? note?.time ?? time, processName: "", hostName: "",
      timeZone: "", storeName: note?.storeName ?? "")
  }
}
