import CMMLogCore
import MMLogCrash
import MMLogFormat
import MMLogStorage
import MMLogSystem
import Synchronization

/// The store's one background thread: moves records from the ring to archives.
///
/// Proof of `@unchecked Sendable`: what is not atomic or under a lock belongs to the drainer's
/// thread, and to whoever closes the store after that thread has ended.
final class Drainer: @unchecked Sendable {
  private struct RotationRequests {
    var waiting: [@Sendable (Result<ArchiveInfo?, LogError>) -> Void] = []
    var isOver = false
  }

  private let session: Session
  private let series: ArchiveSeries
  private let events: EventHub
  private let levels: LevelControl
  /// Nil if everything is archived.
  private let flight: FlightRecorder?
  private let interval: Int64
  private let syncInterval: Int64?
  private let syncLevels: UInt8
  private var rows = RowBuilder()
  /// How far each segment's present use is taken: the greatest ticks, and the number of the next
  /// entry.
  private var progress: [UInt64: (ticks: UInt64, number: UInt64)] = [:]
  private var lowestGeneration: UInt64 = 0
  /// Segments that were opened later are left for the next pass.
  private var newestGeneration: UInt64 = 0
  /// Records that found no way into the ring; they are counted there by the drainer.
  private let lossesWithoutRing: LossCounters
  private let counters: DrainCounters
  private let echo: (any RecordEcho)?
  private var reportedLosses = LossLedger()
  private var lastReading: UInt64 = 0
  private var knowsOfLostPages = false
  /// When it was first seen that the handler of a fatal signal has returned.
  private var handlerReturned: UInt64?
  private var lastSync: UInt64 = 0
  private var needsSync = false
  private var retryDelay: Int64 = 0
  /// Receives each archive that was closed, with its path.
  private let archiveClosed: @Sendable (String) -> Void
  private let settings: StoreSettings
  private let rotations = Guarded(RotationRequests())
  /// Those that a pass has found at its beginning: what was logged before them is in what it moves.
  private var taken: [@Sendable (Result<ArchiveInfo?, LogError>) -> Void] = []
  /// ``Reopening/count`` when the files were opened.
  private var reopened = Reopening.count
  /// Paths of archives that the store has not been notified of.
  private var newlyClosed: [String] = []
  private var isFilling = false

  private let flushes = PassRequests()
  private let syncRequested = Atomic<Bool>(false)
  private let captureRequested = Atomic<Bool>(false)
  private let isStopping = Atomic<Bool>(false)
  private var thread: Thread?

  init(
    _ session: Session, _ series: ArchiveSeries, _ events: EventHub, _ levels: LevelControl,
    _ configuration: LogStore.Configuration, _ settings: StoreSettings,
    _ lossesWithoutRing: LossCounters, _ counters: DrainCounters,
    archiveClosed: @escaping @Sendable (String) -> Void
  ) {
    self.lossesWithoutRing = lossesWithoutRing
    self.counters = counters
    echo = configuration.echo?.begin(session.ring.identity)
    self.session = session
    self.series = series
    self.events = events
    self.levels = levels
    flight = FlightRecorder(session.ring, configuration)
    interval = configuration.drainInterval.nanoseconds
    syncInterval = configuration.syncInterval?.nanoseconds
    syncLevels = configuration.syncLevel.map { .max << $0.rawValue } ?? 0
    self.archiveClosed = archiveClosed
    self.settings = settings
    series.resumption = configuration.resumption
    series.noteResumed = { [ring = session.ring] (archive) throws(SystemError) in
      ring.noteResumed(archive)
    }
    series.note = { [ring = session.ring] (number, frames) throws(SystemError) in
      ring.noteArchive(number, frames: frames)
    }
    series.report = { [unowned self] event in
      switch event {
      case .willClose(let path, let reason): events.send(.willRotate(archive: path, reason))
      case .closed(let path, _):
        events.send(.rotated(archive: path))
        newlyClosed.append(path)
      case .takenAway(let path): events.send(.takenAway(path: path))
      case .synced(let failed): counters.endSync(failed: failed)
      }
    }
  }

