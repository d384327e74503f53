import MMLogFormat
import MMLogReader
import MMLogStorage
import MMLogSystem

extension ShippingWork {
  // MARK: - Making batches

  /// Makes a batch of a session's next records, sends it, and notes what came of it.
  ///
  /// - Returns: Whether to go on: false if the shipper is stopped meanwhile, or a scan has to come
  ///   first.
  func ship(_ session: QueuedSession) throws(LogError) -> Bool {
    let from = state.cursor.sessions[session.identity.session]
    let formed: FormedBatch?
    do throws(LogError) { formed = try form(session, from: from) } catch {
      session.goOn(at: from)
      noteReading(of: session, error)
      return true
    }
    noteReading(of: session, nil)
    guard let batch = formed else { return false }
    if let from, batch.to.next < from.next {
      // The archive was replaced while it was read: the next pass deals with that.
      session.goOn(at: from)
      return false
    }
    return try deliver(batch, of: session)
  }

  /// Moves the cursor back in sessions that begin an archive again: a power cut has undone the part
  /// of it that was shipped.
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

  /// Sends a batch again that was on its way when the previous process died. The batch waits while
  /// one of its archives cannot be read.
  func resend(_ note: ConsumerState.Note) throws(LogError) {
    guard let session = queue.sessions[note.session],
      session.goneArchives(from: note.from, to: note.to) == note.goneArchives
    else { return try giveUp(note) }
    if note.mayBeSent { doubtful[note.session] = note }
    let formed: FormedBatch?
    do throws(LogError) { formed = try form(note, session) } catch {
      session.goOn(at: note.from)
      return noteReading(of: session, error)
    }
    noteReading(of: session, nil)
    guard var batch = formed, note.count > 0 || !batch.isEmpty else { return try giveUp(note) }
    batch.mayBeRepeat = true
    if batch.count != note.count { control.send(.changedBatch(note.id)) }
    if !batch.isCutShort {
      batch.to = note.to
      session.goOn(at: note.to)
    }
    _ = try deliver(batch, of: session)
  }

  /// Makes a batch again.
  ///
  /// - Returns: Nil if there is nothing to send.
  private func form(
    _ note: ConsumerState.Note, _ session: QueuedSession
  ) throws(LogError) -> FormedBatch? {
    session.goOn(at: note.from)
    let batch = try form(session, from: note.from, again: note)
    guard let batch, batch.count < note.count, doubtful[note.session] == nil else { return batch }
    // The batch begins with the session, and the session's first archives have gone since.
    doubtful[note.session] = note
    session.goOn(at: note.from)
    return try form(session, from: note.from, again: note) ?? batch
  }

  /// Notes that a batch cannot be made again. What was in it is a gap, unless more of the session
  /// can be read: then reading that finds the gap before it.
  private func giveUp(_ note: ConsumerState.Note) throws(LogError) {
    change { $0.batches[note.session] = nil }
    queue.sessions[note.session]?.goOn(at: note.from)
    let mayBeSent = note.count > 0 || note.mayBeSent
    if mayBeSent { doubtful[note.session] = note }
    if note.count > 0 { control.send(.changedBatch(note.id)) }
    let last = note.to.next.lastArchive
    let missing = queue.sessions[note.session]?.firstMissing ?? 0
    let deleted = deletedNotes.keys.filter { $0.session == note.session && $0.number <= last }
    let begin =
      note.from?.next.archive ?? deleted.map(\.number).min() ?? (mayBeSent ? 1 : last)
    let first = max(begin, missing)
    if first <= last { try takeIn(first...last, of: note.session, isRepeat: true) }
  }

  /// A batch is full when its records keep this many bytes of frames in memory: if few records pass
  /// the filter, each may keep a frame.
  static let maximumKeptBytes = 64 << 20

  /// - Parameter note: What is noted of the batch, if it was made before. It ends where it ended,
  ///   unless it is full with more records than it had.
  /// - Returns: Nil if there is nothing to send.
  private func form(
    _ session: QueuedSession, from: ConsumerState.Progress?, again note: ConsumerState.Note? = nil
  ) throws(LogError) -> FormedBatch? {
    let (maximumRecords, maximumBytes) = delivery.limits
    var (records, bytes) = (0, 0)
    var kept = KeptBytes()
    var keptBytes = 0
    var batch: FormedBatch?
    while true {
      let isFull =
        records >= maximumRecords || bytes >= maximumBytes || keptBytes >= Self.maximumKeptBytes
      // The limits may have been greater when the batch was made.
      let missing = (note?.count ?? 0) - (batch?.count ?? 0)
      if isFull, note == nil || missing < 0 {
        batch?.isCutShort = note != nil
        break
      }
      let next: LogReader.Chunk?
      do throws(LogError) {
        next = try session.nextChunk(
          atMost: isFull ? max(missing, 1) : maximumRecords - records,
          textSize: isFull ? maximumBytes : maximumBytes - bytes, until: note?.to.next)
      } catch {
        // A new batch ends with what can be read. A batch that was made before has to be whole.
        if note == nil, batch != nil, session.given?.next != from?.next { break }
        throw error
      }
      guard let chunk = next else { break }
      guard let owner = session.session else { break }
      var new = batch ?? FormedBatch(session: owner, from: from, to: .init(next: .init(archive: 1)))
      if let taken = take(chunk, session, into: &new) {
        records += taken.count
        bytes += taken.textSize
        keptBytes += kept.add(taken)
      }
      batch = new
    }
    guard let to = session.given else { return nil }
    // If nothing passes the filter, the cursor moves all the same.
    if batch == nil, to != from, let owner = session.session {
      batch = FormedBatch(session: owner, from: from, to: to)
    }
    batch?.to = to
    TestPoint.reach(.batchFormed)
    return batch
  }

