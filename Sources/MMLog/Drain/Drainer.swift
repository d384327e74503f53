import CMMLogCore
import MMLogCrash
import MMLogFormat
import MMLogStorage
import MMLogSystem
import Synchronization

/// The store's background thread that moves records from the ring to archives. ``Handoff`` moves
/// them; ``DrainSchedule`` says when.
///
/// Proof of `@unchecked Sendable`: what is not atomic or under a lock belongs to the drainer's
/// thread, and to whoever closes the store after that thread has ended.
final class Drainer: @unchecked Sendable {
  /// What the drainer calls, on its own thread.
  struct Callbacks {
    /// Before anything else.
    var began: @Sendable () -> Void = {}
    /// When a fatal signal that the process has survived is to become a record.
    var survivedSignal: @Sendable () -> Void
    /// Receives why the ring cannot be used any more, at most once a second. Returns whether
    /// another ring has replaced it, so that the drainer need not check it again. Must not call
    /// the drainer, which is in the middle of its checks.
    var lostRing: @Sendable (LogError) -> Bool
    /// Receives the path of each archive that was sealed.
    var sealedArchive: @Sendable (String) -> Void
  }

  private let session: Session
  private let series: ArchiveSeries
  private let events: EventHub
  private let levels: LevelControl
  private let settings: LockedValue<StoreSettings>
  private let counters: DrainCounters
  /// Counts records that found no way into the ring. The drainer moves the counts into the ring.
  private let lossesWithoutRing: LossCounters
  /// Nil if everything is archived.
  private let flight: FlightRecorder?
  private let taps: [any RecordTap]
  private let callbacks: Callbacks
  private let maintenanceHook: (@Sendable (LogStore.MaintenancePhase) -> Void)?
  /// How long closing waits for the taps, in nanoseconds.
  private let tapTimeout: Int64
  /// Whether this pass has written anything.
  private var isWriting = false
  private var handoff: Handoff
  /// Nil if the drainer's thread encodes frames, too.
  private let encodingThread: EncodingThread?
  private var schedule: DrainSchedule
  private var pace: SegmentPace
  /// Whether the last pass has archived records.
  private var hasMoved = false
  private var syncs: SyncSchedule
  /// When it is tried again to make archives safe that were left before they were.
  private var leftRetry = Backoff(longest: 60_000_000_000)
  private var checks: RingChecks
  /// ``ProcessRequests/reopenings`` when the open archive was begun.
  private var reopened = ProcessRequests.reopenings
  /// Archives that the store has not been notified of.
  private var newlySealed: [String] = []

  /// The request from outside the process that the present pass serves; nil if there is none.
  private var request: ControlRequest?
  /// The newest request that was answered.
  private var answeredRequest: UInt32 = 0

  private let flushes = PassRequests()
  /// Flushes that ask for a sync, too. Their tickets say that a sync is asked for: a pass that does
  /// not serve a flush could take a flag that the flush has raised.
  private let diskFlushes = PassRequests()
  /// Whether the last pass with a sync has failed: then the next one syncs, too.
  private var isSyncOwed = false
  private let rotations = RotationRequests()
  private let captureRequested = Atomic<Bool>(false)
  private let isStopping = Atomic<Bool>(false)
  private var thread: Thread?

  init(
    _ session: Session, _ series: ArchiveSeries, _ events: EventHub, _ levels: LevelControl,
    _ configuration: LogStore.Configuration, _ settings: LockedValue<StoreSettings>,
    _ lossesWithoutRing: LossCounters, _ counters: DrainCounters, _ callbacks: Callbacks
  ) {
    (self.session, self.series, self.events, self.levels) = (session, series, events, levels)
    (self.settings, self.counters, self.callbacks) = (settings, counters, callbacks)
    self.lossesWithoutRing = lossesWithoutRing
    maintenanceHook = configuration.maintenanceHook
    tapTimeout = configuration.tapTimeout.nanoseconds
    let reports = TapReports(events, counters)
    taps = configuration.recordTaps.map { $0.begin(session.ring.identity, reports) }
    flight = FlightRecorder(session.ring, configuration, counters, taps)
    encodingThread = configuration.drainThreads > 1 ? EncodingThread() : nil
    handoff = Handoff(session, series, counters, taps, flight, encodingThread)
    handoff.reducesCompression = configuration.reducesCompression
    schedule = DrainSchedule(interval: Self.interval(configuration), now: Clock.monotonic())
    pace = SegmentPace(now: Clock.monotonic())
    syncs = SyncSchedule(configuration)
    checks = RingChecks(
      session, events, lossesWithoutRing, urgentLevels: syncs.levels | (flight?.captureLevels ?? 0),
      lostRing: callbacks.lostRing)
    series.resumption = configuration.resumption
    series.notes = session.ring
    series.willWrite = { [unowned self] in beginWriting() }
    series.report = { [unowned self] event in
      switch event {
      case .willClose(let path, let reason): events.send(.willRotate(archive: path, reason: reason))
      case .closed(let path, _):
        events.send(.rotated(archive: path))
        newlySealed.append(path)
      case .takenAway(let path): events.send(.takenAway(path: path))
      case .synced(let failed): counters.endSync(failed: failed)
      case .refused(let error), .unsafe(let error): events.send(.failed(error: error))
      }
    }
  }