  /// Taken during a pass. A fork waits for it a little: a child whose parent was in the middle of
  /// one may find a lock of the Swift runtime taken for ever.
  let passLock = SystemMutex()

  /// Starts the thread.
  ///
  /// - Parameters:
  ///   - first: What the thread does before anything else.
  ///   - survived: Called when a record is to be made of a fatal signal that the process has
  ///     survived.
  ///   - ringIsLost: Receives why the ring cannot be used any more, at most once a second; whether
  ///     another has come in its place, so that there is no need to ask again.
  func start(
    first: @escaping @Sendable () -> Void = {},
    survived: @escaping @Sendable () -> Void = {},
    ringIsLost: @escaping @Sendable (LogError) -> Bool
  ) throws(LogError) {
    do {
      thread = try Thread(name: "mmlog-drainer") { [self] in
        first()
        run(survived, ringIsLost)
      }
    } catch {
      throw LogError(error, while: "Starting the drainer's thread failed")
    }
  }

  // MARK: - Asking for progress

  /// Waits until everything that was logged before is in an archive.
  ///
  /// - Parameters:
  ///   - syncing: Whether it also has to be safe from a power cut.
  ///   - limit: How long to wait at most, in nanoseconds.
  func flush(syncing: Bool, within limit: Int64) throws(LogError) {
    if syncing { syncRequested.store(true, ordering: .releasing) }
    try flushes.wait(
      atMost: limit, for: { session.ring.space.callDrainer() },
      else: "Flushing took longer than allowed: the disk is slow or stands still. "
        + "The records are safe in the ring as long as the machine runs.")
  }

  /// Waits until the flight records are in an archive. See ``flush(syncing:within:)``.
  func capture(within limit: Int64) throws(LogError) {
    captureRequested.store(true, ordering: .releasing)
    try flush(syncing: false, within: limit)
  }

  /// Has settings count at once.
  func settingsChanged() { session.ring.space.callDrainer() }

  /// Has the current archive closed when everything is in it that was logged before.
  ///
  /// - Parameter answer: Is given the archive; nil if there is none.
  func rotate(_ answer: @escaping @Sendable (Result<ArchiveInfo?, LogError>) -> Void) {
    let isOver = rotations.withLock { requests in
      if !requests.isOver { requests.waiting.append(answer) }
      return requests.isOver
    }
    if isOver { return answer(.failure(StoreCore.closedError)) }
    session.ring.space.callDrainer()
  }

  /// Ends the thread. What is left is moved by ``finish()``.
  func stop() {
    isStopping.store(true, ordering: .releasing)
    session.ring.space.callDrainer()
    thread?.join()
  }

  /// Moves everything, says that the session is closed, and closes the last archive. After
  /// ``stop()``, when no one logs any more.
  func finish() throws(LogError) {
    defer { reportClosed() }
    do {
      // Whatever their ticks: processors' counters may differ by a little.
      try drain(until: .max)
      try capture()
      TestPoint.reach(.closeDrained)
      countLostSegments()
      session.giveUpSurvivedSignals()
      session.ring.take(lossesWithoutRing)
      try series.append(session.ring.losses)
      // Of a session in which nothing was logged nothing is left.
      if series.isEmpty { return }
      try series.end(
        SessionEnd(.closed, time: Clock.realtime()), dictionary: session.ring.dictionary)
    } catch {
      throw LogError(
        error,
        while: "Closing the archive failed; what is not in it is left in the ring and will be "
          + "recovered at the next start")
    }
  }

  /// Has what follows written where the store's path leads now.
  func expectMove() { series.expectMove() }

  /// Counts one loss for each segment of which something is left that cannot be read. How many
  /// records it was, nobody knows.
  private func countLostSegments() {
    guard session.ring.hasLostPages else { return }
    let left = session.ring.pool.busyCount
    if left > 0 { session.ring.countLoss(.corrupted, .critical, UInt64(left)) }
  }

  /// Answers those who still wait for a flush, and ends the echo. After ``finish()``, or its
  /// failure.
  func settle(_ failure: LogError?) {
    let waiting = rotations.withLock { requests in
      defer { requests = RotationRequests(isOver: true) }
      return requests.waiting
    }
    counters.endSigns()
    for answer in waiting { answer(.failure(failure ?? StoreCore.closedError)) }
    flushes.serve(.max, failure)
    echo?.finish()
  }

