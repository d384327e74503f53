import CMMLogCore
import CMMLogWriter
import MMLogFormat
import MMLogStorage
import MMLogSystem
import Synchronization

/// What a store is, behind ``LogStore`` and its loggers. It lives as long as the process, because
/// loggers are plain values that point to it. Its large parts go away with its session.
///
/// Proof of `@unchecked Sendable`: `open` is changed under `lock`, or in a fork's child by its only
/// thread.
final class StoreCore: @unchecked Sendable {
  /// A session and what serves it, from opening to closing.
  struct Open {
    let session: Session
    let drainer: Drainer
  }

  let location: StoreLocation
  let configuration: LogStore.Configuration
  let geometry: RingGeometry
  let labels: LabelTable
  /// Under `lock`.
  let states = StateTable()
  let settings: LockedValue<StoreSettings>
  let recovery = StartRecovery()
  // A fork's child replaces these three.
  var catalog: Catalog
  var events: EventHub
  var counters = DrainCounters()

  let lock = ForkSafeMutex()
  // All under `lock`.
  private(set) var open: Open?
  /// Nil in a fork's child until the child needs it, and after the store's end.
  var openMaintenance: Maintenance?
  /// The newest of the sessions that are ending: log calls do not find them any more. A list made
  /// by hand, because a fork's child goes over it: see ``StoreRegistry``.
  private var newestEnding: Session?
  /// The newest of the sessions that have ended. Their objects stay. A list, so that something
  /// points to them: otherwise tools such as LeakSanitizer would report leaks.
  private var newestEnded: Session?
  /// The losses of ended sessions, for ``losses``. Only the archives of those sessions report them.
  private var earlierLosses = LossLedger()
  var isClosed = false
  /// Whether the last try to open another ring has failed: of a lost one, or in a child of fork.
  var isReplacementFailing = false
  /// The locks of passes that a fork has stopped.
  var paused: [ForkSafeMutex] = []

  /// The address of the open session, or 0, for log calls, which cannot take a lock.
  ///
  /// A call may read the address just before the store is closed, and use it just after. Therefore
  /// a session's object stays for ever, and ``Session/shutDown()`` frees its large parts.
  private let sessionAddress = Atomic<UInt>(0)
  /// What a fork's child has to do at its first log call.
  let childOpening = ChildOpening()
  /// Records that were lost while there was no ring to count them in. The next ring takes them.
  let lossesWithoutRing = LossCounters()
  /// The store that was opened before this one: see ``StoreRegistry``.
  var older: StoreCore?

  init(
    directory: String, name: String, _ configuration: LogStore.Configuration
  ) throws(LogError) {
    try Self.checkProcessor()
    location = try StoreLocation(directory: directory, name: name, configuration)
    geometry = try configuration.checkedGeometry()
    self.configuration = configuration
    settings = LockedValue(configuration.settings)
    if configuration.containsFaults { try StoreRegistry.prepareContainment() }
    if configuration.recordsCrashes { try StoreRegistry.prepareCrashRecorder() }
    if configuration.recordsTermination { StoreRegistry.prepareTermination() }
    let (rules, wrongRules) = LevelRule.environmentRules()
    let limits = configuration.rateLimits.map { LevelRule($0.value, for: $0.key) }
    labels = LabelTable(defaultLevel: configuration.level, rules: limits + rules)
    events = EventHub(
      of: name, startup: wrongRules.map { .failed(error: $0) }, observer: configuration.observer)
    catalog = location.makeCatalog(events)
    let missing = MissingDirectories(above: [location.directory, location.ringDirectory])
    configuration.maintenanceHook?(.willBegin)
    defer { configuration.maintenanceHook?(.didEnd) }
    StoreRegistry.add(self)
    do throws(LogError) {
      try location.makeDirectories()
      // With `resumeLastArchive`, the session's records go after those that the recovery writes. If
      // many rings wait, processes seem to die before they recover them: each process would leave
      // another ring.
      if configuration.resumeLastArchive
        || Recovery.deadRings(of: name, inRingsAt: location.ringDirectory) > Self.waitingRings
      {
        _ = recovery.run(location, events) { true }
      }
      // A fork waits for the lock, so that its child finds the whole session, or nothing.
      try lock.withLock { () throws(LogError) in publish(try makeSession()) }
      // A shipper tells by the settings whether a ring elsewhere is of a store of its directory. A
      // failure is not reported, as in ``Maintenance``.
      if location.ringDirectory != location.directory { try? catalog.note(configuration.settings) }
      try startMaintenance()
    } catch {
      StoreRegistry.remove(self)
      missing.removeAgain()
      events.finish()
      throw error
    }
  }

  private static func checkProcessor() throws(LogError) {
    guard mmlog_has_crc32c() else {
      throw LogError(
        .unsupported,
        "This processor has no CRC32C instruction (SSE 4.2, or ARMv8's CRC extension), "
          + "which the logger's fast path needs; the decoder works without")
    }
  }

  /// The maximum number of rings that may wait for their recovery after an opening.
  private static let waitingRings = 4

  // MARK: - Maintenance

  /// The store's maintenance thread; the caller has the lock.
  func lockedMaintenance() -> Maintenance {
    if let openMaintenance { return openMaintenance }
    let new = Maintenance(
      catalog, configuration, settings, events, counters, recovery, location)
    openMaintenance = new
    return new
  }

  /// What maintains the archives.
  var maintenance: Maintenance { lock.withLock { lockedMaintenance() } }

  /// The queue that passes archives to uploaders; nil once the store is closed.
  var uploads: UploadQueue? { lock.withLock { isClosed ? nil : lockedMaintenance().uploads } }

  private func startMaintenance() throws(LogError) {
    do throws(LogError) {
      try maintenance.start()
    } catch {
      recovery.finish()
      try? close()
      throw error
    }
  }

