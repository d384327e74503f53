import CrashRecords
import Glibc
import MMLog
import MMLogFormat
import MMLogSystem
import Synchronization

/// Two threads that log at a steady rate while disks, files, limits or clocks of their store
/// change.
final class Service: Sendable {
  let store: LogStore
  let folder: String
  private let events = EventCounts()
  private let isOver = Atomic<Bool>(false)
  /// A thread holds its mutex while it logs a record.
  private let turns = [ForkSafeMutex(), ForkSafeMutex()]
  private let logged = LockedValue([0, 0])
  private let threads = LockedValue<[Thread]>([])

  static let lanes = (0..<2).map { Lane($0, sizes: 20...400, seed: 11) }

  static var configuration: LogStore.Configuration {
    var configuration = LogStore.Configuration()
    configuration.ringSize = 256 << 10
    configuration.dictionarySize = 8 << 10
    configuration.rotation.size = 16 << 10
    configuration.drainInterval = .milliseconds(10)
    configuration.drainThreads = 2
    configuration.fullRing = .wait(upTo: .seconds(60))
    configuration.level = .trace
    configuration.fields = LaneContext.sessionFields
    return configuration
  }

  /// Opens a store and begins to log.
  init(in folder: String, _ configuration: LogStore.Configuration = Service.configuration) throws {
    self.folder = folder
    store = try LogStore(directory: folder, name: "service", configuration: configuration)
    events.listen(to: store)
    let logger = store.logger(label: "service")
    let started = try (0..<2).map { lane in
      try Thread(name: "lane \(lane)") { [self] in work(lane, logger) }
    }
    threads.withLock { $0 = started }
  }

  private func work(_ lane: Int, _ logger: Logger) {
    var sequence = 0
    while !isOver.load(ordering: .acquiring) {
      sequence += 1
      turns[lane].withLock { Self.lanes[lane].logInContext(sequence, to: logger) }
      logged.withLock { $0[lane] = sequence }
      usleep(500)
    }
  }

  /// How many records were logged.
  var count: Int { logged.withLock { $0.reduce(0, +) } }

  /// Waits until `count` more records are logged, but not for ever: the ring may be full.
  func logOn(_ count: Int) {
    let target = self.count + count
    for _ in 0..<2000 where self.count < target { usleep(1000) }
  }

  /// Does something while nobody logs.
  func pause(_ body: () throws -> Void) throws {
    for turn in turns { turn.lock() }
    defer { for turn in turns { turn.unlock() } }
    try body()
  }

  /// Waits until a failure is reported that was not reported before.
  func waitForFailure(_ problems: inout [String]) {
    if !events.waitForFailure() { problems.append("no failure is reported") }
  }

  func waitForResumption(_ problems: inout [String]) { events.waitForResumption(&problems) }

  /// Stops logging, and closes the store.
  ///
  /// - Returns: What closing threw.
  func end() -> LogError? {
    isOver.store(true, ordering: .releasing)
    for thread in threads.withLock({ $0 }) { thread.join() }
    do {
      try store.close()
      return nil
    } catch {
      return error
    }
  }

  /// Reads the log, and returns what is wrong with it.
  ///
  /// - Parameters:
  ///   - other: Where the log is now, if not where it was written.
  ///   - mayLack: Whether records may be missing that nobody counted, because their file is gone.
  func problems(in other: String? = nil, mayLack: Bool = false, mayComplain: Bool = false)
    -> [String]
  {
    let reading = Reading(other ?? folder, Self.lanes)
    var problems = reading.problems
    if !mayComplain { problems += reading.complaints }
    let missing = count - reading.counts.reduce(0, +)
    let lost = store.losses.lostCount
    if mayLack ? missing < lost : missing != lost {
      problems.append("\(missing) of \(count) records are missing, and \(lost) are counted as lost")
    }
    return problems
  }
}
