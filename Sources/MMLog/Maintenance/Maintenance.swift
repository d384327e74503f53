import MMLogFormat
import MMLogStorage
import MMLogSystem
import Synchronization

/// The store's second thread, which maintains archives: it recovers what dead processes left,
/// applies the limits of retention, empties the trash, and reports sizes that were reached.
///
/// The drainer cannot do this work: inspecting a hundred thousand archives, or unlinking a large
/// one, takes longer than a ring has room for records.
///
/// Proof of `@unchecked Sendable`: what is not atomic or a lock belongs to the maintenance thread.
final class Maintenance: @unchecked Sendable {
  let catalog: Catalog
  let ringDirectory: String
  private let events: EventHub
  private let configuration: LogStore.Configuration
  private let settings: LockedValue<StoreSettings>
  /// The time between passes when nothing happens, in nanoseconds.
  private let interval: Int64
  private let recovery: StartRecovery
  private let location: StoreLocation
  /// Whether the outcome of the start's recovery is known.
  private var knowsRecovery = false
  /// When to search for dead processes again, as monotonic time.
  private var nextRecovery: UInt64 = 0
  /// The paths of archives that were closed, and that no scan has found yet.
  private let closed = LockedValue<[String]>([])
  /// The session that is open now.
  private let session = LockedValue<SessionID?>(nil)
  private let requests = PassRequests()
  private let worker = Worker("mmlog-maintain")
  private let watchdog: Watchdog
  /// The uploaders that wait for archives.
  let uploads: UploadQueue
  /// After how many nanoseconds there may be an archive for them.
  private var uploadDelay: Int64?

  /// When to try again to delete archives that could not be deleted, by their names.
  private var retries: [String: Backoff] = [:]
  // What has been reported already.
  private let unreadable = LockedValue<Set<String>>([])
  private var strange: Set<String> = []
  private var exceeded: Set<Retention.Rule> = []
  private var knowsSpace = true
  private var isLow = false
  private var reached = (pending: false, size: false)
  private var hasFailed = false
  private var notedSettings: StoreSettings?

  /// When the thread has to end, as monotonic time.
  private let deadline = Atomic<UInt64>(.max)

  /// Held whenever the threads do not wait.
  var passLocks: [ForkSafeMutex] { [worker.passLock, watchdog.passLock] }

  init(
    _ catalog: Catalog, _ configuration: LogStore.Configuration,
    _ settings: LockedValue<StoreSettings>, _ events: EventHub, _ counters: DrainCounters,
    _ recovery: StartRecovery, _ location: StoreLocation
  ) {
    (self.recovery, self.location) = (recovery, location)
    watchdog = Watchdog(counters, events, after: configuration.stallTime)
    uploads = UploadQueue(catalog, events, wake: { [worker] in worker.wake() })
    self.catalog = catalog
    self.configuration = configuration
    ringDirectory = location.ringDirectory
    self.events = events
    self.settings = settings
    interval = configuration.maintenanceInterval.nanoseconds
  }

  /// Starts the thread, and the watchdog. May be called again after a failure.
  func start() throws(LogError) {
    try explaining("Starting the maintenance thread failed") { () throws(SystemError) in
      try watchdog.start()
      try worker.start { [self] _ in
        configuration.maintaining { pass() }
        return min(interval, uploadDelay ?? interval)
      }
    }
  }

  /// Makes changed settings take effect at once.
  func settingsChanged() { worker.wake() }

  /// Returns all archives, the oldest first. Archives that cannot be read are left out, and
  /// reported.
  func archives() throws(LogError) -> [ArchiveInfo] {
    var problems: [SystemError] = []
    let archives = try catalog.scan(own: session.withLock { $0 }) { problems.append($0) }
    report(unreadable: problems)
    return archives
  }