  /// The maintenance, with its thread started; nil in a fork's child that has not logged yet, and
  /// so has no such thread.
  func begunMaintenance() throws(LogError) -> Maintenance? {
    try lock.withLock { () throws(LogError) in
      try lockedBegun() == nil ? nil : lockedMaintenance()
    }
  }

  // MARK: - Log calls

  /// The store that a label belongs to; nil if there is none yet.
  static func of(_ label: UnsafeMutablePointer<mmlog_label>) -> StoreCore? {
    mmlog_load_store(label).map { Unmanaged<StoreCore>.fromOpaque($0).takeUnretainedValue() }
  }

  /// The session to log into; nil if there is none. In a fork's child, the first call opens a new
  /// one.
  func currentSession() -> Session? {
    if childOpening.isNeeded { openInChild() }
    return openSession
  }

  /// The open session; nil if there is none. Lock-free and async-signal-safe.
  var openSession: Session? {
    UnsafeRawPointer(bitPattern: sessionAddress.load(ordering: .acquiring)).map {
      Unmanaged<Session>.fromOpaque($0).takeUnretainedValue()
    }
  }

  /// Makes log calls find another session, or none. The caller has the lock.
  func publish(_ new: Open?) {
    if let ended = open?.session { (ended.nextEnding, newestEnding) = (newestEnding, ended) }
    open = new
    let session = new.map { Unmanaged.passRetained($0.session).toOpaque() }
    sessionAddress.store(UInt(bitPattern: session), ordering: .releasing)
    if let new {
      states.enter(into: new.session.ring)
      labels.setGates(new.session.gateOfLabels)
    } else {
      states.leaveRing()
    }
  }

  /// Makes log calls look for the context of their task.
  func useTaskContexts() {
    lock.withLock {
      if let open { labels.setGates(open.session.gateOfLabels) }
    }
  }

  /// Goes over the sessions that are ending. The caller has the lock.
  private func forEachEnding(_ body: (Session) -> Void) {
    var next = newestEnding
    while let session = next {
      body(session)
      next = session.nextEnding
    }
  }

  /// Notes that a session has ended, and adds its losses to those of earlier sessions. The caller
  /// has the lock.
  func noteEnded(_ ended: Session) {
    earlierLosses += ended.ring.losses
    var (kept, next) = (Session?.none, newestEnding)
    while let session = next {
      next = session.nextEnding
      if session !== ended { (session.nextEnding, kept) = (kept, session) }
    }
    newestEnding = kept
    (ended.nextEnding, newestEnded) = (newestEnded, ended)
  }

  /// Lets go of the parent's sessions, in a fork's child. If the parent dies, whoever recovers its
  /// rings must not have to wait for this process.
  func forgetSessions() {
    forEachEnding { $0.ring.detach() }
    newestEnding = nil
    // The parent counts these, whether it has a ring or not.
    earlierLosses = LossLedger()
    lossesWithoutRing.clear()
    guard let open else { return }
    // Only a log call that forked in its middle still stores something, and it stores into private
    // memory.
    open.session.ring.detach()
    open.session.reinitializeLocks()
    // The drainer's thread is gone, maybe in the middle of something: nothing touches the drainer
    // again.
    _ = Unmanaged.passRetained(open.drainer)
    self.open = nil
    sessionAddress.store(0, ordering: .releasing)
  }

  /// The open session; nil in a fork's child that has not logged yet, and so has nothing to flush,
  /// to capture or to rotate.
  func begunSession() throws(LogError) -> Open? {
    try lock.withLock { () throws(LogError) in try lockedBegun() }
  }

  /// As ``begunSession()``, for a caller that has the lock: no first log call comes in between.
  private func lockedBegun() throws(LogError) -> Open? {
    if isClosed { throw Self.closedError }
    return open
  }

  static let closedError = LogError(
    .closed, "The store is closed; open a new one to log on.")

  /// Counts a record for which there is no ring. Lock-free and async-signal-safe.
  func countLossWithoutRing(_ level: Level) { lossesWithoutRing.add(level) }

  /// Counts here what was lost while there was no store.
  func take(_ losses: LossCounters) { lossesWithoutRing.take(losses) }

  /// What was lost so far, in this session and before it.
  var losses: LossLedger {
    // Under the lock, so that what an ending session counted is neither missed nor counted twice.
    lock.withLock {
      var losses = earlierLosses
      forEachEnding { losses += $0.ring.losses }
      if let open { losses += open.session.ring.losses }
      losses += lossesWithoutRing.ledger
      return losses
    }
  }

  /// The shared state of a label's loggers.
  func label(_ name: String) -> LabelTable.Pointer {
    // All under the lock: a label must not get the gate of a session that is closed meanwhile.
    lock.withLock { labels.state(of: name, store: address, open?.session) }
  }

  /// Takes over labels that were made without a store.
  func adopt(_ orphans: some Sequence<LabelTable.Label>) {
    lock.withLock {
      for label in orphans { labels.adopt(label, store: address, open?.session) }
    }
  }

  var isOpen: Bool { lock.withLock { !isClosed } }

  /// The pointer by which labels point to the store.
  private var address: UnsafeRawPointer {
    UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
  }

  // MARK: - Settings

  /// Changes settings, and makes all threads use them at once.
  ///
  /// - Throws: ``LogError`` if a setting would be out of its range. Then none is changed.
  func changeSettings(_ body: (inout StoreSettings) -> Void) throws(LogError) {
    try settings.withLock { (settings) throws(LogError) in
      var new = settings
      body(&new)
      try LogStore.Configuration.check(new)
      settings = new
    }
    lock.withLock {
      open?.drainer.settingsChanged()
      openMaintenance?.settingsChanged()
    }
  }
}
