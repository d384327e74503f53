import CommandLineTool
import CrashRecords
import Glibc
import MMLog
import MMLogSystem

/// Threads that log and count what they have logged.
///
/// Lanes come in pairs: an even one for what a thread logs, the odd one for what it logs inside these calls.
final class Workload: Sendable {
  private let page: CountPage
  private let store: LogStore
  private let loggers: [Logger]
  private let threads: Int
  private let sizes: ClosedRange<Int>
  private let seed: UInt64
  private let isNested: Bool
  private let hasSignals: Bool
  /// How many records a lane has, and how many of them are logged by one thread.
  private let records: Int
  private let burst: Int

  init(_ arguments: Arguments, _ page: CountPage) throws {
    self.page = page
    threads = try arguments.integer(of: .threads, in: 1...30) ?? 4
    let least = try arguments.integer(of: .least, in: 0...Lane.longestText) ?? 0
    let most = try arguments.integer(of: .most, in: least...Lane.longestText) ?? least
    sizes = least...most
    seed = UInt64(arguments.required(.seed)) ?? 1
    isNested = arguments.isSet(.nested)
    hasSignals = arguments.isSet(.signals)
    records = try arguments.integer(of: .records, in: 1...Int.max) ?? .max
    burst = try arguments.integer(of: .burst, in: 1...Int.max) ?? .max
    store = try LogStore(
      directory: arguments.required(.directory), name: "crash",
      configuration: try LogStore.Configuration(arguments))
    let count = try arguments.integer(of: .labels, in: 1...1000) ?? 1
    loggers = (0..<count).map { [store] in store.logger(label: "a label with the number \($0)") }
  }

  /// Returns when all lanes have all their records and the store is closed.
  func run() throws {
    if hasSignals { SignalLogging.prepare(loggers[0], page) }
    page.isReady = true
    let keepers = try (0..<threads).map { thread in
      try Thread(name: "keeper") { [self] in keep(thread) }
    }
    if hasSignals {
      // On the main thread, since no other gets signals.
      SignalLogging.start()
      log(threads, 1 ... .max)
    }
    for keeper in keepers { keeper.join() }
    try store.close()
  }

  /// Logs a lane's records, a burst by each of the threads that come and go.
  private func keep(_ thread: Int) {
    var next = 1
    while next <= records {
      let part = next...min(records, burst == .max ? .max : next + burst - 1)
      if burst == .max {
        log(thread, part)
      } else {
        try? Thread(name: "lane \(thread)") { [self] in log(thread, part) }.join()
      }
      if part.upperBound == .max { return }
      next = part.upperBound + 1
    }
  }

  private func log(_ thread: Int, _ part: ClosedRange<Int>) {
    let lane = Lane(2 * thread, sizes: sizes, seed: seed)
    let inner = Lane(2 * thread + 1, sizes: sizes, seed: seed)
    for sequence in part {
      let log = loggers[sequence % loggers.count]
      if isNested && sequence % 5 == 0 {
        log.info("\(lane.number) \(sequence) \(nested(inner, within: lane, sequence, log))")
      } else {
        lane.log(sequence, to: log)
      }
      page.acknowledge(lane.number)
    }
  }

  /// Logs a record of the inner lane, and gives the outer one's text.
  private func nested(
    _ inner: Lane, within outer: Lane, _ sequence: Int, _ log: Logger
  ) -> UnsafeRawBufferPointer {
    inner.log(page[inner.number] + 1, to: log)
    page.acknowledge(inner.number)
    return outer.text(of: sequence)
  }
}
