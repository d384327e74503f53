public import MMLogReader
import MMLogStorage
import MMLogSystem

extension Shipper {
  /// What is archived of a session and waits to be shipped.
  public struct Waiting: Sendable {
    /// The session.
    public let session: SessionID
    /// How many of these records pass the filter. Edits and the transform are not applied.
    public let records: Int
    /// Whether the session has a ring, which may hold more records.
    public let hasRing: Bool
    /// The corruption between these records and behind them. It is shipped as gaps.
    public let corruption: [LogReader.Corruption]
  }

  /// Reads what would be shipped now, and counts it. Ships nothing, recovers nothing, and needs no
  /// lock: a shipper may be at work.
  ///
  /// The calling thread waits for the disk.
  ///
  /// - Returns: The sessions that have records, corruption or a ring.
  /// - Throws: What keeps the directory, the consumer's state or an archive from being read. Also
  ///   if the state is of another destination.
  /// - Complexity: As reading the records behind the cursor.
  public func waiting() throws(LogError) -> [Waiting] {
    var state = try ConsumerState.noted(of: consumer, in: directory)
    try state?.take(configuration.target, of: consumer, in: directory)
    return try Waiting.behind(
      state?.cursor ?? LogReader.Cursor(), in: directory, configuration.filter,
      ringDirectory: configuration.ringDirectory, identities: configuration.identities)
  }
}

extension Shipper.Waiting {
  /// Returns what waits of each session behind a cursor; see ``Shipper/waiting()``.
  package static func behind(
    _ cursor: LogReader.Cursor, in directory: String, _ filter: LogReader.Filter = .init(),
    ringDirectory: String? = nil, identities: LogIdentities
  ) throws(LogError) -> [Shipper.Waiting] {
    let queue = ArchiveQueue(
      toShip: directory, filter, ringDirectory: ringDirectory, identities: identities,
      after: cursor)
    try explaining("Searching for archives failed") { () throws(SystemError) in
      try queue.scan(everything: true)
    }
    if let error = queue.unreadable.min(by: { $0.key < $1.key })?.value { throw error }
    var found: [Shipper.Waiting] = []
    for (id, session) in queue.sessions.sorted(by: { $0.key.description < $1.key.description }) {
      var corruption: [LogReader.Corruption] = []
      let records = try session.countRecords { corruption.append($0) }
      session.rest()
      let hasRing = queue.sessionsWithRing.contains(id)
      if records > 0 || hasRing || !corruption.isEmpty {
        found.append(
          Self(session: id, records: records, hasRing: hasRing, corruption: corruption))
      }
    }
    for id in queue.sessionsWithRing where queue.sessions[id] == nil {
      found.append(Self(session: id, records: 0, hasRing: true, corruption: []))
    }
    return found
  }
}

extension QueuedSession {
  /// Reads on, and counts the records.
  ///
  /// - Parameters:
  ///   - last: No record from this place on is counted; nil for any.
  ///   - report: Receives what is corrupted.
  func countRecords(
    until last: LogReader.Cursor.Place? = nil, _ report: (LogReader.Corruption) -> Void = { _ in }
  ) throws(LogError) -> Int {
    var count = 0
    while let chunk = try nextChunk(atMost: 10_000, until: last) {
      switch chunk {
      case .records(let records): count += records.count
      case .item(.record): count += 1
      case .item(.corruption(let corruption)): report(corruption)
      case .item: continue
      }
    }
    return count
  }
}
