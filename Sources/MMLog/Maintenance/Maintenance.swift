import MMLogFormat
import MMLogStorage
import MMLogSystem
import Synchronization

/// The store's second thread: maintains the archives that are there. It recovers what dead
/// processes left, applies the limits of retention, empties the trash, and reports sizes that were
/// reached.
///
/// Not the drainer's work: inspecting a hundred thousand archives, or unlinking a large one, takes
/// longer than a ring has room for.
///
/// Proof of `@unchecked Sendable`: what is not atomic or a lock belongs to the maintenance thread.
final class Maintenance: @unchecked Sendable {
  let catalog: Catalog
  let ringDirectory: String
  private let events: EventHub
  private let configuration: LogStore.Configuration
  private let settings: LockedValue<StoreSettings>
  /// How long it is between passes, when nothing happens, in nanoseconds.
  private let interval: Int64
  private let recovery: StartRecovery
  private let location: StoreLocation
  /// Whether it is known what the recovery came to.
  private var knowsRecovery = false
  /// When to search for dead processes again, as monotonic time.
  private var nextRecovery: UInt64 = 0
  /// Archives that were closed, and that no scan has found yet.
  private let closed = LockedValue<[String]>([])
  /// The session that goes on.
  private let session = LockedValue<SessionID?>(nil)
  private let requests = PassRequests()
  private let worker = Worker("mmlog-maintain")
  private let watchdog: Watchdog
  /// Those who hand archives on.
  let uploads: UploadQueue
  /// After how many nanoseconds there may be something for them.
  private var uploadDelay: Int64?

  /// When what could not be deleted is tried again, by the archive's name.
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

  /// When it has to come to its end, as monotonic time.
  private let deadline = Atomic<UInt64>(.max)

  /// Taken while its threads do not wait.
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

  /// Starts the thread, and the one that watches the drainer. May be called again if it failed.
  func start() throws(LogError) {
    try explaining("Starting the maintenance thread failed") { () throws(SystemError) in
      try watchdog.start()
      try worker.start { [self] _ in
        configuration.maintaining { pass() }
        return min(interval, uploadDelay ?? interval)
      }
    }
  }

  /// Has settings count at once.
  func settingsChanged() { worker.wake() }

  /// The archives that there are, the oldest first. What cannot be read is left out, and reported.
  func archives() throws(LogError) -> [ArchiveInfo] {
    var problems: [SystemError] = []
    let archives = try catalog.scan(own: session.withLock { $0 }) { problems.append($0) }
    report(unreadable: problems)
    return archives
  }

  /// Deletes an archive because the program asks for it.
  ///
  /// - Throws: Why it may not be deleted; what keeps it from being deleted.
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
  ///   - rule: Why, for those who listen to events.
  ///   - spared: Receives each that may not be deleted, as it is now, nil if it is gone; and
  ///     whether a recovery needs it.
  func remove(
    _ archives: [ArchiveInfo], for rule: Retention.Rule = .request,
    if mayGo: (ArchiveInfo) -> Bool,
    spared: (ArchiveInfo?, _ isNeeded: Bool) -> Void = { _, _ in }
  ) throws(LogError) -> [ArchiveInfo] {
    var (removed, failure) = ([ArchiveInfo](), LogError?.none)
    // Their recovery would take what was in them for what was never archived.
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
    // What is in the trash is deleted. The thread tries again, and reports why it cannot.
    try? catalog.emptyTrash()
    if let failure { throw failure }
    return removed
  }

  /// Says which session goes on.
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

  /// How long the store's closing waits for a last pass, in nanoseconds. What is left is for the
  /// next start.
  private static let timeout: UInt64 = 1_000_000_000

  /// Makes a last pass and ends the thread.
  func stop() {
    deadline.store(Clock.monotonic() + Self.timeout, ordering: .releasing)
    events.stopAsking()
    watchdog.stop()
    worker.stop()
    uploads.end()
    requests.end()
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
      // Once, until it works again: an archive that cannot be written is reported by the drainer.
      if !hasFailed { events.send(.failed(error: error)) }
      hasFailed = true
    }
    requests.serve(ticket, failure)
  }

  /// First of all: no limit is to delete what a recovery needs or has not written yet.
  private func recover() {
    if knowsRecovery { return recoverLater() }
    let outcome = recovery.run(location, events, while: { goesOn })
    uploads.note(recovered: outcome.sessions)
    // Reported already.
    strange.formUnion(outcome.problems.map(\.path))
    knowsRecovery = true
    nextRecovery = Clock.monotonic() &+ UInt64(interval)
  }

  /// What processes leave that die while the store is open, as a fork's children do that end
  /// without closing it: else each would leave a ring until the next start.
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
      // One that could not be read may be the next time; one that is gone never is.
      let unread = Set(problems.map(\.path))
      closed.withLock { $0.removeAll { new.contains($0) && !unread.contains($0) } }
      for archive in archives where new.contains(archive.path) {
        events.send(.sealed(archive: archive))
      }
    }
    TestPoint.reach(.retentionBegins)
    // Space that is in the trash already is not missing.
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

  /// Notes the settings for tools, if they are others than before. Where that fails, archives fail
  /// too, or will, and these are reported; it is tried again at the next pass.
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

  /// What the limit of free space goes by; nil if it is unknown, which is reported once, until it
  /// is known.
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

  /// So many archives are deleted at once: others wait for the directory's lock meanwhile.
  private static let mostAtOnce = 32
  /// What the observer lets go waits no longer than this for more, in nanoseconds, and for the
  /// observer's next answer.
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

  /// An archive that cannot be read is not there for any limit. Reported once, until it can be
  /// read.
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

  /// A file that has a ring's name and is none of ours stands for nothing. Reported once.
  private func report(strange error: LogError) {
    if strange.insert(error.path).inserted { events.send(.failed(error: error)) }
  }

  private func sweepRings() {
    guard let directory = try? Directory.open(ringDirectory) else { return }
    UnfinishedRings.sweep(of: catalog.store, in: directory)
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