  /// Deletes an archive because the program asks for it.
  ///
  /// - Throws: Why the archive may not be deleted, or what failed.
  func remove(_ archive: ArchiveInfo) throws(LogError) {
    let now = Timestamp.now
    var refusal: LogError?
    _ = try remove([archive], if: { archive.whyNotToRemove($0, at: now) == nil }) {
      refusal = archive.whyNotToRemove($0, isNeeded: $1, at: now)
    }
    if let refusal { throw refusal }
  }

  /// Deletes archives because the program asks for it.
  ///
  /// - Parameters:
  ///   - rule: Why the archives are deleted, for events.
  ///   - spared: Receives each archive that may not be deleted, as it is now, or nil if it is gone;
  ///     and whether a recovery needs it.
  func remove(
    _ archives: [ArchiveInfo], for rule: Retention.Rule = .request,
    if mayGo: (ArchiveInfo) -> Bool,
    spared: (ArchiveInfo?, _ isNeeded: Bool) -> Void = { _, _ in }
  ) throws(LogError) -> [ArchiveInfo] {
    var (removed, failure) = ([ArchiveInfo](), LogError?.none)
    // The recovery of those rings would believe that the archives' records were never archived.
    let isNeeded = try Recovery.neededArchives(inRingsAt: ringDirectory) ?? { _ in false }
    let isFree = { (archive: ArchiveInfo) in !isNeeded(archive) && mayGo(archive) }
    try catalog.delete(archives.map(\.fileName), if: isFree) { _, outcome in
      switch outcome {
      case .deleted(let archive):
        removed.append(archive)
        events.send(.deleted(archive: archive, rule: rule))
      case .failed(let error): failure = failure ?? error
      case .spared(let archive): spared(archive, archive.map(isNeeded) ?? false)
      }
    }
    // Archives in the trash count as deleted. If emptying the trash fails, the thread tries again,
    // and reports why it cannot.
    try? catalog.emptyTrash()
    if let failure { throw failure }
    return removed
  }

  /// Takes in which session is open now.
  func begin(_ id: SessionID) { session.withLock { $0 = id } }

  /// Takes in that the archive of that path was closed.
  func archiveClosed(_ path: String) {
    closed.withLock { $0.append(path) }
    worker.wake()
  }

  /// Applies all limits, and waits until that is done.
  func apply(within limit: Int64) throws(LogError) {
    try requests.wait(
      atMost: limit, for: { worker.wake() },
      else: "Maintaining the archives took longer than allowed")
  }

  /// How long the store's closing waits for a last pass, in nanoseconds. Work that is left then is
  /// for the next start.
  private static let timeout: UInt64 = 1_000_000_000

  /// Makes a last pass and ends the thread.
  func stop() {
    let deadline = Clock.monotonic() + Self.timeout
    self.deadline.store(deadline, ordering: .releasing)
    catalog.waitAtMost(until: deadline)
    events.stopAsking()
    watchdog.stop()
    worker.stop()
    // What is left to be noted of uploads may wait for a moment, too.
    catalog.waitAtMost(until: Clock.monotonic() + Self.timeout / 5)
    uploads.end()
    requests.end()
    // Uploads may end later.
    catalog.waitAtMost(until: .max)
  }

  // MARK: - The thread

  private func pass() {
    recover()
    let ticket = requests.newestTicket
    uploads.doJobs()
    var failure: LogError?
    do throws(LogError) {
      try scan(isAsked: ticket > requests.servedTicket)
      hasFailed = false
    } catch {
      failure = error
      // Reported once, until a pass succeeds. The drainer reports an archive that cannot be
      // written.
      if !hasFailed { events.send(.failed(error: error)) }
      hasFailed = true
    }
    requests.serve(ticket, failure)
  }

