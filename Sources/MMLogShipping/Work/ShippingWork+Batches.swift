import MMLogFormat
import MMLogReader
import MMLogStorage
import MMLogSystem

extension ShippingWork {
  // MARK: - Making batches

  /// Makes a batch of what comes next in a session, sends it, and notes what came of it.
  ///
  /// - Returns: Whether to go on: false if the shipper is stopped meanwhile, or a scan has to come
  ///   first.
  func ship(_ session: QueuedSession) throws(LogError) -> Bool {
    let from = state.cursor.sessions[session.identity.session]
    let formed: FormedBatch?
    do throws(LogError) { formed = try form(session, from: from, until: nil) } catch {
      session.goOn(at: from)
      noteReading(of: session, error)
      return true
    }
    noteReading(of: session, nil)
    guard let batch = formed else { return false }
    if let from, batch.to.next < from.next {
      // The archive was replaced while it was read: the next pass takes that in.
      session.goOn(at: from)
      return false
    }
    return try deliver(batch, of: session)
  }

  /// Moves the cursor back in sessions that begin an archive again: a power cut has undone what was
  /// shipped of it.
  func takeInUndone() {
    for (id, session) in queue.sessions {
      guard let given = session.given, let known = state.cursor.sessions[id],
        given.next == .init(archive: known.next.archive), given.next < known.next
      else { continue }
      var balance = state.balances[id] ?? ConsumerState.Balance()
      balance.rows -= min(balance.rowsOfArchive, balance.rows)
      (balance.rowsOfArchive, balance.recordsOfArchive) = (0, 0)
      change {
        $0.cursor.sessions[id] = given
        $0.balances[id] = balance
      }
    }
  }

  /// Sends the batch again that was on its way when the process before this one died.
  func resend() throws(LogError) {
    guard let note = state.batch else { return }
    guard let session = queue.sessions[note.session],
      session.goneArchives(from: note.from, to: note.to) == note.goneArchives
    else { return try giveUp(note) }
    if note.mayBeSent { doubtful = note }
    session.goOn(at: note.from)
    guard var batch = try form(session, from: note.from, until: note.to.next),
      note.count > 0 || !batch.isEmpty
    else { return try giveUp(note) }
    if batch.count < note.count, doubtful == nil {
      // It begins with the session, and the first archives are gone since.
      doubtful = note
      session.goOn(at: note.from)
      batch = try form(session, from: note.from, until: note.to.next) ?? batch
    }
    batch.to = note.to
    batch.mayBeRepeat = true
    if batch.count != note.count { control.send(.changedBatch(note.id)) }
    session.goOn(at: note.to)
    _ = try deliver(batch, of: session)
  }

  /// Notes that a batch cannot be made again. What was in it is a gap, unless more of the session
  /// can be read: then what is missing is found before that.
  private func giveUp(_ note: ConsumerState.Note) throws(LogError) {
    change { $0.batch = nil }
    queue.sessions[note.session]?.goOn(at: note.from)
    let mayBeSent = note.count > 0 || note.mayBeSent
    if mayBeSent { doubtful = note }
    if note.count > 0 { control.send(.changedBatch(note.id)) }
    let last = note.to.next.lastArchive
    let missing = queue.sessions[note.session]?.firstMissing ?? 0
    let deleted = deletedNotes.keys.filter { $0.session == note.session && $0.number <= last }
    let begin =
      note.from?.next.archive ?? deleted.map(\.number).min() ?? (mayBeSent ? 1 : last)
    let first = max(begin, missing)
    if first <= last { try takeIn(first...last, of: note.session, isRepeat: true) }
  }