  /// The longest time that a record of any level may wait: less than the setting says if syncs or
  /// taps need records sooner.
  private static func interval(_ configuration: LogStore.Configuration) -> Int64 {
    let syncs = configuration.syncInterval ?? configuration.drainInterval
    // People watch what taps write.
    let taps = configuration.recordTaps.isEmpty ? configuration.drainInterval : .seconds(1)
    return min(configuration.drainInterval, syncs, taps).nanoseconds
  }

  /// Held whenever the thread does not wait; see ``Worker/passLock``.
  private let passLock = ForkSafeMutex()
  /// The pass locks of all threads. The drainer's comes first, because the drainer gives the
  /// encoding thread its work.
  var passLocks: [ForkSafeMutex] {
    [passLock, encodingThread?.passLock, session.ring.streams?.passLock].compactMap(\.self)
  }

  /// Starts the drainer's thread, and the threads that work for it. If one of them cannot be
  /// started, none is left.
  func start() throws(LogError) {
    do throws(SystemError) {
      try encodingThread?.start()
      try session.ring.streams?.start()
      thread = try Thread(name: "mmlog-drainer") { [self] in
        callbacks.began()
        run()
      }
    } catch {
      let failure = LogError(error, while: "Starting the drainer's thread failed")
      stop()
      settle(failure)
      throw failure
    }
  }

  // MARK: - Asking for progress

  /// Waits until everything that was logged before is in an archive.
  ///
  /// - Parameters:
  ///   - syncing: Whether the records also have to be safe from a power cut.
  ///   - limit: How long to wait at most, in nanoseconds.
  func flush(syncing: Bool, within limit: Int64) throws(LogError) {
    try (syncing ? diskFlushes : flushes).wait(
      atMost: limit, for: { session.ring.eventCounts.requestUrgently() },
      else: "Flushing took longer than allowed: the disk is slow or stands still. "
        + "The records are safe in the ring as long as the machine runs.")
  }

  /// Waits until the flight records are in an archive. See ``flush(syncing:within:)``.
  func capture(within limit: Int64) throws(LogError) {
    captureRequested.store(true, ordering: .releasing)
    try flush(syncing: false, within: limit)
  }

  /// Makes changed settings take effect at once.
  func settingsChanged() { session.ring.eventCounts.requestUrgently() }

  /// Asks the drainer to seal the open archive once it has everything that was logged before.
  ///
  /// - Parameter answer: Receives the sealed archive; nil if there is none.
  func rotate(_ answer: RotationRequests.Answer) {
    rotations.add(answer)
    session.ring.eventCounts.requestUrgently()
  }

  // MARK: - The end

  /// Ends the threads. ``finish()`` moves what is left.
  func stop() {
    isStopping.store(true, ordering: .releasing)
    session.ring.eventCounts.requestUrgently()
    thread?.join()
    encodingThread?.stop()
    session.ring.streams?.stop()
    handoff.encodeHere()
    // Whoever closes the store calls the hook for everything that is left.
    series.willWrite = {}
  }

