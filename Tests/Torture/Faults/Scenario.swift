import TestSupport
import CrashCampaign
import CrashRecords
import Glibc
import MMLog
import MMLogFormat
import MMLogReader
import MMLogStorage
import MMLogSystem
import Synchronization

/// One life of a store during which a system call fails: from the recovery of a dead session to
/// closing.
final class Scenario: Sendable {
  /// Lane 0 is the dead session's; 1 and 2 are threads'; 3 is the main thread's. Flight records: 4
  /// the main thread's, 5 the dead session's.
  static let lanes = (0...5).map {
    Lane($0, sizes: (1...3).contains($0) ? 100...12_000 : 20...200, seed: 7)
  }
  /// The lanes whose records are logged at a level that is not archived, and without contexts.
  static let flightLanes = 4...5
  /// How many records the dead session has, and how many flight records.
  static let deadCount = 60
  static let deadFlightCount = 5

  private static func configuration(isSealed: Bool) -> LogStore.Configuration {
    var configuration = LogStore.Configuration()
    if isSealed {
      configuration.recipients = CampaignIdentity.recipients
      configuration.hashChain = true
    }
    configuration.ringSize = 256 << 10
    configuration.segmentSize = 4 << 10
    configuration.dictionarySize = 4 << 10
    configuration.rotation.size = 64 << 10
    configuration.retention = .unlimited
    configuration.retention.count = 3
    // The drainer makes a pass only if asked, so that each run makes the same calls.
    configuration.drainInterval = .seconds(3600)
    configuration.fullRing = .wait(upTo: .milliseconds(2))
    configuration.level = .trace
    configuration.fields = LaneContext.sessionFields
    // No lane but those of flight records logs at `trace`.
    (configuration.archiveLevel, configuration.captureLevel) = (.debug, nil)
    configuration.recordsCrashes = true
    return configuration
  }

  private let folder: String
  private let combination: Combination?
  private let configuration: LogStore.Configuration
  /// Keeps deleted archives: what was deleted is not lost.
  private let ledger: ArchiveLedger
  private let events = EventCounts()
  private let orders = Atomic<Int>(0)
  private let done = Atomic<Int>(0)
  private let logger = Mutex<Logger?>(nil)
  private let logged = Mutex([0, 0, 0, 0])
  /// The flight records that have to be there, and those that must not be: their level was off.
  private let captured = Mutex<ClosedRange<Int>?>(nil)
  private let off = Mutex<ClosedRange<Int>?>(nil)

  /// - Parameters:
  ///   - folder: Has the dead session's files in it.
  ///   - combination: Nil: nothing fails, and calls are counted.
  ///   - isSealed: Whether rings and archives are encrypted, and frames chained.
  init(_ combination: Combination?, in folder: String, isSealed: Bool) {
    (self.combination, self.folder) = (combination, folder)
    configuration = Self.configuration(isSealed: isSealed)
    ledger = ArchiveLedger(Self.ledger(of: folder))
    #if DEBUG
      TestPoint.handler = { [ledger] point in
        if point == .retentionBeforeDelete { ledger.link(archivesIn: folder) }
      }
    #endif
  }

  /// The path of the ledger of the scenario in a folder.
  static func ledger(of folder: String) -> String { "\(folder).ledger" }

  struct Outcome {
    var problems: [String] = []
    var counts = CallCounts()
    /// Whether the fault came about, and whether it met the store.
    var isStruck = false
    var isHarmful = false
    /// Whether it came about before the store was open.
    var isStruckWhileOpening = false
    /// The paths that the fault was about.
    var struckPaths: Set<String> = []
    /// Whether the dead session was recovered.
    var isRecovered = false
    /// What was reported of the fault: thrown, or as an event.
    var reported: [String] = []
  }

