import CrashRecords
import Glibc
import MMLog
import MMLogSystem
import TestSupport

/// Threads that log by a plan, and count what they have logged.
final class Workload: Sendable {
  let plan: Plan
  let store: LogStore
  private let page: CountPage
  private let loggers: [Logger]

  init(_ plan: Plan, in directory: String, _ page: CountPage) throws {
    (self.plan, self.page) = (plan, page)
    if plan.configuration.resumeLastArchive { try Self.leaveArchive(plan, in: directory) }
    store = try LogStore(
      directory: directory, name: "torture", configuration: plan.configuration)
    loggers = (0..<plan.labels).map { [store] in store.logger(label: "label \($0)") }
  }

  /// The label of the session before.
  static let labelBefore = "before"

  /// Closes a session whose archive the next session goes on with.
  private static func leaveArchive(_ plan: Plan, in directory: String) throws {
    let store = try LogStore(
      directory: directory, name: "torture", configuration: plan.configuration)
    store.logger(label: labelBefore).critical("of the session before")
    try store.close()
  }

  /// How many records of each lane are acknowledged.
  var counts: [Int] { page.counts }

  /// Starts a thread for each lane, which logs so many records, with rests between them if
  /// `resting`.
  func start(records: Int, resting: Bool = true) throws -> [Thread] {
    try (0..<plan.threads).map { lane in
      try Thread(name: "lane \(lane)") { [self] in log(plan.lane(lane), records, resting) }
    }
  }

  private func log(_ lane: Lane, _ records: Int, _ resting: Bool) {
    var random = SeededGenerator(seed: plan.seed &+ UInt64(lane.number) &* 77)
    for sequence in 1...records {
      lane.logInContext(sequence, to: loggers[sequence % loggers.count])
      page.acknowledge(lane.number)
      if resting && random.oneIn(20) { usleep(UInt32.random(in: 0...2000, using: &random)) }
    }
  }
}
