public import MMLogFormat
public import MMLogReader
public import MMLogStorage
import MMLogSystem

/// The balance of what was logged and what was shipped. Each numbered record of a session is
/// archived or lost. Each archived record is acknowledged, refused, left out by edits, waiting, or
/// was deleted before it was shipped. A difference that this does not explain is a problem.
///
/// Reads all archives of the directory. Use it while nobody logs or ships: changes meanwhile may be
/// reported as problems.
public struct Reconciliation: Sendable {
  /// What a thread has logged, by its records' numbers. Each part of a record counts.
  public struct Thread: Sendable {
    /// The thread's ordinal; 0 if several threads shared a place in the ring.
    public let ordinal: UInt32
    /// How many records the thread had numbered, up to its last record that is present.
    public let numbered: Int
    /// How many of these are in archives, or in the ring of a process that is gone.
    public let present: Int
  }

  /// The balance of a session.
  public struct Session: Sendable {
    /// Which session.
    public let id: SessionID
    /// Its threads.
    public internal(set) var threads: [Thread] = []
    /// How many rows the session's present archives have: records, or parts of a record.
    public internal(set) var archived = 0
    /// How many of these rows the cursor has passed.
    public internal(set) var passed = 0
    /// How many rows the cursor has passed, in archives that were present then.
    public internal(set) var shippedRows = 0
    /// What the session itself has counted as lost.
    public internal(set) var lost = LossLedger()
    /// Records that the receiver has acknowledged.
    public internal(set) var acknowledged = 0
    /// Records that the receiver has refused: they are put aside.
    public internal(set) var refused = 0
    /// Records that edits have left out.
    public internal(set) var dropped = 0
    /// Records that edits have made of others.
    public internal(set) var added = 0
    /// Archived records that wait to be shipped.
    public internal(set) var waiting = 0
    /// Rows that were deleted before they were shipped, as far as their number is known.
    public internal(set) var missed = 0
    /// What does not add up.
    public internal(set) var problems: [String] = []
    /// How many records are before the cursor, in archives that are present.
    var before = 0
  }

  /// The sessions, by their start.
  public let sessions: [Session]

  /// What does not add up.
  public var problems: [String] {
    sessions.flatMap { session in session.problems.map { "session \(session.id): \($0)" } }
  }

  /// Reads everything, and compares.
  ///
  /// - Parameters:
  ///   - directory: The directory from which records are shipped.
  ///   - consumer: The consumer whose cursor counts.
  ///   - filter: Which records the consumer's shipper ships.
  ///   - ringDirectory: Where the rings are, if not in `directory`.
  ///   - received: How many different records of each session the receiver has, if that is known.
  /// - Throws: What keeps the directory, or the consumer's state, from being read.
  /// - Complexity: As reading all records.
  public init(
    of directory: String, consumer: String, filter: LogReader.Filter = LogReader.Filter(),
    ringDirectory: String? = nil, received: [SessionID: Int]? = nil
  ) throws(LogError) {
    try self.init(
      of: directory, consumer: consumer, filter: filter, ringDirectory: ringDirectory,
      received: received, identities: LogIdentities())
  }

  /// As ``init(of:consumer:filter:ringDirectory:received:)``, also for encrypted records.
  ///
  /// - Parameter identities: Who decrypts them. Records that none of them opens are a problem,
  ///   since they can be neither sent nor compared.
  package init(
    of directory: String, consumer: String, filter: LogReader.Filter, ringDirectory: String?,
    received: [SessionID: Int]? = nil, identities: LogIdentities
  ) throws(LogError) {
    let state = try ConsumerState(of: consumer, in: directory)
    let folder = try explaining("Opening the directory failed") { () throws(SystemError) in
      try Directory.open(directory)
    }
    let refused = try RefusedRecords.read(of: consumer, in: folder)
    let queue = ArchiveQueue(toShip: directory, filter, identities: identities)
    try explaining("Searching for archives failed") { () throws(SystemError) in
      try queue.scan()
    }
    let files = LogFiles([directory, ringDirectory].compactMap(\.self).map(LogReader.Input.path))
    let deleted = try explaining("Reading what was deleted failed") { () throws(SystemError) in
      try DeletedArchives(in: folder).notes
    }
    var sessions: [Session] = []
    for session in files.sessions {
      let id = session.identity.session
      let aside = refused.entries.filter { $0.session == id }
      var balance = Session(id, state, asideCount: aside.reduce(0) { $0 + $1.count })
      balance.add(numbersOf: session)
      if let queued = queue.sessions[id] {
        do throws(LogError) {
          try balance.add(recordsOf: queued, until: state.cursor.sessions[id])
        } catch {
          guard error.code == .encrypted else { throw error }
          // The session is not compared: none of its records can be counted.
          balance.problems = [error.message]
          sessions.append(balance)
          continue
        }
      }
      balance.checkArchives(session, state.cursor.sessions[id], deleted)
      balance.check(session, state.cursor.sessions[id], received: received?[id])
      sessions.append(balance)
    }
    if !refused.corrupted.isEmpty, !sessions.isEmpty {
      sessions[0].problems.append(
        "\(refused.corrupted.count) lines of what was refused are corrupted (of whichever session)")
    }
    self.sessions = sessions
  }
}

