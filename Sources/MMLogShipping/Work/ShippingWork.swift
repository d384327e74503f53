import MMLogFormat
import MMLogReader
import MMLogStorage
import MMLogSystem

/// What a shipper's thread does.
///
/// Proof of `@unchecked Sendable`: after it is made it is touched by one thread only.
final class ShippingWork: @unchecked Sendable {
  let path: String
  let consumer: String
  let configuration: Shipper.Configuration
  let control: ShipperControl
  let delivery: Delivery
  private let isOnce: Bool
  /// Present while this may work: then the consumer's file is locked.
  private var file: ConsumerFile?
  private(set) var state = ConsumerState(created: .zero)
  private(set) var queue: ArchiveQueue
  /// Crashed sessions: their records come first.
  private var crashed: Set<SessionID> = []
  /// The sessions that have ended and wait, if it is known whether they crashed.
  private var ended: Set<SessionID> = []
  /// For each session with waiting rows, by the monotonic clock: since when it has had waiting rows
  /// without a break, and when its last turn was since then.
  private var waiting: [SessionID: (since: UInt64, turn: UInt64)] = [:]
  /// The batches that were on their way when the process before this one died, and cannot be made
  /// again.
  var doubtful: [SessionID: ConsumerState.Note] = [:]
  /// The receiver's answer to a batch that it has, while the records that it has refused cannot be
  /// put aside: the batch must not be sent again for that.
  var unsettled: (id: String, count: Int, answer: LogBatch.Answer)?
  /// Notes of archives that were deleted, and that this consumer has not taken in.
  var deletedNotes: [ArchiveID: DeletedArchives.Note] = [:]
  /// What the directory was when these notes were read; nil if they are to be read again.
  var notedDirectory: (identity: FileStatus.Identity, modified: Int64)?
  /// The last session whose fields were edited, those fields before the edit, and the edited
  /// session.
  private var lastEdited:
    (session: LogReader.Session, fields: SessionFields, new: LogReader.Session)?
  /// Whether an event has said that a value was redacted because it is nested too deep.
  var hasSaidDepth = false
  private var flushes: PendingFlushes
  private var lastFailure: String?
  /// Why files could not be read at the last scan, by name: each is reported once.
  private var unreadable: [String: String] = [:]
  /// Why rings could not be recovered when that was tried last: each is reported once.
  private var unrecovered: Set<String> = []
  /// Sessions of which an archive could not be read, and when that is tried again.
  private var unreadableSessions: [SessionID: (error: String, until: UInt64)] = [:]
  private var isWaitingForAnother = false
  /// When to scan again even if there is more to ship.
  private var nextScan: UInt64 = 0
  private var nextFullScan: UInt64 = 0
  private var nextRecovery: UInt64 = 0

  init(
    _ path: String, _ consumer: String, _ destination: any LogDestination,
    _ configuration: Shipper.Configuration, _ control: ShipperControl, isOnce: Bool
  ) {
    (self.path, self.consumer, self.configuration) = (path, consumer, configuration)
    (self.control, self.isOnce) = (control, isOnce)
    delivery = Delivery(destination, configuration, control)
    flushes = PendingFlushes(path, configuration, control)
    queue = Self.newQueue(path, configuration)
  }

  /// Why a shipper cannot have this name or this configuration; nil if it can.
  static func problem(_ consumer: String, _ configuration: Shipper.Configuration) -> String? {
    if let problem = ConsumerFile.problem(withName: consumer) {
      return "The consumer's name '\(consumer)' \(problem)"
    }
    return configuration.problem.map { "The shipper's configuration is wrong: \($0)" }
  }

  // MARK: - The thread

  private static let pauseAfterFailure: Int64 = 1_000_000_000

  /// Works until it is stopped.
  func run() {
    control.send(.started)
    while !control.isStopping {
      let seen = control.wakeupCount
      do throws(LogError) {
        try pass(since: seen)
        if lastFailure != nil { control.send(.started) }
        lastFailure = nil
        control.wait(since: seen, atMost: pause)
      } catch {
        report(error)
        close()
        control.wait(since: seen, atMost: Self.pauseAfterFailure)
      }
    }
    close()
  }

  /// Works until everything that is archived is shipped.
  ///
  /// - Returns: Whether all of it is shipped; see ``Shipper/shipAll()``.
  func runOnce() throws(LogError) -> Bool {
    defer { close() }
    control.send(.started)
    do throws(LogError) {
      while !control.isStopping {
        let seen = control.wakeupCount
        try pass(since: seen)
        if isWaitingForAnother { throw isAtWork }
        if unread.isEmpty, !state.batches.keys.contains(where: mayRead),
          !control.orders.withLock({ $0.isSuspended })
        {
          return queue.unreadable.isEmpty && unreadableSessions.isEmpty
        }
        control.wait(since: seen, atMost: pause)
      }
      return false
    } catch {
      report(error)
      throw error
    }
  }