  /// Adds what was read of a session to a batch.
  ///
  /// - Returns: The records of the chunk, as they were read.
  private func take(
    _ chunk: LogReader.Chunk, _ session: QueuedSession, into batch: inout FormedBatch
  ) -> LogReader.Records? {
    let records: LogReader.Records
    switch chunk {
    case .records(let all): records = all
    case .item(.record(let record)): records = LogReader.Records(record)
    case .item(.gap(let gap)):
      take(gap, session, into: &batch)
      return nil
    case .item(.corruption(let corruption)):
      let gap = LogBatch.Gap("\(corruption)", session: batch.session.id)
      batch.add(gap, before: session.place)
      return nil
    case .item: return nil
    }
    take(records, into: &batch)
    return records
  }

  /// Adds records to a batch, after edits and the transform.
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
      if results.count != 1 { batch.note(results.count - 1, at: record.id) }
      let session = self.edited(record.session)
      for result in results {
        if let records = result.records(of: session) ?? redacted(result).records(of: session) {
          batch.records.append(records)
          batch.count += 1
        } else {
          batch.note(-1, at: record.id)
        }
      }
    }
  }

  /// Returns a record that cannot be written, with the values redacted that are nested too deep.
  /// The record as it was logged may have what must not be sent.
  private func redacted(_ record: EditableRecord) -> EditableRecord {
    var record = record
    record.redactDeepValues()
    let error = LogError(
      .unsupported,
      "A value is nested too deep after it was changed on the way: '<private>' is sent in the "
        + "place of each such value. Have the transform nest values no deeper than 16", path: path)
    control.note(error, isNew: !hasSaidDepth)
    hasSaidDepth = true
    return record
  }

  // MARK: - Sending

  /// Whether the shipper is stopping or suspended.
  var mayNotSend: Bool {
    control.orders.withLock { $0.isStopping || $0.isSuspended }
  }

  /// Sends a batch until it is settled: acknowledged, or put aside.
  ///
  /// - Returns: False if the shipper is stopped meanwhile.
  func deliver(_ batch: FormedBatch, of session: QueuedSession?) throws(LogError) -> Bool {
    if batch.isEmpty {
      try settle(batch, session, acknowledged: 0, refused: 0)
      return true
    }
    let id = try note(batch, session)
    switch outcome(of: batch, id: id) {
    case .stopped: return false
    case .accepted(let answer):
      TestPoint.reach(.batchSent)
      unsettled = (id, batch.count, answer)
      let refused = try putAside(answer, of: batch, id: id)
      unsettled = nil
      if let reason = answer.gapRefusal {
        control.send(.refused(batch: id, count: 0, reason: reason))
      }
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

  /// Notes a batch before it is sent.
  ///
  /// - Returns: Its id.
  private func note(
    _ batch: FormedBatch, _ session: QueuedSession?
  ) throws(LogError) -> String {
    let mayBeSent = batch.gaps.contains { $0.mayBeSent }
    let id = ConsumerState.Note.id(
      of: consumer, batch.session.id, from: batch.from, to: batch.to, mayBeSent: mayBeSent)
    let noted = ConsumerState.Note(
      id: id, session: batch.session.id, from: batch.from, to: batch.to, count: batch.count,
      mayBeSent: mayBeSent,
      goneArchives: session?.goneArchives(from: batch.from, to: batch.to) ?? 0)
    change { $0.batches[batch.session.id] = noted }
    try note(isSafe: true)
    TestPoint.reach(.batchNoted)
    return id
  }

  /// Sends a batch, unless the receiver's answer to it is known.
  private func outcome(of batch: FormedBatch, id: String) -> Delivery.Outcome {
    if let unsettled, unsettled.id == id, unsettled.count == batch.count {
      return .accepted(unsettled.answer)
    }
    // The receiver sees the session after the edits. The balance needs the session as it is.
    var sent = batch
    sent.session = edited(batch.session)
    return delivery.send(sent, id: id)
  }

  /// Puts all of a batch aside.
  private func putAside(
    _ batch: FormedBatch, _ session: QueuedSession?, _ reason: String, id: String
  ) throws(LogError) {
    var answer = LogBatch.Answer()
    answer.refused = (0..<batch.count).map { .init(index: $0, reason: reason) }
    // A batch that has only gaps has nothing to put aside.
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
    balance.add(batch, acknowledged: acknowledged, refused: refused)
    change {
      $0.cursor.sessions[id] = batch.to
      $0.balances[id] = balance
      $0.batches[id] = nil
    }
    doubtful[id] = nil
    try note(isSafe: false)
    TestPoint.reach(.batchSettled)
    for gap in batch.gaps { control.send(.gap(gap)) }
    session?.prune()
    control.note(batch, acknowledged: acknowledged, refused: refused)
  }
}

extension ConsumerState.Balance {
  /// Adds what became of the records of a batch, and of what is missing among them.
  fileprivate mutating func add(_ batch: FormedBatch, acknowledged: Int, refused: Int) {
    self.acknowledged += acknowledged
    self.refused += refused
    dropped += batch.dropped
    added += batch.added
    for missing in batch.missing {
      missed += missing.rows
      if missing.gap.mayBeSent { maybeSent += missing.rows }
    }
  }
}

extension ShipperControl {
  /// Counts a batch that is settled.
  fileprivate func note(_ batch: FormedBatch, acknowledged: Int, refused: Int) {
    let bytes = batch.records.reduce(0) { $0 + $1.size }
    statistics.withLock { statistics in
      if acknowledged + batch.gaps.count > 0 { statistics.batches += 1 }
      statistics.records += acknowledged
      if acknowledged > 0 { statistics.bytes += bytes }
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
