import TestSupport
import CrashRecords
import Glibc
import MMLogCrypto
import MMLogFormat
import MMLogReader
package import MMLogStorage
import MMLogSystem

/// One round of a crash campaign: processes log into one store and die, others recover it and die
/// too, and in the end everything acknowledged has to be there, once.
///
/// All of it follows from the seed, except the pace of threads and processes. In every second round
/// one process is to die at a test point, each in its turn.
package struct CrashRound {
  /// What came of a round.
  package struct Outcome {
    /// What is wrong.
    package fileprivate(set) var problems: [String] = []
    /// How many records were acknowledged.
    package fileprivate(set) var records = 0
    /// How many processes died of a signal that was recorded.
    package fileprivate(set) var crashes = 0
    /// How often each event happened.
    package fileprivate(set) var events: [Event: Int] = [:]
    /// How often a process died at each test point.
    package fileprivate(set) var deaths: [TestPoint: Int] = [:]
  }

  /// Events that are counted, to know that they happen.
  package enum Event: String, CaseIterable, Sendable {
    case closed, exited, terminated, crashed, killed, survived
    case roundsOfWrappers, roundsOfSetLimits
    case recordsOfBoundLoggers, recordsOfTasks, recordsOfBoth, recordsOfHandlersInTasks
    case recordsInTraces, recordsInSpans
    case roundsOfEncryption, roundsOfHashChains, roundsOfSpanCapture

    /// Whether the event can happen in any round, as the tests are built.
    package var isReachable: Bool {
      switch self {
      case .crashed, .survived: !isSanitized
      case .roundsOfEncryption, .roundsOfHashChains: Cryptography.isAvailable
      case .roundsOfSetLimits: CrashRound.canDieAtPoints && canFork
      default: true
      }
    }
  }

  package let settings: Settings
  private let log: CrashLog
  private let aim: TestPoint?
  private var random: SeededGenerator
  private var outcome = Outcome()
  private var living: [(process: LoggingProcess, number: Int, death: Death)] = []
  /// The number of the next process that logs; its children by fork have those after it.
  private var nextNumber = 0

  /// - Parameter path: An empty folder that stays; nil: one that is removed.
  package init(seed: UInt64, in path: String? = nil) throws {
    let points = UInt64(TestPoint.allCases.count)
    var settings = Settings(seed: seed)
    let point = TestPoint(rawValue: UInt8(seed / 2 % points))
    aim = seed % 2 == 0 && Self.canDieAtPoints ? point : nil
    if let aim { settings.suit(aim) }
    self.settings = settings
    random = SeededGenerator(seed: ~seed)
    log = try CrashLog(settings, in: path)
  }

  fileprivate static var canDieAtPoints: Bool {
    #if DEBUG
      true
    #else
      false
    #endif
  }

  /// Plays the round.
  package mutating func run() throws -> Outcome {
    try logAndDie()
    if random.oneIn(3) { try check("before recovery", isRecovered: false) }
    if let aim, aim.isOfRecovery { try recoverAndDie(at: death(at: aim)) }
    if let aim { try insist(on: aim) }
    for attempt in 0..<random.pick(0, 1, 2, 2) {
      try recoverAndDie(attempt)
      if random.oneIn(4) { try check("between recoveries", isRecovered: false) }
    }
    note(try log.recover(), "")
    try check("in the end", isRecovered: true)
    outcome.records = log.acknowledged.reduce(0, +)
    outcome.events[.survived] = log.survivors.count
    if settings.isNested { outcome.events[.roundsOfWrappers] = 1 }
    if settings.changesLimits { outcome.events[.roundsOfSetLimits] = 1 }
    if settings.isEncrypted { outcome.events[.roundsOfEncryption] = 1 }
    if settings.spansDecide { outcome.events[.roundsOfSpanCapture] = 1 }
    if settings.isChained { outcome.events[.roundsOfHashChains] = 1 }
    return outcome
  }

  // MARK: - Logging

  /// Runs one process, or several at once or one after the other. Each process that starts recovers
  /// those that have died.
  private mutating func logAndDie() throws {
    var count = isSanitized ? random.pick(1, 2) : random.pick(1, 1, 1, 2, 3)
    // Each process that starts recovers what others left. If there were several, later ones would
    // delete archives by the limits that they open the store with.
    if aim?.isOfRecovery == true || settings.changesLimits { count = 1 }
    if aim?.isOfSuccessor == true { try logToTheEnd() }
    for index in 0..<count {
      try startLogging(isAimed: index == 0)
      if random.oneIn(2) { try endOne() }
    }
    while !living.isEmpty { try endOne() }
  }

  /// Lets more processes try, until one has died at the test point: the first may have ended
  /// before.
  private mutating func insist(on aim: TestPoint) throws {
    for _ in 0..<4 where aim.isReachable && outcome.deaths[aim] == nil {
      try start(aim.isOfRecovery ? .after(&random, isLogging: true) : .at(aim, 1))
      try endOne(timeout: 5_000)
      if aim.isOfRecovery { try recoverAndDie(at: .at(aim, 1)) }
    }
  }

  /// Runs a process that nobody kills. It leaves an archive that the next process goes on with.
  private mutating func logToTheEnd() throws {
    let process = try log.startLogging(process: nextNumber)
    note(process.problems(with: process.wait(), "process \(nextNumber)") { $0 == .success }, "")
    nextNumber += 1 + settings.forks
  }

  private mutating func startLogging(isAimed: Bool) throws {
    var death = Death.random(&random, isLogging: true)
    if settings.recordsCrashes && random.oneIn(2) { death = .ofSignal(&random) }
    // The processes survive SIGABRT.
    if settings.survives, case .ofSignal(SIGABRT, let time) = death {
      death = .ofSignal(SIGSEGV, time)
    }
    if isAimed, let aim {
      // If others are to die while they recover the store, this process leaves something to
      // recover.
      death = aim.isOfRecovery ? .after(&random, isLogging: true) : self.death(at: aim)
    }
    try start(death)
  }

  private mutating func start(_ death: Death) throws {
    let number = nextNumber
    nextNumber += 1 + settings.forks
    let process = try log.startLogging(process: number, death.arguments)
    // A process that is to die at a point may die before it is ready.
    switch death {
    case .after where aim?.isOfRecovery != true && random.oneIn(8): break
    case .after, .ofSignal, .terminated: try process.waitUntilReady()
    case .at, .inCall: break
    }
    living.append((process, number, death))
  }

  private mutating func death(at point: TestPoint) -> Death {
    .at(point, random.scaled(1...point.maximumTimes))
  }

  /// Ends one of the processes that log, and its children, which may go on for a while.
  ///
  /// - Parameter timeout: How long a process may take to come to the point where it is to die, in
  ///   milliseconds.
  private mutating func endOne(timeout: UInt64 = 400) throws {
    guard let index = living.indices.randomElement(using: &random) else { return }
    let (process, number, death) = living.remove(at: index)
    switch death {
    case .after, .ofSignal:
      guard settings.survives, process.page.isReady, process.child.isRunning else { break }
      process.child.signal(SIGABRT)
      try log.waitForSurvival(of: number, process)
    case .terminated, .at, .inCall: break
    }
    switch death {
    case .after(let time): pause(time)
    case .ofSignal(let signal, let time):
      pause(time)
      crash(process, signal, number)
    case .terminated(let time):
      pause(time)
      process.child.signal(SIGTERM)
      if process.wait() == .killed(SIGTERM) { log.noteEnd(of: number, .terminated) }
    case .at, .inCall:
      // The process may never come there.
      let deadline = Clock.monotonic() + 1_000_000 * (isSanitized ? 10_000 : timeout)
      while process.child.isRunning && Clock.monotonic() < deadline { usleep(500) }
    }
    let end = random.pick(0, 0, 1)
    if settings.records != nil && settings.policy == .wait && random.oneIn(2) {
      // The process comes to its end by itself, or dies where it is to die.
    } else if end == 0 {
      process.child.killFamily()
    } else {
      process.child.kill()
    }
    let ending = process.wait()
    let isEnded = process.child.waitForFamily(seconds: 120)
    if !isEnded { note(["a child of process \(number) hung, and was killed"], "") }
    if settings.leavesOpen, ending == .success { log.noteEnd(of: number, .exited) }
    note(
      process.problems(with: ending, "process \(number)") {
        isExpected($0) || $0 == .killed(SIGTERM) || $0 == log.crashes[number].map(Ending.killed)
      }, "")
    countDeaths(log.pages(ofFamily: number))
  }

  /// Lets processes go on for `time` microseconds. In some rounds, changes their levels meanwhile.
  private mutating func pause(_ time: UInt32) {
    let time = isSanitized ? 20 * time : time
    guard settings.changesLevels else {
      usleep(time)
      return
    }
    for _ in 0..<4 {
      note(log.setLevel(random.pick(.trace, .info, .warning), random.pick(nil, 5_000_000)), "")
      usleep(time / 4)
    }
  }

  /// Makes any thread of a process die of a signal, as of a fault of its own, while the others go
  /// on.
  private mutating func crash(_ process: LoggingProcess, _ signal: CInt, _ number: Int) {
    let (child, deadline) = (process.child, Clock.monotonic() + 120_000_000_000)
    while child.isRunning, Clock.monotonic() < deadline,
      let thread = child.threads.randomElement(using: &random)
    {
      child.signal(signal, thread: thread)
      // Signals again if the thread was just about to end. Not before: a second signal would cut
      // off the handling of the first.
      while child.isRunning && child.threads.contains(thread) && Clock.monotonic() < deadline {
        usleep(300)
      }
    }
    guard process.wait() == .killed(signal) else { return }
    log.noteCrash(of: number, signal)
    outcome.crashes += 1
  }

  // MARK: - Recovering

  /// Recovers with a process that is killed, or with two at once, one of which is killed.
  private mutating func recoverAndDie(_ attempt: Int) throws {
    var others = random.oneIn(4) ? [try log.startRecovering()] : []
    if settings.keep != nil && random.oneIn(2) {
      others.append(try log.startPruning(Death.random(&random, isLogging: false).arguments))
    }
    if attempt == 0, let aim, random.oneIn(2), !aim.isOfRecovery {
      // Recovery comes to many of the same test points as logging.
      try recoverAndDie(at: death(at: aim))
    } else {
      try recoverAndDie(at: .random(&random, isLogging: false))
    }
    for other in others {
      note(other.problems(with: other.wait(), "what was beside it", isExpected), "")
    }
  }

  private mutating func recoverAndDie(at death: Death) throws {
    let process = try log.startRecovering(death.arguments)
    if case .after(let time) = death {
      usleep(isSanitized ? 20 * time : time)
      process.child.kill()
    }
    note(process.problems(with: process.wait(), "recovery", isExpected), "")
    countDeaths([process.page])
  }

  // MARK: - Finding

  private let isExpected = { (ending: Ending) in ending == .success || ending == .killed(SIGKILL) }

  private mutating func check(_ when: String, isRecovered: Bool) throws {
    let findings = try log.findings(isRecovered: isRecovered)
    note(findings.problems, "\(when): ")
    if isRecovered {
      countEndings(findings)
      outcome.events.merge(findings.contexts, uniquingKeysWith: +)
    }
  }

  private mutating func note(_ problems: [String], _ prefix: String) {
    outcome.problems += problems.map { prefix + $0 }
  }

  private mutating func countEndings(_ findings: Findings) {
    for case .ended(let end) in findings.endings.values {
      if let event = Event(rawValue: "\(end.how)") { outcome.events[event, default: 0] += 1 }
    }
  }

  private mutating func countDeaths(_ pages: [CountPage]) {
    for point in pages.compactMap(\.deathPoint).compactMap(TestPoint.init(rawValue:)) {
      outcome.deaths[point, default: 0] += 1
    }
  }
}