  var isAtWork: LogError {
    LogError(
      .archiveInUse,
      "Another shipper is at work for the consumer \(consumer) of \(path): wait until it has "
        + "ended, or choose another name", path: path)
  }

  private func report(_ error: LogError) {
    control.note(error, isNew: lastFailure != error.message)
    lastFailure = error.message
  }

  /// Closes the consumer's file. What was being read is read again.
  func close() {
    file = nil
    queue = Self.newQueue(path, configuration)
    waiting = [:]
    flushes = PendingFlushes(path, configuration, control)
  }

  // MARK: - One pass

  /// - Parameter seen: How many wakeups there were before the pass.
  private func pass(since seen: UInt32) throws(LogError) {
    guard try open() else { return }
    try checkRoomAside()
    // A flush that is asked for from now on waits for the next pass: this pass may have archived
    // before the flush.
    let numbers = control.orders.withLock { $0.flushes.map(\.number) }
    recoverRings()
    let archived = flushes.askForArchiving(for: numbers)
    try scan()
    takeInUndone()
    try readDeleted()
    for note in state.batches.values where !mayNotSend && mayRead(note.session) { try resend(note) }
    try takeInDeleted()
    flushes.wait(archived, for: queue.sessions.compactMapValues(\.end))
    while !mayNotSend, let session = next() {
      if let wait = policyWait() {
        control.wait(since: seen, atMost: wait)
        break
      }
      waiting[session.identity.session]?.turn = Clock.monotonic()
      guard try ship(session) else { break }
      // What is archived from now on has not waited yet.
      if !session.hasUnread { waiting[session.identity.session] = nil }
      if Clock.monotonic() >= nextScan { break }
    }
    try takeInRemoved()
    try endSessions()
    answerFlushes()
    noteStatistics()
  }

  /// How long to wait for the next pass, in nanoseconds.
  private var pause: Int64 {
    if isWaitingForAnother { return Self.pauseAfterFailure }
    let isSuspended = control.orders.withLock { $0.isSuspended }
    if !isSuspended, next() != nil { return 0 }
    return configuration.scanInterval.nanoseconds
  }

  /// Locks and reads the consumer's file. If it is open already, makes sure that the file is still
  /// in its place.
  ///
  /// - Returns: False if another shipper has it.
  func open() throws(LogError) -> Bool {
    let directory = try openDirectory()
    if let isInPlace = try isInPlace(directory) {
      if isInPlace { return true }
      // Somebody has moved the directory or the file away: the cursor on the disk counts, not the
      // state in memory.
      close()
    }
    guard var file = try ConsumerFile(consumer, in: directory) else {
      if !isWaitingForAnother, !isOnce { control.send(.waitingForAnother) }
      isWaitingForAnother = true
      return false
    }
    isWaitingForAnother = false
    if let text = try file.read() {
      state = try ConsumerState(noted: text, in: file.name, of: directory)
      let known = state.target
      try state.take(configuration.target, of: consumer, in: path)
      if state.target != known { try file.write(state.text, isSafe: false, in: directory) }
    } else {
      state = ConsumerState(created: .now)
      state.isSelection = configuration.isSelection
      state.target = configuration.target
      try file.write(state.text, isSafe: true, in: directory)
      if file.wasThere {
        control.send(
          .failed(
            error: LogError(
              .corruptedFile,
              "\(directory.path(of: file.name)) was empty: what was shipped is not known, and all "
                + "that is there is shipped, also what was shipped before",
              path: path)))
      }
    }
    self.file = consume file
    queue = Self.newQueue(path, configuration, after: state.cursor)
    (nextFullScan, nextRecovery) = (0, 0)
    return true
  }

  private static func newQueue(
    _ path: String, _ configuration: Shipper.Configuration,
    after cursor: LogReader.Cursor = LogReader.Cursor()
  ) -> ArchiveQueue {
    ArchiveQueue(
      toShip: path, configuration.filter, ringDirectory: configuration.ringDirectory,
      identities: configuration.identities, after: cursor)
  }

  /// Nil if no file is open.
  private func isInPlace(_ directory: borrowing Directory) throws(LogError) -> Bool? {
    do throws(SystemError) { return try file?.isInPlace(in: directory) } catch {
      throw LogError(error, while: "Searching for the consumer's state failed")
    }
  }

  func openDirectory() throws(LogError) -> Directory {
    try explaining("Opening the directory failed") { () throws(SystemError) in
      try Directory.openForItsUser(path)
    }
  }