  /// Moves everything, notes that the session is closed, and seals the last archive. Called after
  /// ``stop()``, when no thread logs any more.
  ///
  /// If the handler of a fatal signal is running, the process is dying: the session is then noted
  /// as crashed rather than closed.
  ///
  /// - Parameter isQuiet: Whether no log call is open any more.
  /// - Returns: Whether the session is noted as crashed, and the signal's report is in the archive.
  func finish(isQuiet: Bool) throws(LogError) -> Bool {
    defer {
      reportSealed()
      checks.reportLosses()
    }
    // First, so that whoever recovers the ring knows of these losses even if moving fails.
    session.ring.take(lossesWithoutRing)
    // The thread may have ended before it came to that.
    if !session.enterMissingLabels() { growDictionary() }
    var isCounted = isQuiet
    do {
      handoff.isClosing = true
      try moveBeforeAnew()
      try moveRest()
      TestPoint.reach(.closeArchived)
      countLostSegments()
      // The signal's handler may have returned meanwhile.
      session.collectSurvivedSignal()
      session.giveUpSurvivedSignals()
      if !isCounted {
        session.countOpenCalls()
        isCounted = true
        // What was recorded since the last move. A call that ends just here is archived, too, and
        // counted.
        try moveRest()
      }
      session.ring.take(lossesWithoutRing)
      try series.append(session.ring.losses)
      let crash = session.ring.deathReport
      if let crash { try series.append(crash) }
      // A session in which nothing was logged leaves nothing.
      if series.isEmpty { return false }
      let end = crash.map { SessionEnd($0) } ?? SessionEnd(.closed, time: Timestamp.now)
      try series.end(end, dictionary: session.ring.dictionary)
      return crash != nil
    } catch {
      // For the recovery.
      if !isCounted { session.countOpenCalls() }
      throw LogError(
        error,
        while: "Closing the archive failed; what is not in it is left in the ring and will be "
          + "recovered at the next start")
    }
  }

  /// Moves all that is in the ring, at the session's end.
  private func moveRest() throws(SystemError) {
    // Records of any ticks: the counters of processors may differ a little.
    try handoff.move(.everything, until: .max)
    flight?.note(levels: handoff.takeWrittenLevels())
    if session.ring.isDying { flight?.ask(.signal) }
    try capture(.everything)
  }

  /// Makes later writes go where the store's path leads now.
  func expectMove() { series.expectMove() }

  /// Counts one loss for each segment that still has something that cannot be read: nobody knows
  /// how many records that was.
  private func countLostSegments() {
    guard session.ring.hasLostPages else { return }
    let left = session.ring.pool.busyCount
    if left > 0 { session.ring.countLoss(.corrupted, .critical, UInt64(left)) }
  }

  /// Answers those who still wait, and ends the taps. Called after ``finish()``, even if that
  /// failed.
  func settle(_ failure: LogError?) {
    counters.endSigns()
    rotations.end(failure ?? StoreCore.closedError)
    flushes.serve(.max, failure)
    diskFlushes.serve(.max, failure)
    let deadline = Deadline(after: tapTimeout)
    for tap in taps { tap.finish(until: deadline) }
    for tap in taps { tap.waitForEnd() }
  }

  // MARK: - The thread

  private func run() {
    let eventCounts = session.ring.eventCounts
    defer { counters.endSigns() }
    while let pause = passLock.withLock({ work() }) {
      switch pause {
      case .untilRequested(let seen, let time): eventCounts.requests.wait(since: seen, atMost: time)
      case .untilUrgentlyRequested(let seen, let time):
        eventCounts.urgentRequests.wait(since: seen, atMost: time)
      }
    }
  }

  /// Does what there is to do.
  ///
  /// - Returns: How long to wait for more work; nil if the thread is to end.
  private func work() -> DrainSchedule.Sleep? {
    let eventCounts = session.ring.eventCounts
    while true {
      session.ring.wakeNever()
      hasMoved = false
      counters.giveSign()
      levels.poll()
      checks.runOnceASecond()
      // Read before the check for work: whoever asks for something raises the counts last.
      let counts = DrainSchedule.Counts(
        requests: eventCounts.requests.current, urgentRequests: eventCounts.urgentRequests.current)
      if isStopping.load(ordering: .acquiring) { return nil }
      switch schedule.duePass(
        at: Clock.monotonic(), counts, or: isWorkDue, hasFullFrame: session.ring.hasFullFrame)
      {
      case .fullFrames: pass(.fullFrames, counts)
      case .everything: completePass(counts)
      case nil: break
      }
      // After the pass, which may have freed a segment for the record.
      if session.survivals.first != nil { callbacks.survivedSignal() }
      growDictionary()
      if session.ring.populateMore() { continue }
      return sleep()
    }
  }

