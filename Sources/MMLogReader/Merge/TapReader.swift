package import MMLogFormat

/// Gives the records of a session that goes on, from the rows and the dictionary's entries that its
/// own process has.
///
/// What cannot be read is left out: only a defect of the process can be the reason. For one thread
/// at a time.
package final class TapReader {
  private let session: LogReader.Session
  private let seed: UInt32
  private let sites = SiteTable()
  private let threads = ThreadTable()
  private let filter: SessionFilter
  private var fragments: FragmentTable

  /// - Parameters:
  ///   - identity: The session of the records.
  ///   - filter: Which records are wanted.
  package init(_ identity: SessionIdentity, _ filter: LogReader.Filter) {
    session = LogReader.Session(identity)
    self.filter = SessionFilter(filter, sites, of: identity)
    fragments = FragmentTable(of: session)
    seed = checksumSeed(session: identity.session, generation: 0)
  }

  /// Adds new entries of the dictionary. Call it before the rows that refer to them.
  package func learn(_ entries: [UInt8]) {
    if entries.isEmpty { return }
    var dictionary = LogDictionary()
    entries.withUnsafeBytes { _ = dictionary.insert(entriesIn: $0, seed: seed) }
    sites.add(dictionary)
    session.learn(dictionary)
  }

  /// Gives the records of a payload in rows. A record in fragments comes with its last fragment.
  ///
  /// - Parameters:
  ///   - payload: A thread table and rows, as ``RowBuilder`` makes them.
  ///   - clock: Turns the rows' ticks into time.
  ///   - areFlight: Whether the records are flight records.
  ///   - body: Takes a record.
  package func read(
    _ payload: [UInt8], _ clock: TickClock, areFlight: Bool, _ body: (LogReader.Record) -> Void
  ) {
    let payload = Payload(payload)
    guard var rows = try? RowReader(payload.bytes) else { return }
    var threads: [UInt32: LogReader.Thread] = [:]
    for identity in rows.threads { threads[identity.ordinal] = self.threads.thread(identity) }
    while let row = try? rows.next() {
      guard filter.mayPass(row) else { continue }
      let ordinal = row.threadOrdinalOfRow
      let thread = threads[ordinal] ?? self.threads.unknownThread(ordinal)
      let now = FragmentTable.Start(
        ticks: row.ticks, wall: clock.wall(at: row.ticks), isFlight: areFlight)
      if !row.isFragment {
        _ = fragments.end(ordinal, isFlight: areFlight)
        give(row.body, thread, now, clock, keeping: payload, body)
      } else if case .whole(let bytes, let start) = fragments.add(
        row, thread: ordinal, start: now)
      {
        let whole = Payload(bytes)
        give(whole.bytes, thread, start, clock, keeping: whole, body)
      }
    }
  }

  private func give(
    _ bytes: UnsafeRawBufferPointer, _ thread: LogReader.Thread, _ start: FragmentTable.Start,
    _ clock: TickClock, keeping payload: Payload, _ body: (LogReader.Record) -> Void
  ) {
    var kept: [AnyObject] = [payload, sites, thread]
    let content = try? sites.content(bytes, .passUnretained(thread), start) { kept.append($0) }
    guard let content, filter.passes(time: content.time), filter.passes(content.threadReference),
      filter.passes(isFlight: content.isFlight), filter.passes(content, clock)
    else { return }
    body(LogReader.Record(owner: RecordOwner(session, clock, keeping: kept), content: content))
  }
}