  // MARK: - The thread

  private func run(_ survived: () -> Void, _ ringIsLost: (LogError) -> Bool) {
    let space = session.ring.space
    // Requests made before the thread came to life count.
    var (served, answered): (UInt32, UInt32) = (0, 0)
    var isReplaced = false
    var nextPass = Clock.monotonic() &+ UInt64(interval)
    defer { counters.endSigns() }
    while true {
      counters.giveSign()
      levels.poll()
      if checkIfDue() {
        // The loop goes on with a lost ring: threads may still wait for a segment.
        if !isReplaced, let problem = session.ring.problem() { isReplaced = ringIsLost(problem) }
        collectSurvivedSignal()
      }
      // In this order: whoever asks for something says what before it makes the counts rise.
      let (calls, requests) = (space.callCount, space.requestCount)
      if isStopping.load(ordering: .acquiring) { return }
      var now = Clock.monotonic()
      // A disk that fails is tried again after a while, however many records find no room.
      if calls != answered || (requests != served && retryDelay == 0) || now >= nextPass
        || (retryDelay == 0 && (isRotationDue || flight?.isAsked == true))
      {
        passLock.withLock { pass() }
        (served, answered) = (requests, calls)
        now = Clock.monotonic()
        nextPass = now &+ UInt64(retryDelay > 0 ? min(retryDelay, interval) : interval)
      }
      // After the pass, which may have freed a segment for the record.
      if session.survivals.first != nil { survived() }
      // Once a second for the clocks, whatever the interval.
      let nap = min(Int64(nextPass &- min(now, nextPass)), 1_000_000_000)
      if retryDelay > 0 {
        space.drainerRests(atMost: nap, unlessCalledSince: answered)
      } else {
        space.drainerSleeps(atMost: nap, unlessAskedSince: served)
      }
    }
  }

  /// Does everything that is due, and reports a failure once, and its end.
  private func pass() {
    let ticket = flushes.newestTicket
    taken += rotations.withLock { requests in
      defer { requests.waiting = [] }
      return requests.waiting
    }
    let syncs = syncRequested.exchange(false, ordering: .acquiringAndReleasing)
    if captureRequested.exchange(false, ordering: .acquiringAndReleasing) { flight?.ask(.program) }
    session.ring.take(lossesWithoutRing)
    series.settings.rotation = settings.current.rotation
    reportFilling()
    var failure: LogError?
    do {
      try drain(until: mmlog_ticks())
      try capture()
      flight?.trim()
      try series.append(session.ring.losses)
      try rotateIfAsked()
      try series.rotateIfDue(dictionary: session.ring.dictionary)
      try syncIfDue(asked: syncs)
      if retryDelay > 0 { events.send(.resumed) }
      retryDelay = 0
    } catch {
      if syncs { syncRequested.store(true, ordering: .releasing) }
      failure = LogError(error, while: "Writing the archive failed; records stay in the ring")
      if retryDelay == 0, let failure { events.send(.failed(failure)) }
      if let failure { answerRotations(.failure(failure)) }
      retryDelay = min(max(retryDelay * 2, 50_000_000), 1_000_000_000)
    }
    reportClosed()
    reportLosses()
    counters.endPass(failed: failure != nil)
    flushes.serve(ticket, failure)
  }

  /// Once a second, and when pages of the ring are lost for the first time: reads the clocks.
  ///
  /// - Returns: Whether it is time to check the ring.
  private func checkIfDue() -> Bool {
    let now = Clock.monotonic()
    let isNews = session.ring.hasLostPages && !knowsOfLostPages
    guard now &- lastReading >= 1_000_000_000 || isNews else { return false }
    knowsOfLostPages = knowsOfLostPages || isNews
    lastReading = now
    session.ring.readClocks()
    CrashPlace.readModules()
    EndingPlace.deny()
    return true
  }

