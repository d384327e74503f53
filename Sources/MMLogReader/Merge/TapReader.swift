package import MMLogFormat

/// Gives the records of a session that goes on, from what its own process has of them: rows, and
/// the dictionary's entries.
///
/// What cannot be read is left out: nothing but a defect of the process can be the reason. For one
/// thread at a time.
package final class TapReader {
  private let session: LogReader.Session
  private let seed: UInt32
  private let sites = SiteTable()
  private let threads = ThreadTable()
  private let filter: SessionFilter
  private var fragments: FragmentTable
  /// Those of flight records: these are captured while others of their thread are in pieces.
  private var flightFragments: FragmentTable

  /// - Parameters:
  ///   - identity: Whose records they are.
  ///   - filter: Which of them are wanted.
  package init(_ identity: SessionIdentity, _ filter: LogReader.Filter) {
    session = LogReader.Session(identity)
    self.filter = SessionFilter(filter, sites, of: identity)
    (fragments, flightFragments) = (FragmentTable(of: session), FragmentTable(of: session))
    seed = checksumSeed(session: identity.session, generation: 0)
  }

  /// Takes in new entries of the dictionary, before the rows that refer to them.
  package func learn(_ entries: [UInt8]) {
    if entries.isEmpty { return }
    var dictionary = LogDictionary()
    entries.withUnsafeBytes { _ = dictionary.insert(entriesIn: $0, seed: seed) }
    sites.add(dictionary)
    session.learn(dictionary)
  }

  /// Gives the records of a payload in rows. Those in pieces come with the last one.
  ///
  /// - Parameters:
  ///   - payload: A thread table and rows, as ``RowBuilder`` makes them.
  ///   - clock: Turns their ticks into time.
  ///   - areFlight: Whether they are flight records.
  ///   - body: Takes a record.
  package func read(
    _ payload: [UInt8], _ clock: TickClock, areFlight: Bool, _ body: (LogReader.Record) -> Void
  ) {
    if areFlight { swap(&fragments, &flightFragments) }
    defer { if areFlight { swap(&fragments, &flightFragments) } }
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
        _ = fragments.end(ordinal)
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