  /// Writes what is known now to the consumer's file.
  ///
  /// - Throws: Also if another directory has the path now, or if the state's file was replaced: the
  ///   archives that were read may be those of another directory.
  func note(isSafe: Bool) throws(LogError) {
    let directory = try openDirectory()
    guard try isInPlace(directory) == true else {
      throw LogError(
        .system,
        "\(path) is not the directory any more that it was, or the consumer's state was replaced: "
          + "it is read again", path: path)
    }
    try file?.write(state.text, isSafe: isSafe, in: directory)
  }

  func change(_ body: (inout ConsumerState) -> Void) { body(&state) }

  /// Returns a session as the receiver is to see it: one object for all its records, as before.
  func edited(_ session: LogReader.Session) -> LogReader.Session {
    if configuration.edits.isEmpty { return session }
    // The fields come with the session's first records.
    let fields = session.fieldsInWords
    if let last = lastEdited, last.session === session, last.fields == fields { return last.new }
    let new = RecordEdit.session(session, after: configuration.edits)
    lastEdited = (session, fields, new)
    return new
  }

  // MARK: - Looking for records

  private static let fullScanInterval: UInt64 = 5_000_000_000
  private static let recoveryInterval: UInt64 = 1_000_000_000

  private func scan() throws(LogError) {
    let now = Clock.monotonic()
    let isFull = now >= nextFullScan
    if isFull { nextFullScan = now + Self.fullScanInterval }
    nextScan = now + UInt64(max(50_000_000, configuration.scanInterval.nanoseconds))
    try explaining("Searching for archives failed") { () throws(SystemError) in
      try queue.scan(everything: isFull)
    }
    for (session, queued) in queue.sessions {
      if !queued.hasUnread {
        waiting[session] = nil
      } else if waiting[session] == nil {
        waiting[session] = (now, now)
      }
    }
    if unread.count > 1 { noteCrashed() }
    for (name, error) in queue.unreadable.sorted(by: { $0.key < $1.key })
    where unreadable[name] != error.message { control.note(error, isNew: true) }
    unreadable = queue.unreadable.mapValues(\.message)
  }

  private func noteCrashed() {
    let waiting = Set(unread.keys).subtracting(queue.sessionsWithRing)
    defer { ended = waiting }
    // The scan reads the index of every archive.
    if waiting.isSubset(of: ended) { return }
    let archives = (try? Catalog(of: path, store: nil).scan()) ?? []
    for archive in archives where archive.isOfCrash {
      crashed.insert(archive.session)
    }
  }

  /// The sessions that have something to be shipped. A session waits if one of its archives cannot
  /// be read: the records behind that archive would go ahead of it.
  private var unread: [SessionID: QueuedSession] {
    queue.sessions.filter { id, session in session.hasUnread && mayRead(id) }
  }

  /// Whether a session can be read, as far as that is known.
  private func mayRead(_ session: SessionID) -> Bool {
    queue.error(of: session) == nil
      && unreadableSessions[session]?.until ?? 0 <= Clock.monotonic()
  }

  /// Notes why an archive of a session cannot be read now; nil if all could be read. Each error is
  /// reported once; the other sessions go on.
  func noteReading(of session: QueuedSession, _ error: LogError?) {
    let id = session.identity.session
    guard let error else { return unreadableSessions[id] = nil }
    control.note(error, isNew: unreadableSessions[id]?.error != error.message)
    unreadableSessions[id] = (error.message, Clock.monotonic() + Self.fullScanInterval)
  }

  /// Returns the session whose records are to be shipped next, if any are due: crashed sessions
  /// first, then the session that has waited longest for its turn. A batch that is on its way is
  /// sent again before more of its session.
  private func next() -> QueuedSession? {
    let now = Clock.monotonic()
    let due = unread.filter { state.batches[$0.key] == nil && isDue($0.value, now) }
    return due.values.min { first, second in
      let firstCrashed = crashed.contains(first.identity.session)
      if firstCrashed != crashed.contains(second.identity.session) { return firstCrashed }
      return waiting[first.identity.session]?.turn ?? 0
        < waiting[second.identity.session]?.turn ?? 0
    }
  }

  /// Whether what is unread of a session is to be shipped now.
  private func isDue(_ session: QueuedSession, _ now: UInt64) -> Bool {
    let unread = session.unread
    if isOnce || unread.hasClosed || !flushes.isEmpty { return true }
    // Without rows, the unread part is corruption, in an archive to which nothing more is written.
    if unread.rows == 0 { return true }
    let id = session.identity.session
    if unread.rows >= configuration.maximumRecords || unread.bytes >= configuration.maximumBytes
      || !queue.mayHaveRing(id)
    {
      return true
    }
    return now &- (waiting[id]?.since ?? now) >= UInt64(configuration.age.nanoseconds)
  }