  /// Takes over the report of a fatal signal if the process lives on a second after its handler has
  /// returned.
  private func collectSurvivedSignal() {
    guard session.ring.hasSurvivedSignal else {
      handlerReturned = nil
      return
    }
    let since = handlerReturned ?? lastReading
    handlerReturned = since
    if lastReading &- since >= 1_000_000_000 { session.collectSurvivedSignal() }
  }

  // MARK: - Rotation

  private var isRotationDue: Bool { series.dueRotation() != nil || Reopening.count != reopened }

  private func rotateIfAsked() throws(SystemError) {
    let requests = Reopening.count
    guard !taken.isEmpty || requests != reopened else { return }
    let archive = try series.rotate(dictionary: session.ring.dictionary)
    reopened = requests
    answerRotations(.success(archive))
  }

  private func reportClosed() {
    for path in newlyClosed { archiveClosed(path) }
    newlyClosed = []
  }

  private func answerRotations(_ result: Result<ArchiveInfo?, LogError>) {
    for answer in taken { answer(result) }
    taken = []
  }

  /// Reports once that the ring is three quarters full, until it is less than half full.
  private func reportFilling() {
    let pool = session.ring.pool
    let part = Double(pool.busyCount) / Double(pool.count)
    if part >= 0.75 && !isFilling { events.send(.ringFilling(part)) }
    isFilling = part >= (isFilling ? 0.5 : 0.75)
  }

  private func syncIfDue(asked: Bool) throws(SystemError) {
    let now = Clock.monotonic()
    let isDue = syncInterval.map { now &- lastSync >= UInt64($0) } ?? false
    guard needsSync || asked, asked || isDue || mustSync else { return }
    try series.sync()
    lastSync = now
    needsSync = false
    mustSync = false
  }

  /// Whether a record of a level was written that is to be synced at once.
  private var mustSync = false

  private func reportLosses() {
    let losses = session.ring.losses
    guard losses != reportedLosses else { return }
    reportedLosses = losses
    events.send(.dropped(losses))
  }

  // MARK: - Flight records

  /// Archives flight records, if there is a reason to.
  private func capture() throws(SystemError) {
    guard let done = try flight?.captureIfDue(to: series) else { return }
    if done.count > 0 { needsSync = true }
    events.send(.captured(done.count, done.reason))
  }

  // MARK: - Draining

  /// Moves all records that are committed now, frame by frame.
  ///
  /// - Parameter cutoff: Later ones are left, so that frames overlap as little as possible, and no
  ///   record is taken whose thread has an earlier one that was committed just after its segment
  ///   was inspected.
  private func drain(until cutoff: UInt64) throws(SystemError) {
    // Segments are inspected one after the other, and meanwhile a thread may go on in one that was
    // passed over as free, and then in one that is still to come. The fragments of a record have
    // the same ticks: only this keeps their order.
    newestGeneration = session.ring.generationsStarted.load(ordering: .acquiring)
    let limit = session.policy == .overwriteOldest ? session.ring.pool.count / 4 : .max
    while true {
      if try moveFrame(cutoff, maximumAcquired: limit) { continue }
      if limit == .max { break }
      // What is left may be in younger segments.
      if try !moveFrame(cutoff, maximumAcquired: .max) { break }
    }
    // What was discarded is not freed here.
    if progress.count > 2 * session.ring.pool.count {
      progress = progress.filter { $0.key >= lowestGeneration }
    }
  }

