import CrashRecords
import MMLog
import MMLogSystem
import Synchronization

/// Threads that log when they are instructed to, and rest without ending.
final class Crew: Sendable {
  /// What the threads log, a lane each.
  let lanes: [Lane]
  private let loggers: [Logger]
  private let goal = Atomic<Int>(0)
  private let isOver = Atomic<Bool>(false)
  private let done: [Counter]

  /// - Parameter lanes: What the threads log, a lane each.
  init(_ store: LogStore, lanes: [Lane]) {
    self.lanes = lanes
    loggers = (1...3).map { store.logger(label: "label \($0)") }
    done = lanes.map { _ in Counter() }
  }

  /// How many records each has logged.
  var counts: [Int] { done.map { $0.value.load(ordering: .acquiring) } }

  func start() throws -> [Thread] {
    try lanes.indices.map { index in
      try Thread(name: "lane \(lanes[index].number)") { [self] in work(index) }
    }
  }

  /// Makes each thread log `count` more records, and returns when all have.
  func log(_ count: Int) {
    let goal = goal.add(count, ordering: .acquiringAndReleasing).newValue
    while counts.contains(where: { $0 < goal }) { Sleep.nanoseconds(20_000) }
  }

  /// Lets the threads end.
  func end() { isOver.store(true, ordering: .releasing) }

  private func work(_ index: Int) {
    var sequence = 0
    while true {
      while sequence < goal.load(ordering: .acquiring) {
        sequence += 1
        lanes[index].logInContext(sequence, to: loggers[sequence % loggers.count])
        done[index].value.store(sequence, ordering: .releasing)
      }
      if isOver.load(ordering: .acquiring) { return }
      Sleep.nanoseconds(20_000)
    }
  }

  private final class Counter: Sendable {
    let value = Atomic<Int>(0)
  }
}