  private func policyWait() -> Int64? {
    guard let policy = configuration.policy,
      case .wait(let duration) = policy(control.statistics.withLock { $0 })
    else { return nil }
    return max(1_000_000, duration.nanoseconds)
  }

  // MARK: - Rings

  private func recoverRings() {
    let now = Clock.monotonic()
    guard configuration.recoversRings, now >= nextRecovery else { return }
    nextRecovery = now + Self.recoveryInterval
    let rings = configuration.ringDirectory ?? path
    guard let names = try? Directory.open(rings).names(),
      names.contains(where: { FileNames.Ring(fileName: $0) != nil })
    else { return }
    var (sessions, problems) = ([SessionID](), [LogError]())
    do throws(LogError) {
      let add = { (error: LogError) in problems.append(error) }
      let recovered = try LogRecovery.recoverKnown(
        rings, archiveDirectory: path, left: add, problem: add)
      sessions = recovered.map(\.identity.session)
      for session in recovered { noteCorruption(of: session) }
    } catch {
      problems.append(error)
    }
    for error in problems where !unrecovered.contains(error.message) {
      control.note(error, isNew: true)
    }
    unrecovered = Set(problems.map(\.message))
    if sessions.isEmpty { return }
    crashed.formUnion(sessions)
    control.send(.recovered(sessions: sessions))
  }

  /// Reports what was corrupted in a ring, and counts a gap if records were lost by that.
  private func noteCorruption(of session: RecoveredSession) {
    guard let sentence = session.corruptionSentence else { return }
    if session.losses.total(.corrupted) > 0 { control.statistics.withLock { $0.gaps += 1 } }
    control.note(LogError(.corruptedFile, sentence, path: path), isNew: true)
  }

  // MARK: - Flushing

  private func answerFlushes() {
    // A batch whose session has no file that can be opened is not acknowledged, and the queue does
    // not know of that session.
    if control.isStopping || state.batches.keys.contains(where: { queue.sessions[$0] == nil }) {
      return
    }
    flushes.answer { session, target in
      // A batch that is on its way counts as read, and is not acknowledged.
      if state.batches[session] != nil { return false }
      let queued = queue.sessions[session]
      if queued?.hasUnread != true, queued?.goneAtEnd == nil { return true }
      return state.cursor.sessions[session].map { $0.next >= target.next } ?? false
    }
  }

  // MARK: - The end of sessions

  /// Releases what was needed to read sessions that have nothing more to ship, and notes that those
  /// of them which have ended are shipped whole.
  private func endSessions() throws(LogError) {
    var isNews = false
    for (id, session) in queue.sessions
    where !session.hasUnread && session.goneAtEnd == nil {
      if session.hasEnded, state.batches[id] == nil, state.cursor.sessions[id]?.isEnded != true,
        queue.error(of: id) == nil
      {
        session.noteEnd()
        (state.cursor.sessions[id], isNews) = (session.given, true)
      }
      if !queue.sessionsWithRing.contains(id), session.isReading { session.rest() }
      // If more of a session may come, the queue has to know how far the session is shipped.
      if session.archives.isEmpty, !queue.mayHaveRing(id) { queue.forget(id) }
    }
    if isNews { try note(isSafe: false) }
    // A session that has ended, and of which nothing is left, need not be known any longer.
    let gone = state.cursor.sessions.filter { id, given in
      (given.isEnded || queue.filteredOut.contains(id))
        && queue.sessions[id] == nil && !queue.mayHaveRing(id)
        && state.batches[id] == nil && doubtful[id] == nil && queue.error(of: id) == nil
    }.keys
    if gone.isEmpty || !deletedNotes.isEmpty { return }
    for session in gone {
      state.cursor.sessions[session] = nil
      state.balances[session] = nil
    }
  }

  private func noteStatistics() {
    var (waiting, oldest) = (0, Timestamp?.none)
    for session in queue.sessions.values {
      waiting += session.unread.rows
      if let first = session.firstUnread { oldest = min(oldest ?? first, first) }
    }
    let isSuspended = control.orders.withLock { $0.isSuspended }
    control.statistics.withLock {
      $0.waiting = waiting
      $0.lag = oldest.map { max(.zero, .now - $0) } ?? .zero
      $0.isSuspended = isSuspended
    }
  }
}

extension ArchiveQueue {
  /// Makes the queue of a directory's archives, to ship their records, or to count the waiting
  /// ones.
  convenience init(
    toShip path: String, _ filter: LogReader.Filter, ringDirectory: String? = nil,
    identities: LogIdentities, after cursor: LogReader.Cursor = LogReader.Cursor()
  ) {
    self.init(
      of: path, ringDirectory: ringDirectory, filter: filter, after: cursor,
      identities: identities,
      keyAdvice: "Give an identity that does (mmlog-ship has --identity FILE), or send whole "
        + "archives (put, s3)")
  }
}