  /// Done before everything else: no limit may delete what a recovery needs, or has not written
  /// yet.
  private func recover() {
    if knowsRecovery { return recoverLater() }
    let outcome = recovery.run(location, events, while: { goesOn })
    uploads.note(recovered: outcome.sessions)
    // The recovery has reported these.
    strange.formUnion(outcome.problems.map(\.path))
    knowsRecovery = true
    nextRecovery = Clock.monotonic() &+ UInt64(interval)
  }

  /// Recovers what is left by processes that die while the store is open, such as children of fork
  /// that end without closing it. Otherwise each would leave a ring until the next start.
  private func recoverLater() {
    let now = Clock.monotonic()
    guard now >= nextRecovery, goesOn else { return }
    nextRecovery = now &+ UInt64(interval)
    let outcome = location.recover(while: { goesOn })
    for session in outcome.sessions {
      events.send(.recovered(session: session))
      for archive in session.sealed { events.send(.sealed(archive: archive)) }
    }
    uploads.note(recovered: outcome.sessions)
    for problem in outcome.problems { report(strange: problem) }
  }

  /// Whether there still is time.
  private var goesOn: Bool {
    let deadline = deadline.load(ordering: .acquiring)
    return deadline == .max || Clock.monotonic() < deadline
  }

  private func scan(isAsked: Bool) throws(LogError) {
    let new = Set(closed.withLock { $0 })
    var problems: [SystemError] = []
    let archives = try catalog.scan(own: session.withLock { $0 }, while: { goesOn }) {
      problems.append($0)
    }
    guard let archives else { return }
    report(unreadable: problems)
    if !new.isEmpty {
      // An archive that could not be read may be readable the next time. An archive that is gone
      // never is.
      let unread = Set(problems.map(\.path))
      closed.withLock { $0.removeAll { new.contains($0) && !unread.contains($0) } }
      for archive in archives where new.contains(archive.path) {
        events.send(.sealed(archive: archive))
      }
    }
    TestPoint.reach(.retentionBegins)
    // First, because the space that the trash takes is not missing.
    try? catalog.emptyTrash(while: { goesOn })
    uploadDelay = uploads.serve(archives)
    let settings = settings.withLock { $0 }
    if !archives.isEmpty { note(settings) }
    try apply(settings.retention, to: archives, isAsked: isAsked)
    sweepRings()
    try catalog.emptyTrash(while: { goesOn })
    try catalog.removeStraySidecars()
    reportThresholds()
  }

  /// Notes the settings for tools, if they have changed. A failure is not reported: then archives
  /// fail, too, or will, and their failures are reported. The next pass tries again.
  private func note(_ settings: StoreSettings) {
    if settings != notedSettings, (try? catalog.note(settings)) != nil { notedSettings = settings }
  }

  private func apply(
    _ retention: Retention, to archives: [ArchiveInfo], isAsked: Bool
  ) throws(LogError) {
    let space = space()
    let plan = try RetentionPlan(
      retention, archives, ringDirectories: [ringDirectory], space: space,
      strange: { report(strange: $0) })
    var due: [(archive: ArchiveInfo, rule: Retention.Rule)] = []
    var vetoed: [Retention.Rule: Int] = [:]
    var firstAnswer: UInt64 = 0
    for (index, rule) in plan.deletions.map({ ($0.index, $0.rule) }) where goesOn {
      let archive = archives[index]
      if !isAsked, let retry = retries[archive.fileName], !retry.isDue { continue }
      if events.mayDelete(archive, rule) {
        if due.isEmpty { firstAnswer = Clock.monotonic() }
        due.append((archive, rule))
      } else {
        vetoed[rule, default: 0] += 1
      }
      let age = Clock.monotonic() &- firstAnswer
      if due.count == Self.mostAtOnce || !due.isEmpty && age > Self.longestWait {
        try delete(due)
        due = []
      }
    }
    try delete(due)
    for rule in Retention.Rule.allCases {
      let isExceeded = plan.unmet.contains(rule) || vetoed[rule] != nil
      if !isExceeded {
        exceeded.remove(rule)
      } else if exceeded.insert(rule).inserted {
        var kept = Dictionary(plan.kept.values.map { ($0, 1) }, uniquingKeysWith: +)
        kept[.observer] = vetoed[rule]
        events.send(.limitExceeded(rule: rule, kept: kept))
      }
    }
    reportSpace(retention, space)
  }

