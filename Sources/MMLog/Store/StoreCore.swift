import CMMLogCore
import CMMLogWriter
import MMLogCrash
import MMLogFormat
import MMLogStorage
import MMLogSystem
import Synchronization

/// What a store is, behind ``LogStore`` and its loggers. It lives as long as the process, because
/// loggers are plain values that point to it; what is large in it goes away with its session.
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
  // These three are others in a fork's child.
  var catalog: Catalog
  var events: EventHub
  var counters = DrainCounters()

  let lock = ForkSafeMutex()
  // All under `lock`.
  private(set) var open: Open?
  /// Nil in a fork's child until it is needed, and after the store's end.
  var openMaintenance: Maintenance?
  /// The newest of the sessions that come to their end: log calls do not find them any more. A list
  /// made by hand, because a fork's child goes over it: see ``StoreRegistry``.
  private var newestEnding: Session?
  /// The newest of the sessions that have ended, whose objects stay. A list, so that they are no
  /// leaks for LeakSanitizer and its like, which know only what something points to.
  private var newestEnded: Session?
  /// What sessions that have ended counted, for those who ask: their archives report it, no others.
  private var earlierLosses = LossLedger()
  var isClosed = false
  /// Whether a lost ring could not be replaced at the last try.
  var isReplacementFailing = false
  /// What a fork has stopped meanwhile.
  var paused: [ForkSafeMutex] = []

  /// The open session again, for log calls, which cannot take a lock: its address, or 0.
  ///
  /// A call may read it just before the store is closed, and use it just after. Therefore a
  /// session's object stays for ever, and ``Session/shutDown()`` frees what is large in it.
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
      // The session goes on behind what it writes. And where many rings wait, processes seem to die
      // before they come to it: each would leave another.
      if configuration.resumeLastArchive
        || Recovery.deadSessions(inRingsAt: location.ringDirectory) > Self.waitingRings
      {
        _ = recovery.run(location, events) { true }
      }
      // A fork waits for the lock: its child finds all of the session, or nothing.
      try lock.withLock { () throws(LogError) in publish(try makeSession()) }
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

  /// So many rings at most wait for their recovery behind an opening.
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

  /// Who hands archives on; nil once the store is closed.
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

  /// What maintains the archives on a thread of its own; nil in a fork's child that has not logged
  /// yet, and so has no such thread.
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

  /// The session to log into; in a fork's child, a new one at the first call. Nil if there is none.
  func currentSession() -> Session? {
    if childOpening.isNeeded { openInChild() }
    return openSession
  }

  /// The session that is there; nil if there is none. Lock-free and async-signal-safe.
  var openSession: Session? {
    UnsafeRawPointer(bitPattern: sessionAddress.load(ordering: .acquiring)).map {
      Unmanaged<Session>.fromOpaque($0).takeUnretainedValue()
    }
  }

  /// Has log calls find another session, or none. The caller has the lock.
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

  /// Has log calls look for the context of their task.
  func useTaskContexts() {
    lock.withLock {
      if let open { labels.setGates(open.session.gateOfLabels) }
    }
  }

  /// Goes over the sessions that come to their end. The caller has the lock.
  private func forEachEnding(_ body: (Session) -> Void) {
    var next = newestEnding
    while let session = next {
      body(session)
      next = session.nextEnding
    }
  }

  /// Takes in that a session has ended: what it has lost is counted for those who ask. The caller
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

  /// Lets go of the parent's sessions, in a fork's child: whoever recovers their rings, should the
  /// parent die, must not wait for this process.
  func forgetSessions() {
    forEachEnding { $0.ring.detach() }
    newestEnding = nil
    guard let open else { return }
    // The parent counts them.
    earlierLosses = LossLedger()
    lossesWithoutRing.clear()
    // Stores of a log call that forked in its middle, and of nobody else, end in private memory.
    open.session.ring.detach()
    open.session.reinitializeLocks()
    // Its thread is gone, maybe in the middle of something: it is never touched again.
    _ = Unmanaged.passRetained(open.drainer)
    self.open = nil
    sessionAddress.store(0, ordering: .releasing)
  }

  /// The open session; nil in a fork's child that has not logged yet, and so has nothing to flush,
  /// to capture or to rotate.
  func begunSession() throws(LogError) -> Open? {
    try lock.withLock { () throws(LogError) in try lockedBegun() }
  }

  /// The same; the caller has the lock, so that no first log call comes in between.
  private func lockedBegun() throws(LogError) -> Open? {
    if isClosed { throw Self.closedError }
    return open
  }

  static let closedError = LogError(
    .closed, "The store is closed; open a new one to log on.")

  /// Counts a record for which there is no ring. Lock-free and async-signal-safe.
  func countLossWithoutRing(_ level: Level) { lossesWithoutRing.add(.noRing, level) }

  /// Counts here what was lost while there was no store.
  func take(_ losses: LossCounters) { lossesWithoutRing.take(losses) }

  /// What was lost so far, in this session and before it.
  var losses: LossLedger {
    // Under the lock, so that what a closing session counted is neither missed nor there twice.
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
    // All under the lock: a label must not come with the gate of a session that is closed
    // meanwhile.
    lock.withLock { labels.state(of: name, store: address, open?.session) }
  }

  /// Takes over labels that were made without a store.
  func adopt(_ orphans: some Sequence<LabelTable.Label>) {
    lock.withLock {
      for label in orphans { labels.adopt(label, store: address, open?.session) }
    }
  }

  var isOpen: Bool { lock.withLock { !isClosed } }

  /// As labels point to it.
  private var address: UnsafeRawPointer {
    UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
  }

  // MARK: - Settings

  /// Changes settings, and has all go by them at once.
  ///
  /// - Throws: ``LogError`` if one would be out of its range; none is changed then.
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