  /// Moves one frame's worth of records, and frees the segments that are then empty.
  ///
  /// - Parameter maximumAcquired: How many sealed segments it may keep from being discarded
  ///   meanwhile.
  /// - Returns: Whether it moved any.
  private func moveFrame(_ cutoff: UInt64, maximumAcquired: Int) throws(SystemError) -> Bool {
    counters.giveSign()
    var acquired: Set<Int> = []
    var pinned: [Int] = []
    defer {
      for index in pinned { session.ring.pool.unpin(index) }
      for index in acquired { session.ring.pool.release(index) }
    }
    var collector = FrameCollector(
      runs(&acquired, &pinned, atMost: maximumAcquired), cutoff: cutoff)
    rows.removeAll()
    var fields = FrameHeader(.records)
    fields.ranges = collector.fill(&rows, size: RowBuilder.targetSize)
    // The oldest first: of those that are retained for flight records, threads may take the oldest
    // at any moment.
    let finished = collector.runs.filter { $0.isEmpty && acquired.contains($0.index) }
      .sorted { $0.header.generation < $1.header.generation }
    let emptied = Set(finished.map(\.index))
    if !rows.isEmpty {
      lowestGeneration =
        session.ring.lowestGeneration { emptied.contains($0) } ?? lowestGeneration
      fields.clock = session.ring.clock
      fields.lowestGeneration = lowestGeneration
      TestPoint.reach(.drainerBeforeFrame)
      let written = try series.append(rows, dictionary: session.ring.dictionary, fields)
      counters.add(rows, written: written)
      echo?.take(rows, dictionary: session.ring.dictionary, fields.clock)
      TestPoint.reach(.drainerAfterFrame)
      needsSync = true
      if rows.summary.levels & syncLevels != 0 { mustSync = true }
      flight?.note(levels: rows.summary.levels)
    }
    publish(collector)
    TestPoint.reach(.drainerPublished)
    acquired.subtract(emptied)
    for run in finished { free(run) }
    TestPoint.reach(.drainerFreed)
    try series.rotateIfDue(dictionary: session.ring.dictionary)
    return !rows.isEmpty
  }

  /// What is to be moved, from where the last frame ended. Sealed segments are acquired, so that
  /// nobody discards them meanwhile; open ones are pinned, should they be sealed meanwhile.
  private func runs(
    _ acquired: inout Set<Int>, _ pinned: inout [Int], atMost limit: Int
  ) -> [SegmentRun] {
    let ring = session.ring
    let newest = generationLimit(limit)
    var runs: [SegmentRun] = []
    for index in 0..<ring.pool.count where ring.generation(ofSegment: index) <= newest {
      if ring.pool.pinOpen(index) {
        pinned.append(index)
      } else {
        guard ring.pool.acquireInTurn(index) else { continue }
        acquired.insert(index)
      }
      let run = run(index, isSealed: acquired.contains(index))
      if let run, run.header.generation <= newest { runs.append(run) }
    }
    return runs
  }

  /// The newest generation that may be in a frame that acquires so many sealed segments at most: a
  /// flight recorder needs others that it can discard, however long the disk stands still.
  private func generationLimit(_ limit: Int) -> UInt64 {
    let ring = session.ring
    if limit >= ring.pool.count { return newestGeneration }
    let sealed = (0..<ring.pool.count).filter { ring.pool.status($0) == .sealed }
    let generations = sealed.map { ring.generation(ofSegment: $0) }.sorted()
    return generations.count > limit ? min(generations[limit], newestGeneration) : newestGeneration
  }

  private func run(_ index: Int, isSealed: Bool) -> SegmentRun? {
    // Nil for one that a thread is just opening. The state is stored last, and loaded first.
    guard session.ring.state(ofSegment: index) != SegmentLayout.stateFree,
      let header = session.ring.header(ofSegment: index), !header.isFree
    else { return nil }
    let end = isSealed && header.end > 0 ? header.end : session.ring.geometry.segmentSize
    return SegmentRun(
      index: index, header: header,
      scanner: session.ring.scanner(ofSegment: index, header, from: header.drained, to: end),
      number: progress[header.generation]?.number ?? header.firstNumber,
      lastTicks: progress[header.generation]?.ticks ?? 0,
      fate: flight.map { flight in { record, _ in flight.fate(of: record) } })
  }

  private func publish(_ collector: borrowing FrameCollector) {
    for run in collector.runs where run.taken > run.header.drained {
      // Before a crash could leave them to be forgotten without being counted: it is the other way
      // round that is none.
      flight?.note(run)
      session.ring.publish(drained: run.taken, ofSegment: run.index)
      progress[run.header.generation] = (run.lastTicks, run.number ?? 0)
    }
  }

  private func free(_ run: SegmentRun) {
    progress[run.header.generation] = nil
    if !run.corruption.isEmpty {
      session.ring.countLoss(.corrupted, .critical, UInt64(run.corruption.count))
    }
    if flight?.retain(run.index) != true { session.ring.free(segment: run.index) }
  }
}