extension Reconciliation.Session {
  fileprivate init(_ id: SessionID, _ state: ConsumerState, asideCount: Int) {
    self.id = id
    let balance = state.balances[id] ?? ConsumerState.Balance()
    (acknowledged, refused) = (balance.acknowledged, balance.refused)
    (dropped, added, missed) = (balance.dropped, balance.added, balance.missed)
    shippedRows = balance.rows
    if asideCount < refused {
      problems.append(
        "\(refused) records were refused, and only \(asideCount) are among what was put aside")
    }
  }

  fileprivate mutating func add(numbersOf files: SessionFiles) {
    let totals = SessionGaps.totals(of: files)
    let threads = Dictionary(grouping: totals, by: \.thread).sorted { $0.key < $1.key }
    for (ordinal, writers) in threads {
      self.threads.append(
        Reconciliation.Thread(
          ordinal: ordinal, numbered: Int(clamping: writers.reduce(0) { $0 &+ $1.numbered }),
          present: Int(clamping: writers.reduce(0) { $0 &+ $1.present })))
    }
  }

  /// Reads all records, and counts those before the cursor and those behind it.
  fileprivate mutating func add(
    recordsOf session: QueuedSession, until cursor: ConsumerState.Progress?
  ) throws(LogError) {
    archived = session.archives.reduce(0) { sum, archive in
      sum + archive.frames.reduce(0) { $0 + Int($1.rows) }
    }
    passed = cursor.map { session.rows(from: nil, to: $0.next) } ?? 0
    if let cursor { before = try count(session, until: cursor.next) }
    session.goOn(at: cursor)
    waiting = try count(session, until: nil)
    lost = try session.readEnd().losses
    session.rest()
  }

  private mutating func count(
    _ session: QueuedSession, until last: LogReader.Cursor.Place?
  ) throws(LogError) -> Int {
    try session.countRecords(until: last) { problems.append("corruption: \($0)") }
  }

  /// Reports archives that are gone, were not shipped, and whose deletion nobody has noted.
  fileprivate mutating func checkArchives(
    _ files: SessionFiles, _ cursor: ConsumerState.Progress?,
    _ deleted: [ArchiveID: DeletedArchives.Note]
  ) {
    guard let cursor, let last = files.archives.map(\.fileHeader.number).max() else { return }
    let noted = deleted.keys.filter { $0.session == id && $0.number <= last }.map(\.number)
    // This does not count one number after the other: a corrupted number may have any value.
    var next = cursor.next.archive
    for number in (files.archives.map(\.fileHeader.number) + noted).sorted() where number >= next {
      if number > next {
        let last = number - 1
        problems.append(
          next == last
            ? "archive \(next) is not there; it was not shipped, and no limit has deleted it"
            : "archives \(next) to \(last) are not there; they were not shipped, and no limit has "
              + "deleted them")
      }
      next = number &+ 1
    }
  }

  fileprivate mutating func check(
    _ files: SessionFiles, _ cursor: ConsumerState.Progress?, received: Int?
  ) {
    let numbers = files.archives.map { Int($0.fileHeader.number) }
    let isWhole = numbers == Array(1..<1 + numbers.count)
    checkNumbers(files, isWhole)
    if isWhole, passed != shippedRows {
      problems.append(
        "the cursor is behind \(passed) rows, and \(shippedRows) were shipped or passed over")
    } else if passed > shippedRows {
      problems.append(
        "the cursor is behind \(passed) rows that are there, and only \(shippedRows) were shipped "
          + "or passed over")
    }
    if isWhole, acknowledged + refused != before + added - dropped {
      problems.append(
        "\(before) records are before the cursor, \(added) were added and \(dropped) left out by "
          + "edits; but \(acknowledged) are acknowledged and \(refused) refused")
    }
    if let received, received != acknowledged {
      problems.append("\(acknowledged) records are acknowledged, and the receiver has \(received)")
    }
  }

  /// Checks that losses and deletions explain the records that are missing by their numbers.
  private mutating func checkNumbers(_ files: SessionFiles, _ isWhole: Bool) {
    // Files may state any numbers: their sums may not fit in 64 bits.
    let missing = threads.reduce(0 as Int128) { $0 + Int128($1.numbered - $1.present) }
    if let ring = files.ring?.image, !files.isRunning { lost = ring.lossesAtDeath }
    let isLost = LossLedger.Cause.allCases.filter { $0 != .cut && $0 != .noRing }
      .reduce(0 as Int128) { $0 + Int128(lost.total($1)) }
    let deleted = isWhole ? 0 : max(0, shippedRows - passed) + missed
    if missing > isLost + Int128(deleted) {
      problems.append(
        "\(missing) records are missing by their numbers; \(isLost) are counted as lost, and "
          + "\(deleted) were in archives that are gone")
    }
  }
}

extension SessionFiles {
  /// Whether the session's process lives.
  fileprivate var isRunning: Bool { ring?.isRunning == true }
}