  /// - Parameter last: Where a batch ends that was made before; nil: at a limit.
  /// - Returns: Nil if there is nothing.
  private func form(
    _ session: QueuedSession, from: FormedBatch.Progress?, until last: LogReader.Cursor.Place?
  ) throws(LogError) -> FormedBatch? {
    let (maximumRecords, maximumBytes) = delivery.limits
    var (rest, bytes) = (last == nil ? maximumRecords : .max, 0)
    var batch: FormedBatch?
    while rest > 0, last != nil || bytes < maximumBytes {
      // As many as there is room for, if they are as large as those before them.
      let size = batch.map { max(1, bytes / max(1, $0.count)) } ?? 64
      let room = last == nil ? max(1, (maximumBytes - bytes) / size) : .max
      let next: LogReader.Chunk?
      do throws(LogError) {
        next = try session.nextChunk(atMost: min(rest, room), until: last)
      } catch {
        // What can be read goes first. A batch that was made before has to be whole.
        if last == nil, batch != nil, session.given?.next != from?.next { break }
        throw error
      }
      guard let chunk = next else { break }
      guard let owner = session.session else { break }
      var new = batch ?? FormedBatch(session: owner, from: from, to: .init(next: .init(archive: 1)))
      switch chunk {
      case .records(let records):
        rest -= records.count
        bytes += records.size
        take(records, into: &new)
      case .item(.record(let record)):
        rest -= 1
        bytes += LogReader.Records(record).size
        take(LogReader.Records(record), into: &new)
      case .item(.gap(let gap)): take(gap, session, into: &new)
      case .item(.corruption(let corruption)):
        new.add(LogBatch.Gap("\(corruption)", session: owner.id), before: session.place)
      case .item: break
      }
      batch = new
    }
    guard let to = session.given else { return nil }
    // Nothing passes the filter: the cursor moves all the same.
    if batch == nil, to != from, let owner = session.session {
      batch = FormedBatch(session: owner, from: from, to: to)
    }
    batch?.to = to
    TestPoint.reach(.batchFormed)
    return batch
  }

  /// Takes records into a batch, with what is changed on the way.
  func take(_ records: LogReader.Records, into batch: inout FormedBatch) {
    if configuration.edits.isEmpty, configuration.transform == nil {
      batch.records.append(records)
      batch.count += records.count
      return
    }
    records.forEach { record in
      var edited = EditableRecord(record)
      for edit in configuration.edits { edit.apply(to: &edited) }
      let results = configuration.transform?(edited) ?? [edited]
      if results.isEmpty { batch.dropped += 1 } else { batch.added += results.count - 1 }
      for result in results {
        // What cannot be written is shipped as it was.
        batch.records.append(result.records ?? LogReader.Records(record))
        batch.count += 1
      }
    }
  }

  // MARK: - Gaps

  /// Takes in that archives are not there which have not been read.
  private func take(
    _ gap: LogReader.Gap, _ session: QueuedSession, into batch: inout FormedBatch
  ) {
    guard case .archivesNotHere(let numbers) = gap.cause else {
      batch.add(LogBatch.Gap(gap.summary, session: gap.session.id), before: session.place)
      return
    }
    let id = gap.session.id
    // That the oldest archives are gone before a consumer begins is how retention is meant.
    if batch.from == nil, notes(of: numbers, in: id).isEmpty, doubtful?.session != id,
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
  ) -> [DeletedArchives.Key: DeletedArchives.Note] {
    deletedNotes.filter { $0.key.session == session && numbers.contains(Int($0.key.number)) }
  }