  /// Makes the dictionary larger as it fills up, and enters the labels that found no room.
  private func growDictionary() {
    var isShort: Bool
    repeat {
      isShort = !session.enterMissingLabels()
    } while session.ring.growDictionary(isShort: isShort)
  }

  /// How long to sleep: until a frame is expected to be full. If a frame is full sooner, a thread
  /// wakes the drainer.
  private func sleep() -> DrainSchedule.Sleep {
    let (ring, now) = (session.ring, Clock.monotonic())
    // Another frame has become full meanwhile.
    if hasMoved, !schedule.isRetrying, ring.hasFullFrame {
      return schedule.sleep(at: now, until: now)
    }
    pace.note(opened: ring.generationsStarted.load(ordering: .relaxed), at: now)
    ring.wakeIfNeeded()
    var end = checks.last &+ DrainSchedule.second
    let missing = max(1, ring.segmentsPerFrame - ring.pool.sealedCount)
    if !schedule.isRetrying, let time = pace.time(for: missing) {
      end = min(end, now + min(time, DrainSchedule.second))
    }
    return schedule.sleep(at: now, until: end)
  }

  /// Whether there is work that the counts of requests do not show.
  private var isWorkDue: Bool {
    series.dueRotation() != nil || isReopeningAsked || flight?.isAsked == true
      || session.ring.controlRequest.ordinal != answeredRequest || checks.isUrgentRecordWaiting
      || syncs.isDue(at: Clock.monotonic()) || isLeftDue || session.ring.clocks.hasBegunAnew
  }

  /// Moves everything, and serves all who asked for it.
  private func completePass(_ counts: DrainSchedule.Counts) {
    let (ticket, diskTicket) = (flushes.newestTicket, diskFlushes.newestTicket)
    let isFlushAsked = diskTicket != diskFlushes.servedTicket
    let isSyncAsked = isFlushAsked || isSyncOwed
    rotations.beginPass()
    if captureRequested.exchange(false, ordering: .acquiringAndReleasing) { flight?.ask(.program) }
    checks.isUrgentRecordWaiting = false
    takeRequest()
    let failure = pass(.everything, counts, isSyncAsked: isSyncAsked)
    isSyncOwed = isSyncAsked && failure != nil
    // Also after a pass that has failed: its failure comes first.
    let left = syncLeft(isAsked: isFlushAsked && failure == nil)
    answerRequest(failure ?? left)
    flushes.serve(ticket, failure)
    // A pass without a sync serves none of these, not even those that an earlier pass has failed.
    if isFlushAsked { diskFlushes.serve(diskTicket, failure ?? left) }
  }

  /// Takes in a request from outside the process, before the pass moves what was logged by then.
  private func takeRequest() {
    let newest = session.ring.controlRequest
    if newest.ordinal == answeredRequest { return }
    request = newest
    if newest.actions.contains(.capture) { flight?.ask(.request) }
  }

  private func answerRequest(_ failure: LogError?) {
    guard let ordinal = request?.ordinal else { return }
    (request, answeredRequest) = (nil, ordinal)
    let error = UInt32(bitPattern: failure?.systemErrorNumber ?? 0)
    session.ring.answer(ControlAnswer(ordinal: ordinal, errorNumber: error))
  }

  /// Does what is due. Reports when passes begin to fail, and when they succeed again.
  ///
  /// - Returns: The failure.
  @discardableResult
  private func pass(
    _ pass: DrainSchedule.Pass, _ counts: DrainSchedule.Counts, isSyncAsked: Bool = false
  ) -> LogError? {
    defer { endWriting() }
    session.ring.take(lossesWithoutRing)
    series.settings.rotation = settings.withLock(\.rotation)
    checks.reportFilling()
    var failure: LogError?
    do {
      try move(pass)
      try capture(pass)
      flight?.trim()
      try series.append(session.ring.losses)
      try rotateIfAsked()
      try series.rotateIfDue(dictionary: session.ring.dictionary)
      try syncIfDue(isAsked: isSyncAsked)
      if schedule.isRetrying { events.send(.resumed) }
    } catch {
      let error = LogError(error, while: "Writing the archive failed; records stay in the ring")
      if !schedule.isRetrying { events.send(.failed(error: error)) }
      rotations.answer(.failure(error))
      failure = error
    }
    schedule.passEnded(at: Clock.monotonic(), pass, counts, failed: failure != nil)
    session.ring.eventCounts.passEnded(failed: failure != nil)
    reportSealed()
    checks.reportLosses()
    counters.endPass(failed: failure != nil)
    let counts = counters.snapshot
    session.ring.publish(
      lastPass: counts.lastPass, failedPasses: counts.failedPasses,
      failedSyncs: counts.failedSyncs)
    return failure
  }