  /// Logs as the dead session, and dies of a signal that the session records. Does not return.
  ///
  /// The session does not know its boot, so that its recovery has to check more closely.
  static func dieLogging(in folder: String, isSealed: Bool) throws {
    #if DEBUG
      ForcedFault.force(.open, errno: EACCES, under: "/proc/")
    #endif
    let store = try LogStore(
      directory: folder, name: "store", configuration: configuration(isSealed: isSealed))
    let log = store.logger(label: "dead")
    for sequence in 1...deadCount {
      lanes[0].logInContext(sequence, to: log)
      if sequence == deadCount / 2 { try store.flush(.archive) }
    }
    logFlight(1...deadFlightCount, of: 5, to: log)
    abort()
  }

  func run() throws -> Outcome {
    var outcome = Outcome()
    // The threads start before anything fails: their start is not tested.
    let threads = try (1...2).map { lane in
      try Thread(name: "lane \(lane)") { [self] in work(lane) }
    }
    // What the runtime opens for itself with the first task is no leak.
    events.warmUp()
    let before = OpenThings(in: folder)
    let files = try Folder.names(folder)
    if let combination { combination.arm() } else { CallCounts.begin() }
    if let store = try open(files, &outcome) {
      #if DEBUG
        outcome.isStruckWhileOpening = !ForcedFault.struckPaths.isEmpty
      #endif
      outcome.counts.note()
      outcome.isRecovered = !store.recoveredSessions.isEmpty
      try live(store, &outcome)
    }
    endFault()
    order(.max)
    for thread in threads { thread.join() }
    outcome.problems += OpenThings(in: folder).beyond(before).map { "still open: \($0)" }
    checkReporting(&outcome)
    return outcome
  }

  // MARK: - The store's life

  private func open(_ files: [String], _ outcome: inout Outcome) throws -> LogStore? {
    do {
      return try LogStore(directory: folder, name: "store", configuration: configuration)
    } catch {
      noteStruck(&outcome)
      endFault()
      outcome.reported.append(error.message)
      checkOpening(error, files, &outcome)
    }
    do {
      return try LogStore(directory: folder, name: "store", configuration: configuration)
    } catch {
      outcome.problems.append("it does not open though nothing fails any more: \(error)")
      return nil
    }
  }

  /// Checks that the error says what failed, and that no files are left but those that were there.
  private func checkOpening(_ error: LogError, _ files: [String], _ outcome: inout Outcome) {
    let call = combination?.call.rawValue ?? ""
    if !error.message.contains(call) || (!error.path.isEmpty && !error.message.contains(error.path))
    {
      outcome.problems.append("the error does not name \(call) and its path: \(error)")
    }
    let session = Set(files.compactMap { FileNames.Ring(fileName: $0)?.session })
    for name in (try? Folder.names(folder)) ?? [] where !files.contains(name) {
      // The dead session may have more archives.
      if let archive = FileNames.Archive(fileName: name), session.contains(archive.session) {
        continue
      }
      outcome.problems.append("\(name) is left behind")
    }
  }

  private func live(_ store: LogStore, _ outcome: inout Outcome) throws {
    outcome.reported += store.recoveryFailures.map(\.message)
    events.listen(to: store)
    logger.withLock { $0 = store.logger(label: "alive") }
    // The threads log more at once than the ring holds.
    order(1)
    flush(store, .archive, &outcome)
    flush(store, .disk, &outcome)
    handOn(store, &outcome)
    askFromOutside(store, &outcome)
    logHere(1...5)
    flush(store, .disk, &outcome)
    noteStruck(&outcome)
    outcome.counts.note()
    if let combination, combination.duration != .toTheEnd {
      endFault()
      events.waitForResumption(&outcome.problems)
    }
    order(2)
    logHere(6...10)
    flush(store, .disk, &outcome, mustSucceed: combination?.duration == .awhile)
    close(store, &outcome)
    checkFiles(store, &outcome)
  }

