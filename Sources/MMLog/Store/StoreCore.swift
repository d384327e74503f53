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

  let directory: String
  let name: String
  let configuration: LogStore.Configuration
  let geometry: RingGeometry
  let labels: LabelTable
  let settings: StoreSettings
  /// Another one in a fork's child.
  private(set) var catalog: Catalog
  private(set) var events: EventHub
  private(set) var counters = DrainCounters()
  /// Nil in a fork's child until it is needed, and after the store's end. Under `lock`.
  private var openMaintenance: Maintenance?
  let recovered: [RecoveredSession]
  let lock = SystemMutex()
  private(set) var open: Open?
  /// Sessions that come to their end: log calls do not find them any more. Under `lock`.
  private var ending: [Session] = []
  private var isDrainerPaused = false
  private var isMaintenancePaused = false
  /// Whether a lost ring could not be replaced at the last try. Under `lock`.
  private var isReplacementFailing = false
  /// The store that was opened before this one: see ``StoreRegistry``.
  var older: StoreCore?
  /// The open session again, for log calls, which cannot take a lock: its address, or 0.
  ///
  /// A call may read it just before the store is closed, and use it just after. Therefore a
  /// session's object stays for ever, and ``Session/shutDown()`` frees what is large in it.
  private let sessionAddress = Atomic<UInt>(0)
  private var isClosed = false
  /// Set in a fork's child: the next log call opens a ring of its own.
  private let needsReopening = Atomic<Bool>(false)
  private let nextReopening = Atomic<UInt64>(0)
  /// Records that were lost while there was no ring to count them in. The next ring takes them.
  private let lossesWithoutRing = LossCounters()
  /// What sessions that have ended counted, for those who ask: their archives report it, no others.
  /// Under `lock`.
  private var earlierLosses = LossLedger()
  /// The thread that is opening a ring, or 0: a signal handler on top of it must not wait for it.
  private let reopener = Atomic<Int32>(0)

  init(
    directory: String, name: String, _ configuration: LogStore.Configuration
  ) throws(LogError) {
    self.directory = directory
    self.name = name
    self.configuration = configuration
    settings = StoreSettings(configuration)
    catalog = Catalog(of: directory, store: name)
    geometry = try Self.check(directory, name, configuration)
    if configuration.containsFaults { try StoreRegistry.prepareContainment() }
    if configuration.recordsCrashes { try StoreRegistry.prepareCrashRecorder() }
    if configuration.recordsTermination { StoreRegistry.prepareTermination() }
    let (rules, wrong) = LevelRule.list(CurrentProcess.variable(Self.levelVariable) ?? "")
    labels = LabelTable(defaultLevel: configuration.level, rules: rules)
    let missing = MissingDirectories(above: [directory, configuration.ringDirectory ?? directory])
    do throws(LogError) {
      (recovered, problems) = try Self.prepare(directory, name, configuration)
      events = EventHub(
        startup: recovered.flatMap { [.recovered($0)] + $0.sealed.map { .sealed($0) } }
          + (problems + wrong.map(Self.error(ofLevelRule:))).map { .failed($0) },
        observer: configuration.observer)
      publish(try makeSession())
      try startMaintenance()
    } catch {
      missing.removeAgain()
      throw error
    }
  }

  /// The variable of the environment that sets levels.
  private static let levelVariable = "MMLOG_LEVEL"

  private static func error(ofLevelRule text: String) -> LogError {
    LogError(
      .invalidConfiguration,
      "\(levelVariable) has '\(text)', which is passed over: it takes PATTERN=LEVEL,… such as db.*=debug,*=info, with the "
        + "levels \(Level.allCases.map(\.description).joined(separator: ", ")).")
  }

  /// Rings that could not be recovered at the start.
  let problems: [LogError]

  // MARK: - Opening

  private static func check(
    _ directory: String, _ name: String, _ configuration: LogStore.Configuration
  ) throws(LogError) -> RingGeometry {
    guard mmlog_has_crc32c() else {
      throw LogError(
        .unsupported,
        "This processor has no CRC32C instruction (SSE 4.2, or ARMv8's CRC extension), "
          + "which the logger's fast path needs; the decoder works without")
    }
    if let problem = FileNames.problem(withStoreName: name) {
      throw LogError(
        .invalidConfiguration,
        "The store's name \"\(name)\" \(problem). Choose 1 to 100 bytes without slashes and zero bytes; "
          + "control characters, % and a dot at the beginning are written as three bytes each.")
    }
    guard !directory.isEmpty else {
      throw LogError(.invalidConfiguration, "The store's directory is an empty path: give one.")
    }
    return try configuration.checkedGeometry()
  }

  /// Makes the directories and recovers what dead processes left.
  private static func prepare(
    _ path: String, _ name: String, _ configuration: LogStore.Configuration
  ) throws(LogError) -> ([RecoveredSession], [LogError]) {
    try makeDirectories(path, configuration)
    var problems: [LogError] = []
    let recovered = Recovery.recoverAll(
      of: name,
      ringDirectory: try openDirectory(configuration.ringDirectory ?? path, configuration),
      archiveDirectory: try openDirectory(path, configuration), configuration.archiveSettings
    ) { problems.append($0) }
    return (recovered, problems)
  }

  /// Makes a ring and starts a drainer for it. Leaves nothing behind if it fails.
  ///
  /// - Parameter old: A session in whose place it comes, and which its drainer first brings to an
  ///   end.
  private func makeSession(after old: Open? = nil) throws(LogError) -> Open {
    let identity = try Self.makeIdentity(name)
    let rings = try Self.openDirectory(
      configuration.ringDirectory ?? directory, configuration)
    let ring = try Ring(
      in: rings, identity: identity, geometry: geometry,
      archiveLevel: configuration.archiveLevel, containsFaults: configuration.containsFaults,
      recordsCrashes: configuration.recordsCrashes)
    do {
      let session = try Session(ring: ring, configuration)
      let series = ArchiveSeries(
        in: try Self.openDirectory(directory, configuration), identity,
        configuration.archiveSettings)
      let maintenance = lockedMaintenance()
      maintenance.begin(identity.session)
      let drainer = Drainer(
        session, series, events, LevelControl(ring, labels, events), configuration, settings,
        lossesWithoutRing, counters
      ) { maintenance.archiveClosed($0) }
      try drainer.start(
        first: { [self] in if let old { retire(old) } },
        survived: { [self] in noteSurvivedSignals(of: session, waits: false) },
        ringIsLost: { [self] in replaceSession(session, because: $0) })
      labels.register(in: session)
      ring.take(lossesWithoutRing)
      return Open(session: session, drainer: drainer)
    } catch {
      try? rings.remove(ring.fileName)
      throw error
    }
  }

  /// The store's maintenance thread; the caller has the lock.
  private func lockedMaintenance() -> Maintenance {
    if let openMaintenance { return openMaintenance }
    let new = Maintenance(
      catalog, configuration, settings, events, counters, recovered: recovered, known: problems)
    openMaintenance = new
    return new
  }

  /// What maintains the archives.
  var maintenance: Maintenance { lock.withLock { lockedMaintenance() } }

  /// Who hands archives on; nil once the store is closed.
  var uploads: UploadQueue? { lock.withLock { isClosed ? nil : lockedMaintenance().uploads } }

  private func startMaintenance() throws(LogError) {
    do throws(LogError) {
      try lockedMaintenance().start()
    } catch {
      try? close()
      throw error
    }
  }

  private static func makeDirectories(
    _ path: String, _ configuration: LogStore.Configuration
  ) throws(LogError) {
    do {
      try Directory.create(path)
      try Directory.create(configuration.ringDirectory ?? path)
    } catch {
      throw LogError(error, while: "Making the store's directory failed")
    }
  }

  private static func openDirectory(
    _ path: String, _ configuration: LogStore.Configuration
  ) throws(LogError) -> Directory {
    let problem: String?
    do {
      let directory = try Directory.open(path)
      problem = configuration.allowsUntrustedDirectory ? nil : try directory.whyNotToTrust()
      if problem == nil { return directory }
    } catch {
      throw LogError(error, while: "Opening the store's directory failed")
    }
    throw LogError(
      .untrustedDirectory,
      "The store's directory \(path) \(problem ?? ""), "
        + "or allow it with the setting allowsUntrustedDirectory.", path: path)
  }

  private static func makeIdentity(_ name: String) throws(LogError) -> SessionIdentity {
    var random: (UInt64, UInt64) = (0, 0)
    do {
      try withUnsafeMutableBytes(of: &random) { (bytes) throws(SystemError) in
        try Random.fill(bytes)
      }
    } catch {
      throw LogError(error, while: "Making a session's identity failed")
    }
    return SessionIdentity(
      session: SessionID(random: random), bootID: Host.bootID(),
      processID: UInt32(bitPattern: CurrentProcess.id), startTime: Clock.realtime(),
      processName: CurrentProcess.name, hostName: Host.name(), timeZone: Host.timeZoneName(),
      storeName: name)
  }

  // MARK: - Log calls

  /// The store that a label belongs to; nil if there is none yet.
  static func of(_ label: UnsafeMutablePointer<mmlog_label>) -> StoreCore? {
    mmlog_load_store(label).map { Unmanaged<StoreCore>.fromOpaque($0).takeUnretainedValue() }
  }

  /// The session to log into; in a fork's child, a new one at the first call. Nil if there is none.
  func currentSession() -> Session? {
    if needsReopening.load(ordering: .acquiring) { reopen() }
    return openSession
  }

  /// The session that is there; nil if there is none. Lock-free and async-signal-safe.
  var openSession: Session? {
    UnsafeRawPointer(bitPattern: sessionAddress.load(ordering: .acquiring)).map {
      Unmanaged<Session>.fromOpaque($0).takeUnretainedValue()
    }
  }

  private func publish(_ new: Open?) {
    if let open { ending.append(open.session) }
    open = new
    let session = new.map { Unmanaged.passRetained($0.session).toOpaque() }
    sessionAddress.store(UInt(bitPattern: session), ordering: .releasing)
    if let new { labels.setGates(new.session.gate) }
  }

  /// Opens a ring of its own for a fork's child. Tries again after a second if that fails.
  /// Other threads wait for it, so that their first records are not lost.
  private func reopen() {
    let thread = CurrentProcess.threadID()
    guard Clock.monotonic() >= nextReopening.load(ordering: .relaxed),
      reopener.load(ordering: .relaxed) != thread, lock.tryLock(atMost: 1_000_000_000)
    else { return }
    reopener.store(thread, ordering: .relaxed)
    defer {
      reopener.store(0, ordering: .relaxed)
      lock.unlock()
    }
    guard needsReopening.load(ordering: .acquiring), !isClosed else { return }
    do {
      // It is there already if only the maintenance thread could not be started.
      if open == nil {
        let new = try makeSession()
        TestPoint.reach(.forkReopened)
        publish(new)
      }
      try lockedMaintenance().start()
      needsReopening.store(false, ordering: .releasing)
    } catch {
      nextReopening.store(Clock.monotonic() + 1_000_000_000, ordering: .relaxed)
      events.send(.failed(error))
    }
  }

  /// Counts a record for which there is no ring. Lock-free and async-signal-safe.
  func countLossWithoutRing(_ level: Level) { lossesWithoutRing.add(.noRing, level) }

  /// Counts here what was lost while there was no store.
  func take(_ losses: LossCounters) { lossesWithoutRing.take(losses) }

  /// What was lost so far, in this session and before it.
  var losses: LossLedger {
    // Under the lock, so that what a closing session counted is neither missed nor there twice.
    lock.withLock {
      var losses = earlierLosses
      for session in ending { losses += session.ring.losses }
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

  // MARK: - Flushing and closing

  func flush(syncing: Bool, within limit: Int64) throws(LogError) {
    try begunSession()?.drainer.flush(syncing: syncing, within: limit)
  }

  /// The open session; nil in a fork's child that has not logged yet, and so has nothing to flush,
  /// to capture or to rotate.
  private func begunSession() throws(LogError) -> Open? {
    if let open = lock.withLock({ open }) { return open }
    if needsReopening.load(ordering: .acquiring) { return nil }
    throw Self.closedError
  }

  /// Ends the session: no record is accepted any more, all are archived, the ring is removed.
  func close() throws(LogError) {
    if let session = lock.withLock({ open?.session }) {
      session.collectSurvivedSignal()
      noteSurvivedSignals(of: session, waits: true)
    }
    guard let open = beginClosing() else { return }
    defer {
      let maintenance = lock.withLock {
        defer { openMaintenance = nil }
        return openMaintenance
      }
      maintenance?.stop()
      catalog.forget()
      events.finish()
    }
    try end(open)
  }

  /// Ends a session that log calls do not find any more.
  ///
  /// - Parameter isReplaced: Whether the store goes on with another, because the ring or all of the
  ///   directory was lost.
  private func end(_ open: Open, isReplaced: Bool = false) throws(LogError) {
    let session = open.session
    TestPoint.reach(.closeBegun)
    let isQuiet = session.waitForWriters()
    open.drainer.stop()
    session.sealAll()
    TestPoint.reach(.closeSealed)
    var failure: LogError?
    defer {
      open.drainer.settle(failure)
      session.threads.dissolve()
      lock.withLock {
        earlierLosses += session.ring.losses
        ending.removeAll { $0 === session }
      }
      if isQuiet {
        session.shutDown()
      } else {
        // Someone is in the middle of a log call, and may be for long: it ends in memory of no
        // meaning.
        session.ring.detach()
      }
    }
    session.ring.markClosed()
    TestPoint.reach(.closeMarked)
    do {
      // What is there now may be another's. Not before the thread that works in the directory has
      // ended.
      if isReplaced {
        _ = try Self.openDirectory(directory, configuration)
        open.drainer.expectMove()
      }
      try open.drainer.finish()
    } catch {
      failure = error
      throw error
    }
    TestPoint.reach(.closeFinished)
    do {
      try session.ring.remove()
      TestPoint.reach(.closeRingRemoved)
    } catch  where !error.isNotFound {
      throw LogError(error, while: "Removing the ring of the closed store failed")
    } catch {}
  }

  static let closedError = LogError(
    .closed, "The store is closed; open a new one to log on.")

  private func beginClosing() -> Open? {
    lock.lock()
    defer { lock.unlock() }
    isClosed = true
    needsReopening.store(false, ordering: .releasing)
    labels.setGates(nil)
    defer { publish(nil) }
    return open
  }

  // MARK: - Fatal signals

  /// Makes ordinary records of fatal signals that did not end the process, so that they are not
  /// taken for what does later.
  ///
  /// - Parameter waits: Whether for room in the ring. The drainer makes that room, and must not.
  private func noteSurvivedSignals(of session: Session, waits: Bool) {
    // Besides the text: a call site, a label, the time.
    let rest = 1024
    defer { if !waits { WriterRoom.giveUp(session) } }
    while let report = session.survivals.first {
      let places = report.places(atMost: session.ring.largestRecord - rest)
      guard waits || WriterRoom.reserve(places.utf8.count + rest, session) else { return }
      // Another thread may close the store meanwhile.
      guard session.survivals.take(report) else { return }
      Logger(label("mmlog")).critical(
        "survived \(report.summary, privacy: .public): \(places, privacy: .public)",
        ["time": .int(report.time)])
      session.ring.noteSurvival()
    }
  }

  // MARK: - A ring that is lost

  /// Opens another ring in place of one that somebody has corrupted or taken away; on the drainer's
  /// thread of the old one. The new one's drainer will bring the old session to its end.
  ///
  /// - Returns: Whether there is another. If not, it is to be tried again later.
  private func replaceSession(_ session: Session, because problem: LogError) -> Bool {
    guard lock.tryLock(atMost: 1_000_000_000) else { return false }
    defer { lock.unlock() }
    guard let old = open, old.session === session else { return false }
    if !isReplacementFailing { events.send(.failed(problem)) }
    do throws(LogError) {
      try Self.makeDirectories(directory, configuration)
      publish(try makeSession(after: old))
      isReplacementFailing = false
      return true
    } catch {
      if !isReplacementFailing { events.send(.failed(error)) }
      isReplacementFailing = true
      return false
    }
  }

  /// Brings a session to its end that another has come in place of; on the drainer's thread of the
  /// new one.
  private func retire(_ old: Open) {
    do throws(LogError) {
      try end(old, isReplaced: true)
      events.send(.resumed)
    } catch {
      events.send(.failed(error))
    }
  }

  // MARK: - Flight records

  func capture(within limit: Int64) throws(LogError) {
    try begunSession()?.drainer.capture(within: limit)
  }

  var flightCounts: FlightCounts {
    lock.withLock { open?.session.ring.flightCounts } ?? FlightCounts(captured: 0, forgotten: 0)
  }

  // MARK: - Archives

  /// Changes settings, and has all go by them at once.
  func changeSettings(_ body: (inout StoreSettings.Values) -> Void) throws(LogError) {
    try settings.change(body)
    lock.withLock {
      open?.drainer.settingsChanged()
      openMaintenance?.settingsChanged()
    }
  }

  func rotate(_ answer: @escaping @Sendable (Result<ArchiveInfo?, LogError>) -> Void) {
    do throws(LogError) {
      guard let open = try begunSession() else { return answer(.success(nil)) }
      open.drainer.rotate(answer)
    } catch {
      answer(.failure(error))
    }
  }

  func archives() throws(LogError) -> [ArchiveInfo] { try maintenance.archives() }

  /// Deletes archives because the program asks for it.
  func remove(
    _ archives: [ArchiveInfo], if mayGo: (ArchiveInfo) -> Bool
  ) throws(LogError) -> [ArchiveInfo] {
    var (removed, failure) = ([ArchiveInfo](), LogError?.none)
    // Their recovery would take what was in them for what was never archived.
    let needed = try Recovery.pendingSessions(
      inRingsAt: configuration.ringDirectory ?? directory)
    let isFree = { (archive: ArchiveInfo) in
      !needed.contains(archive.session) && mayGo(archive)
    }
    try catalog.delete(archives.map(\.fileName), if: isFree) { _, outcome in
      switch outcome {
      case .deleted(let archive):
        removed.append(archive)
        events.send(.deleted(archive, .request))
      case .failed(let error): failure = failure ?? error
      case .spared: break
      }
    }
    try catalog.emptyTrash()
    if let failure { throw failure }
    return removed
  }

  // MARK: - Fork

  /// Lets the drainer end its pass, if that is soon, and begin no other. The caller has the lock.
  func pauseDrainer() {
    isDrainerPaused = open?.drainer.passLock.tryLock(atMost: 100_000_000) ?? false
    isMaintenancePaused = openMaintenance?.passLock.tryLock(atMost: 100_000_000) ?? false
  }

  /// Lets the drainer go on. In the parent, by the thread that forked.
  func resumeDrainer() {
    if isDrainerPaused { open?.drainer.passLock.unlock() }
    if isMaintenancePaused { openMaintenance?.passLock.unlock() }
    (isDrainerPaused, isMaintenancePaused) = (false, false)
  }

  /// Gives up the parent's session, in the child of a fork. The caller has taken the labels' lock.
  func detachInChild() {
    lock.reinitialize()
    settings.lock.reinitialize()
    reopener.store(0, ordering: .relaxed)
    // Should the parent die before it has closed them: whoever recovers their rings must not wait
    // for this process.
    for session in ending { session.ring.detach() }
    ending = []
    guard let old = open else { return }
    // The parent counts them.
    earlierLosses = LossLedger()
    lossesWithoutRing.clear()
    // Stores of a log call that forked in its middle, and of nobody else, end in private memory.
    old.session.ring.detach()
    old.session.reinitializeLocks()
    labels.setGatesLocked(nil)
    // Its threads are gone, maybe in the middle of something: it is never touched again.
    _ = Unmanaged.passRetained(old.drainer)
    if let openMaintenance { _ = Unmanaged.passRetained(openMaintenance) }
    _ = Unmanaged.passRetained(events)
    _ = Unmanaged.passRetained(counters)
    _ = Unmanaged.passRetained(catalog)
    openMaintenance = nil
    open = nil
    sessionAddress.store(0, ordering: .releasing)
    events = EventHub(startup: [], observer: configuration.observer)
    counters = DrainCounters()
    catalog = Catalog(of: directory, store: name)
    if !isClosed { needsReopening.store(true, ordering: .releasing) }
    TestPoint.reach(.forkDetached)
  }
}

extension Session {
  /// Enters a label into the ring's dictionary; false if there is no room.
  func register(label: String, id: UInt32) -> Bool {
    var label = label
    return ring.dictionaryLock.withLock {
      ring.appendEntry(kind: RecordLayout.labelKind, leaving: 0) { writer in
        label.withUTF8 { writer.label(id: id, UnsafeRawBufferPointer($0)) }
      }
    }
  }
}
