import MMLogFormat
import MMLogReader
import MMLogStorage
import MMLogSystem

extension Shipper {
  /// What came of ``Shipper/retryRefused()``.
  ///
  /// What was not sent because the shipper was stopped meanwhile stays aside, and is in none of
  /// these numbers.
  public struct RetriedRecords: Sendable {
    /// How many records the receiver has acknowledged now.
    public internal(set) var acknowledged = 0
    /// How many the receiver has refused again; they stay aside.
    public internal(set) var refused = 0
    /// How many cannot be sent any more, because their archives are gone, or because the receiver
    /// did not name them when it refused them, now or before. They stay aside.
    public internal(set) var missing = 0
    /// How many stay aside because an archive of their session cannot be read now;
    /// ``Shipper/Event/failed(error:)`` says why.
    public internal(set) var waiting = 0
    /// How many lines of what was put aside cannot be read. They stay aside, as they are.
    public internal(set) var unreadable = 0
  }
}

extension ShippingWork {
  /// Sends what was put aside again, as the configuration says now.
  func retryRefused() throws(LogError) -> Shipper.RetriedRecords {
    defer { close() }
    // Retention keeps archives for each consumer: a mistyped name must not make a consumer.
    _ = try ConsumerState(of: consumer, in: path)
    guard try open() else { throw isAtWork }
    try explaining("Searching for archives failed") { () throws(SystemError) in
      try queue.scan(everything: true)
    }
    let (all, corrupted) = try RefusedRecords.read(of: consumer, in: openDirectory())
    var results = Shipper.RetriedRecords()
    results.unreadable = corrupted.count
    var (left, isChanged, lastNote) = (all, false, Clock.monotonic())
    results.missing = all.reduce(0) { $0 + ($1.isNamed ? 0 : $1.count) }
    for (session, entries) in Dictionary(grouping: all.filter(\.isNamed), by: \.session) {
      guard let session, queue.sessions[session] != nil || queue.error(of: session) != nil else {
        results.missing += entries.count
        continue
      }
      let ids = Set(entries.map(\.recordID))
      let resent = resend(ids, of: session)
      // Several entries may be of records that came of one.
      func count(_ ids: Set<String>) -> Int { entries.count { ids.contains($0.recordID) } }
      results.refused += count(resent.refused)
      let unsent = count(ids.subtracting(resent.settled).subtracting(resent.refused))
      // Of what was not sent because the shipper stops, nobody knows that it is missing.
      if !control.isStopping {
        if resent.isUnreadable { results.waiting += unsent } else { results.missing += unsent }
      }
      if resent.settled.isEmpty { continue }
      let acknowledged = count(resent.settled) - resent.unnamedCount
      results.acknowledged += acknowledged
      results.missing += resent.unnamedCount
      left.removeAll { $0.isNamed && resent.settled.contains($0.recordID) }
      left += resent.unnamed
      settle(acknowledged, of: session)
      isChanged = true
      // `noteLeft` writes all that is left, each time.
      if Clock.monotonic() - lastNote < Self.noteInterval { continue }
      try noteLeft(left, corrupted)
      (isChanged, lastNote) = (false, Clock.monotonic())
    }
    if isChanged { try noteLeft(left, corrupted) }
    return results
  }

  private static let noteInterval: UInt64 = 1_000_000_000

  /// Counts records that were sent again as acknowledged.
  private func settle(_ count: Int, of session: SessionID) {
    var balance = state.balances[session] ?? ConsumerState.Balance()
    balance.acknowledged += count
    balance.refused -= min(count, balance.refused)
    change { $0.balances[session] = balance }
  }

  /// Notes first that records are acknowledged, and then that they are no longer put aside: after a
  /// crash in between, they are sent once more, and not forgotten.
  private func noteLeft(
    _ left: [RefusedRecords.Entry], _ corrupted: [[UInt8]]
  ) throws(LogError) {
    try note(isSafe: true)
    try explaining("Noting what is put aside failed") { () throws(SystemError) in
      try RefusedRecords.replace(
        with: left, corrupted, of: consumer, in: Directory.openForItsUser(path))
    }
  }