  private func flush(
    _ store: LogStore, _ durability: LogStore.Durability, _ outcome: inout Outcome,
    mustSucceed: Bool = false
  ) {
    do {
      try store.flush(durability, within: .seconds(10))
    } catch {
      outcome.reported.append(error.message)
      if mustSucceed {
        outcome.problems.append("flushing fails though nothing else does: \(error)")
      }
      if error.code == .timedOut {
        outcome.problems.append("flushing hangs: \(error)")
      }
    }
  }

  /// What uploaders and operators do with archives.
  private func handOn(_ store: LogStore, _ outcome: inout Outcome) {
    attempt(&outcome) { _ = try store.rotate(within: .seconds(10)) }
    for index in 0..<2 {
      attempt(&outcome) {
        let archives = try store.needingUpload()
        guard archives.count > index else { return }
        try store.pin(archives[index], because: "it is being sent")
        if let lease = try store.acquireLease(
          on: archives[index], by: "scenario", for: .seconds(60))
        {
          try store.release(lease, on: archives[index])
        }
        try store.markUploaded(archives[index])
        try store.unpin(archives[index])
      }
    }
    attempt(&outcome) { try store.applyRetention(within: .seconds(10)) }
    attempt(&outcome) { try store.removeUploaded(store.uploaded()) }
    var retention = Retention.unlimited
    retention.count = 1
    var complaints: [String] = []
    attempt(&outcome) {
      let pruning = Pruning(of: folder)
      let judgment = try pruning.judge(retention, store: "store") { complaints.append($0) }
      try pruning.delete(
        judgment.verdicts, deleted: { _ in }, failed: { complaints.append($0.message) })
    }
    outcome.reported += complaints
  }

  /// Asks through the ring, as another process does, for other levels and for a capture of flight
  /// records.
  private func askFromOutside(_ store: LogStore, _ outcome: inout Outcome) {
    guard let log = logger.withLock({ $0 }) else { return }
    Self.logFlight(1...5, of: 4, to: log)
    var complaints: [String] = []
    attempt(&outcome) {
      for ring in try LiveRing.all(in: folder, problem: { complaints.append($0.message) }) {
        let rule = LevelOverride(LevelRule(.debug, for: "alive"), expiry: 0)
        let levels = try ring.askForLevels { $0 + [rule] }
        // The flush wakes the drainer, too.
        try store.flush(.archive, within: .seconds(10))
        try ring.waitForLevels(levels, within: 10_000_000_000)
        off.withLock { $0 = 6...8 }
        Self.logFlight(6...8, of: 4, to: log)
        let capture = try ring.ask(for: .capture)
        try store.flush(.archive, within: .seconds(10))
        try ring.waitForAnswer(to: capture, within: 10_000_000_000)
        captured.withLock { $0 = 1...5 }
        _ = try ring.askForLevels { _ in [] }
      }
    }
    outcome.reported += complaints
    if combination == nil, captured.withLock({ $0 }) == nil {
      outcome.problems.append("nothing is captured: \(outcome.reported)")
    }
  }

  private func attempt(_ outcome: inout Outcome, _ body: () throws -> Void) {
    do {
      try body()
    } catch let error as LogError {
      // A limit may have deleted the archive.
      if error.code == .missingArchive { return }
      outcome.reported.append(error.message)
      // Another may have the lock for long.
      if error.code == .timedOut && combination?.call != .fcntlLock {
        outcome.problems.append("handing on hangs: \(error)")
      }
    } catch {
      outcome.problems.append("handing on throws \(error)")
    }
  }

  private func close(_ store: LogStore, _ outcome: inout Outcome) {
    do {
      try store.close()
    } catch {
      outcome.reported.append(error.message)
      if combination == nil || combination?.duration == .awhile {
        outcome.problems.append("closing fails though nothing else does: \(error)")
      }
    }
    outcome.counts.note()
    noteStruck(&outcome)
    endFault()
    events.waitForEnd()
    outcome.reported += events.reported
  }