  /// The space that decides about the limit of free space; nil if it is unknown. That is reported
  /// once, until the space is known.
  private func space() -> (free: Int, total: Int)? {
    do throws(SystemError) {
      let space = try catalog.space()
      knowsSpace = true
      return space
    } catch {
      if knowsSpace {
        events.send(
          .failed(
            error: LogError(
              error, while: "Asking for the free space failed; its limit holds nothing meanwhile")))
      }
      knowsSpace = false
      return nil
    }
  }

  /// How many archives are deleted at once at most: others wait for the directory's lock meanwhile.
  private static let mostAtOnce = 32
  /// How long, in nanoseconds, an archive that the observer lets go waits for more of them. The
  /// time of the observer's next answer comes on top.
  private static let longestWait: UInt64 = 100_000_000

  private func delete(_ due: [(archive: ArchiveInfo, rule: Retention.Rule)]) throws(LogError) {
    let known = Dictionary(due.map { ($0.archive.fileName, $0) }) { first, _ in first }
    let mayGo = { [self] (archive: ArchiveInfo) in
      guard goesOn, !archive.state.isPinned, let (judged, rule) = known[archive.fileName],
        archive.isUnchanged(since: judged)
      else { return false }
      events.send(.willDelete(archive: archive, rule: rule))
      return true
    }
    try catalog.delete(due.map(\.archive.fileName), if: mayGo) { name, outcome in
      guard let (archive, rule) = known[name] else { return }
      switch outcome {
      case .deleted(let archive):
        retries[name] = nil
        events.send(.deleted(archive: archive, rule: rule))
      case .failed(let error):
        if retries[name] == nil { events.send(.notDeleted(archive: archive, error: error)) }
        retries[name, default: Backoff(longest: 60_000_000_000)].postpone()
      case .spared: retries[name] = nil
      }
    }
  }

  /// Reports archives that cannot be read, each once until it can be read. For limits, such
  /// archives do not exist.
  private func report(unreadable problems: [SystemError]) {
    let new = unreadable.withLock { known in
      defer { known = Set(problems.map(\.path)) }
      return problems.filter { !known.contains($0.path) }
    }
    for problem in new {
      events.send(
        .failed(
          error: LogError(
            problem, while: "Inspecting an archive failed; no limit deletes it meanwhile")))
    }
  }

  /// Reports, once, a file with a ring's name that is none of our rings, or cannot be inspected or
  /// recovered.
  private func report(strange error: LogError) {
    if strange.insert(error.path).inserted { events.send(.failed(error: error)) }
  }

  private func sweepRings() {
    guard let directory = try? Directory.open(ringDirectory) else { return }
    UnfinishedFiles.sweepRings(of: catalog.store, in: directory)
  }

  // MARK: - Thresholds

  private func reportSpace(_ retention: Retention, _ space: (free: Int, total: Int)?) {
    guard let space else { return }
    let isLow = space.free < (retention.freeSpace?.bytes(ofTotal: space.total) ?? 0)
    if isLow && !self.isLow { events.send(.lowSpace(available: space.free)) }
    self.isLow = isLow
  }

  private func reportThresholds() {
    let totals = catalog.totals
    let now = (
      pending: configuration.pendingThreshold.map { totals.pending >= $0 } ?? false,
      size: configuration.sizeThreshold.map { totals.size >= $0 } ?? false
    )
    if now.pending && !reached.pending { events.send(.pendingReached(bytes: totals.pending)) }
    if now.size && !reached.size { events.send(.sizeReached(bytes: totals.size)) }
    reached = now
  }
}