  /// The gap of archives that are gone, and how many rows that are; nil if all of them had been
  /// acknowledged.
  private func gap(
    of numbers: ClosedRange<Int>, in session: SessionID, at from: FormedBatch.Progress?
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
      doubtful.map {
        $0.session == session && Int($0.to.next.archive) >= numbers.lowerBound
      } ?? false
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

  /// Whether the shipper is stopping or suspended.
  var mayNotSend: Bool {
    control.orders.withLock { $0.isStopping || $0.isSuspended }
  }

  /// Ships the gap of archives that are gone, and of all before them up to the cursor, if nothing
  /// of their session is left to be read.
  ///
  /// - Parameter isRepeat: Whether it was on its way before.
  private func takeIn(
    _ gone: ClosedRange<UInt32>, of session: SessionID, isRepeat: Bool = false
  ) throws(LogError) {
    // What is on its way is sent again first.
    guard state.batch == nil else { return }
    let queued = queue.sessions[session]
    let from = state.cursor.sessions[session]
    // What can be read still is read; what is followed by more is found when that is read.
    let last = queued?.archives.last(where: \.isReadable)?.number ?? 0
    guard queued?.hasUnread != true, last < gone.lowerBound else { return }
    if queue.mayHaveRing(session) || queue.error(of: session) != nil { return }
    let to = FormedBatch.Progress(next: .behind(gone.upperBound), isEnded: true)
    let note = deletedNotes[.init(session, gone.upperBound)]
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

  // MARK: - Sending

  /// Sends a batch until it is settled: acknowledged, or put aside.
  ///
  /// - Returns: False if the shipper is stopped meanwhile.
  func deliver(_ batch: FormedBatch, of session: QueuedSession?) throws(LogError) -> Bool {
    if batch.isEmpty {
      try settle(batch, session, acknowledged: 0, refused: 0)
      return true
    }
    let mayBeSent = batch.gaps.contains { $0.mayBeSent }
    let id = ConsumerState.Note.id(
      of: consumer, batch.session.id, from: batch.from, to: batch.to, mayBeSent: mayBeSent)
    let noted = ConsumerState.Note(
      id: id, session: batch.session.id, from: batch.from, to: batch.to, count: batch.count,
      mayBeSent: mayBeSent,
      goneArchives: session?.goneArchives(from: batch.from, to: batch.to) ?? 0)
    change { $0.batch = noted }
    try note(isSafe: true)
    TestPoint.reach(.batchNoted)
    switch delivery.send(batch, id: id) {
    case .stopped: return false
    case .accepted(let answer):
      TestPoint.reach(.batchSent)
      let refused = try putAside(answer, of: batch, id: id)
      try settle(batch, session, acknowledged: batch.count - refused, refused: refused)
      control.send(.acknowledged(batch: id, count: batch.count - refused))
    case .refused(let reason):
      guard let (first, second) = batch.halves() else {
        try putAside(batch, session, reason, id: id)
        break
      }
      guard try deliver(first, of: session) else { return false }
      return try deliver(second, of: session)
    case .givenUp(let reason): try putAside(batch, session, reason, id: id)
    }
    return true
  }

  /// Puts all of a batch aside.
  private func putAside(
    _ batch: FormedBatch, _ session: QueuedSession?, _ reason: String, id: String
  ) throws(LogError) {
    var answer = LogBatch.Answer()
    answer.refused = (0..<batch.count).map { .init(index: $0, reason: reason) }
    // Of a gap alone there is nothing to put aside.
    if batch.count == 0 { control.send(.refused(batch: id, count: 0, reason: reason)) }
    let refused = try putAside(answer, of: batch, id: id)
    try settle(batch, session, acknowledged: 0, refused: refused)
  }

  /// Moves the cursor behind a batch.
  private func settle(
    _ batch: FormedBatch, _ session: QueuedSession?, acknowledged: Int, refused: Int
  ) throws(LogError) {
    let id = batch.session.id
    var balance = state.balances[id] ?? ConsumerState.Balance()
    let to = batch.to.next
    if let session {
      balance.rows += session.rows(from: batch.from?.next, to: to)
      let isSame = batch.from?.next.archive == to.archive
      balance.rowsOfArchive = session.rows(from: .init(archive: to.archive), to: to)
      balance.recordsOfArchive =
        configuration.filter.passesAll
        ? (isSame ? balance.recordsOfArchive : 0) + batch.sourceCount(in: to.archive)
        : balance.rowsOfArchive
    } else {
      (balance.rowsOfArchive, balance.recordsOfArchive) = (0, 0)
    }
    balance.acknowledged += acknowledged
    balance.refused += refused
    balance.dropped += batch.dropped
    balance.added += batch.added
    for missing in batch.missing {
      balance.missed += missing.rows
      if missing.gap.mayBeSent { balance.maybeSent += missing.rows }
    }
    change {
      $0.cursor.sessions[id] = batch.to
      $0.balances[id] = balance
      $0.batch = nil
    }
    if doubtful?.session == id { doubtful = nil }
    try note(isSafe: false)
    TestPoint.reach(.batchSettled)
    for gap in batch.gaps { control.send(.gap(gap)) }
    session?.prune()
    let bytes = batch.records.reduce(0) { $0 + $1.size }
    control.statistics.withLock { statistics in
      if acknowledged + batch.gaps.count > 0 { statistics.batches += 1 }
      statistics.records += acknowledged
      statistics.bytes += bytes
      statistics.refused += refused
      statistics.dropped += batch.dropped
      statistics.gaps += batch.gaps.count
      statistics.missed += batch.gaps.reduce(0) { $0 + Int(clamping: $1.count ?? 0) }
      for gap in batch.gaps {
        for (level, count) in gap.levels {
          statistics.missedByLevel[level, default: 0] += Int(clamping: count)
        }
      }
    }
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