  /// What came of records that were sent again.
  private struct Resent {
    /// The ids of records that need not be sent again: the receiver has them, except those in
    /// ``unnamed``.
    var settled: Set<String> = []
    /// The entries for those of them that the receiver has refused without naming them.
    var unnamed: [RefusedRecords.Entry] = []
    /// The ids of records of which the receiver has refused one again.
    var refused: Set<String> = []
    /// Whether an archive of the session cannot be read now.
    var isUnreadable = false

    var unnamedCount: Int { unnamed.reduce(0) { $0 + $1.count } }

    mutating func add(_ other: Resent) {
      settled.formUnion(other.settled)
      refused.formUnion(other.refused)
      unnamed += other.unnamed
    }
  }

  /// Finds records and sends them.
  private func resend(_ ids: Set<String>, of id: SessionID) -> Resent {
    var sent = Resent()
    do throws(LogError) {
      if let session = queue.sessions[id] { try resend(ids, of: session, &sent) }
      // Of a session that has a file which cannot be opened, the queue may know only a part.
      if let error = queue.error(of: id) { throw error }
    } catch {
      control.note(error, isNew: true)
      sent.isUnreadable = true
    }
    return sent
  }

  private func resend(
    _ ids: Set<String>, of session: QueuedSession, _ sent: inout Resent
  ) throws(LogError) {
    var (missing, batch, bytes) = (ids, FormedBatch?.none, 0)
    var (kept, keptBytes) = (KeptBytes(), 0)
    defer {
      if let batch { sent.add(resend(batch.records, of: batch)) }
      session.rest()
    }
    session.goOn(at: nil)
    while !missing.isEmpty, !control.isStopping,
      let chunk = try session.nextChunk(atMost: 10_000)
    {
      var found: [LogReader.Record] = []
      let take = { (record: LogReader.Record) in
        guard let id = record.id, missing.remove("\(id)") != nil else { return }
        found.append(record)
      }
      switch chunk {
      case .records(let records): records.forEach(take)
      case .item(.record(let record)): take(record)
      case .item: continue
      }
      guard let owner = session.session else { break }
      let none = FormedBatch(session: owner, from: nil, to: .init(next: .init(archive: 1)))
      var new = batch ?? none
      batch = nil
      for records in found.map({ LogReader.Records($0) }) {
        self.take(records, into: &new)
        bytes += records.textSize
        keptBytes += kept.add(records)
        if new.count >= delivery.limits.records || bytes >= delivery.limits.bytes
          || keptBytes >= Self.maximumKeptBytes
        {
          sent.add(resend(new.records, of: new))
          (new, bytes, kept, keptBytes) = (none, 0, KeptBytes(), 0)
        }
      }
      batch = new
    }
  }

  private func resend(_ records: [LogReader.Records], of batch: FormedBatch) -> Resent {
    if records.isEmpty { return Resent() }
    var part = batch
    part.records = records
    part.count = records.reduce(0) { $0 + $1.count }
    part.session = edited(part.session)
    let ids = records.compactMap { $0.firstID.map { "\($0)" } }
    let id = ConsumerState.Note.id(of: consumer, records: ids)
    switch delivery.send(part, id: id) {
    case .stopped: return Resent()
    case .accepted(let answer) where part.count == 1 && answer.refusedUnnamed == 1:
      return Resent(refused: Set(ids))
    case .accepted(let answer):
      let refused = Set(
        answer.refused.map(\.index).filter(ids.indices.contains).map { ids[$0] })
      var resent = Resent(settled: Set(ids).subtracting(refused), refused: refused)
      if answer.refusedUnnamed > 0 { resent.unnamed = [entry(ofUnnamedIn: answer, part, id)] }
      return resent
    case .givenUp: return Resent(refused: Set(ids))
    case .refused:
      // Records that came of one record have the same id, and stay together: if one of them is
      // refused, none is settled.
      let places = ids.indices.dropFirst().filter { ids[$0 - 1] != ids[$0] }
      guard let middle = places.min(by: { abs(2 * $0 - ids.count) < abs(2 * $1 - ids.count) })
      else { return Resent(refused: Set(ids)) }
      var resent = resend(Array(records[..<middle]), of: batch)
      resent.add(resend(Array(records[middle...]), of: batch))
      return resent
    }
  }
}