  // MARK: - What there is afterwards

  /// Reads what the closed store left, lets the next store recover it, and reads it again.
  private func checkFiles(_ store: LogStore, _ outcome: inout Outcome) {
    let isLeft = ((try? Folder.names(folder)) ?? []).contains { $0.hasSuffix(".ring") }
    check("after closing", store.losses, isClosed: !isLeft, &outcome)
    do {
      let next = try LogStore(directory: folder, name: "store", configuration: configuration)
      outcome.problems += next.recoveryFailures.map { "not recovered: \($0)" }
      try next.close()
    } catch {
      outcome.problems.append("the next store does not open and close: \(error)")
    }
    check("after recovery", store.losses, isClosed: true, &outcome)
    let names = (try? Folder.names(folder)) ?? []
    for name in names where FileNames.Archive(fileName: name) == nil {
      // The lock may be left, and what is noted about an archive that is there.
      if name == ".mmlog-lock" || name.hasSuffix(".state") && names.contains("\(name.dropLast(6))")
      {
        continue
      }
      // A settings file that could not be renamed is written anew when settings are noted next.
      let settings = FileNames.settings(of: "store")
      if name == settings || name == settings + FileNames.unfinishedSuffix { continue }
      if name == ".mmlog-trash", (try? Folder.names("\(folder)/\(name)")) == [] { continue }
      outcome.problems.append("\(name) is left for ever")
    }
    if store.losses.lostCount > 0 { outcome.reported.append("\(store.losses.lostCount) losses") }
  }

  /// - Parameter isClosed: Whether a session's ring is gone: then its archives have to know
  ///   everything, and be whole.
  private func check(
    _ moment: String, _ losses: LossLedger, isClosed: Bool, _ outcome: inout Outcome
  ) {
    let deleted = ledger.deleted(from: folder).map(\.path)
    let reading = Reading(folder, and: deleted, Self.lanes, plain: Self.flightLanes)
    var wrong = reading.problems
    if isClosed { wrong += reading.complaints }
    var expected = logged.withLock { $0 }
    expected[0] = Self.deadCount
    let missing = zip(expected, reading.counts).map { $0 - $1 }
    if missing[0] != 0 { wrong.append("\(missing[0]) of the dead session's records are missing") }
    // Flight records that found no room in the ring: nobody could capture them.
    let lostFlight = LossLedger.Cause.allCases.reduce(0) { $0 + Int(clamping: losses[$1, .trace]) }
    wrong += problemsOfFlight(reading, lost: lostFlight)
    let count = missing.dropFirst().reduce(0, +)
    let lost = losses.lostCount
    if count != lost - lostFlight {
      wrong.append("\(count) records are missing, and \(lost - lostFlight) are counted as lost")
    }
    if reading.losses != lost && isClosed {
      wrong.append("the reader reports \(reading.losses) losses of \(lost)")
    }
    if reading.cutCount > losses.total(.cut) { wrong.append("\(reading.cutCount) records are cut") }
    outcome.problems += wrong.map { "\(moment): \($0)" }
  }

  private func problemsOfFlight(_ reading: Reading, lost: Int) -> [String] {
    var problems: [String] = []
    if reading.found[5] != Set(1...Self.deadFlightCount) {
      problems.append("of the dead session's flight records there are \(reading.found[5].sorted())")
    }
    if reading.crashCount != 1 {
      problems.append("what the dead session died of is reported \(reading.crashCount) times")
    }
    let found = reading.found[4]
    if let captured = captured.withLock({ $0 }),
      found.intersection(captured).count + lost < captured.count
    {
      problems.append("of the captured flight records there are \(found.sorted())")
    }
    if let off = off.withLock({ $0 }), !found.isDisjoint(with: off) {
      problems.append("there are records whose level was off: \(found.sorted())")
    }
    return problems
  }