  /// Calls the hook before a pass writes for the first time: most passes have nothing to write.
  private func beginWriting() {
    if isWriting { return }
    isWriting = true
    maintenanceHook?(.willBegin)
  }

  private func endWriting() {
    if isWriting { maintenanceHook?(.didEnd) }
    isWriting = false
  }

  /// Moves what is committed now.
  private func move(_ pass: DrainSchedule.Pass) throws(SystemError) {
    defer {
      let levels = handoff.takeWrittenLevels()
      hasMoved = levels != 0
      if levels != 0 {
        syncs.noteWritten(levels: levels)
        flight?.note(levels: levels)
      }
    }
    try moveBeforeAnew()
    try handoff.move(pass, until: mmlog_ticks())
  }

  /// Checks whether the counter has begun anew, or has gone on while the clock stood still. If so,
  /// moves what was logged before by the earlier clock, and continues by the new one.
  private func moveBeforeAnew() throws(SystemError) {
    guard session.ring.clocks.hasBegunAnew else { return }
    if let gap = session.ring.clocks.gap {
      try handoff.move(.everything, until: gap)
    } else {
      try handoff.moveAroundBeginning()
    }
    session.ring.clocks.beginAnew()
  }

  /// Archives flight records, if there is a reason to.
  private func capture(_ pass: DrainSchedule.Pass) throws(SystemError) {
    if let count = try flight?.captureEnded(to: series), count > 0 {
      syncs.noteWritten(levels: 0)
      events.send(.captured(count: count, reason: .spans))
    }
    let servesSignals = pass == .everything
    guard let done = try flight?.captureIfDue(to: series, servesSignals: servesSignals) else {
      return
    }
    if done.count > 0 { syncs.noteWritten(levels: 0) }
    events.send(.captured(count: done.count, reason: done.reason))
  }

  /// Whether a signal handler has asked for another archive.
  private var isReopeningAsked: Bool { ProcessRequests.reopenings != reopened }

  private func rotateIfAsked() throws(SystemError) {
    let requests = ProcessRequests.reopenings
    let isAsked = rotations.isAsked || request?.actions.contains(.rotate) == true
    guard isAsked || requests != reopened else { return }
    let archive = try series.rotate(dictionary: session.ring.dictionary)
    reopened = requests
    rotations.answer(.success(archive))
  }

  private func syncIfDue(isAsked: Bool) throws(SystemError) {
    let now = Clock.monotonic()
    guard isAsked || isSyncRequested || syncs.isDue(at: now) else { return }
    try series.syncCurrent()
    syncs.noteSynced(at: now)
  }

  /// Whether a request from outside the process asks for a sync.
  private var isSyncRequested: Bool { request?.actions.contains(.sync) == true }

  private var isLeftDue: Bool { series.hasLeft && leftRetry.isDue }

  /// Tries to make archives safe from a power cut that were left before they were. If that fails,
  /// no pass has failed: records go on into another archive.
  ///
  /// - Returns: The failure, for those who asked for a sync.
  private func syncLeft(isAsked: Bool) -> LogError? {
    let isAsked = isAsked || isSyncRequested
    guard isLeftDue || isAsked && series.hasLeft else { return nil }
    defer {
      endWriting()
      reportSealed()
      if !series.hasLeft { leftRetry.reset() }
    }
    do throws(SystemError) {
      try series.syncLeft()
      return nil
    } catch {
      leftRetry.postpone()
      return isAsked
        ? LogError(error, while: "Making an earlier archive safe from a power cut failed") : nil
    }
  }

  private func reportSealed() {
    for path in newlySealed { callbacks.sealedArchive(path) }
    newlySealed = []
  }
}