  private func checkReporting(_ outcome: inout Outcome) {
    guard let combination, !combination.isNoLoss, outcome.reported.isEmpty else { return }
    // Some reads may fail unreported. A store at work checks whether its ring is still there, and
    // sweeps before it begins an archive: it goes on if it cannot. Who has the answer to a request
    // does not need to know whether the process runs. Who maintains archives or inspects rings
    // checks again the next time.
    let isOnce = combination.duration == .once
    let onlyReads =
      [.readdir, .open, .fstat, .fstatat, .unlinkat, .fcntlGetLock].contains(combination.call)
      || isOnce && [.openat, .pread, .fgetxattr, .fcntlLock].contains(combination.call)
    if outcome.isHarmful && !(onlyReads && outcome.isRecovered) {
      outcome.problems.append(
        "nothing reported it, at \(outcome.struckPaths.sorted().joined(separator: ", "))")
    }
  }

  // MARK: - The fault

  private func noteStruck(_ outcome: inout Outcome) {
    #if DEBUG
      // Calls about files that are not the store's only describe the machine: its zone, its boot.
      let paths = ForcedFault.struckPaths
      outcome.isStruck = !paths.isEmpty
      outcome.struckPaths = paths
      // Memory that maps no file is for large records and more threads, whose losses are counted.
      let mustReport = combination?.call != .mmap && combination?.call != .mremap
      outcome.isHarmful = paths.contains {
        // Without the trash, what is deleted is removed at once; other names are given to
        // unfinished files.
        let isTrash =
          $0.hasPrefix("\(folder)/.mmlog-trash")
          || combination?.call == .renameat && !$0.hasSuffix(FileNames.unfinishedSuffix)
        // If memory of a ring is not made ready, log calls cause page faults; if a dictionary does
        // not grow, call sites stay in their records. The space that a ring takes when it is made
        // is another matter.
        let isOfReadiness =
          $0.hasSuffix(FileNames.ringSuffix)
          && (combination?.call == .pwrite || combination?.call == .madvise
            || combination?.call == .fallocate && !outcome.isStruckWhileOpening)
        // Settings are noted again with the next scan. Where that fails for long, archives fail.
        let isSettings = $0.hasPrefix("\(folder)/\(FileNames.settings(of: "store"))")
        return $0.isEmpty && mustReport || $0 == "mmlog-drainer"
          || $0.hasPrefix(folder) && !isTrash && !isOfReadiness && !isSettings
      }
    #endif
  }

  private func endFault() {
    #if DEBUG
      ForcedFault.clear(under: nil)
    #endif
  }

  // MARK: - Logging

  /// Makes the threads do their next piece of work, and waits until it is done.
  private func order(_ number: Int) {
    orders.store(number, ordering: .releasing)
    guard number != .max else { return }
    while done.load(ordering: .acquiring) < 2 * number { usleep(100) }
  }

  private func work(_ lane: Int) {
    for piece in 1...2 {
      while orders.load(ordering: .acquiring) < piece { usleep(100) }
      if let logger = logger.withLock({ $0 }) {
        log(piece == 1 ? 1...150 : 151...180, of: lane, to: logger)
      }
      done.add(1, ordering: .releasing)
    }
  }

  private func logHere(_ numbers: ClosedRange<Int>) {
    if let logger = logger.withLock({ $0 }) { log(numbers, of: 3, to: logger) }
  }

  private func log(_ numbers: ClosedRange<Int>, of lane: Int, to logger: Logger) {
    for sequence in numbers { Self.lanes[lane].logInContext(sequence, to: logger) }
    logged.withLock { $0[lane] = numbers.upperBound }
  }
  private static func logFlight(_ numbers: ClosedRange<Int>, of lane: Int, to logger: Logger) {
    for sequence in numbers {
      logger.trace("\(lane) \(sequence) \(lanes[lane].text(of: sequence))")
    }
  }
}
