// What a call through swift-log costs with MMLogHandler, beside the same call into a handler that
// does nothing, and beside the same statement of mmlog's own logger.
//
//   Benchmarks/swift-log [--rounds N] [WORKLOAD]
import CHarness
import Foundation
import Logging
import MMLog
import MMLogSwiftLog

typealias Logger = Logging.Logger

/// Takes every event, and does nothing with it.
struct IdleHandler: LogHandler {
  var logLevel: Logger.Level = .info
  var metadata: Logger.Metadata = [:]
  subscript(metadataKey key: String) -> Logger.MetadataValue? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }
  func log(event: Logging.LogEvent) {}
}

/// A log statement, by name.
struct Workload {
  let name: String
  let call: (Logger, Int) -> Void
  let direct: (MMLog.Logger, Int) -> Void
}

let texts = (0..<64).map { "value number \($0) of some length" }
let workloads = [
  Workload(
    name: "text", call: { logger, _ in logger.info("order accepted") },
    direct: { log, _ in log.info("order accepted") }),
  Workload(
    name: "interpolated", call: { logger, index in logger.info("order \(index) accepted") },
    direct: { log, index in log.info("order \(index) accepted") }),
  Workload(
    name: "five pairs",
    call: { logger, index in
      logger.info(
        "order accepted",
        metadata: [
          "user": .string(texts[index & 63]), "venue": "xetra", "side": "buy",
          "trace": .string(texts[(index + 7) & 63]), "region": "eu-central-1",
        ])
    },
    direct: { log, index in
      log.info(
        "order accepted",
        metadata: [
          "user": .string(texts[index & 63]), "venue": "xetra", "side": "buy",
          "trace": .string(texts[(index + 7) & 63]), "region": "eu-central-1",
        ])
    }),
]

/// What one call cost, as the mean of many.
struct Cost {
  let nanoseconds: Double
  let allocations: Double
}

let calls = 2000

/// Processor time of this thread, in nanoseconds: other work on the machine does not count.
func processorTime() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
}

func measure(_ call: (Int) -> Void) -> Cost {
  let (allocations, time) = (harness_allocations(), processorTime())
  for index in 0..<calls { call(index) }
  return Cost(
    nanoseconds: (processorTime() - time) / Double(calls),
    allocations: Double(harness_allocations() - allocations) / Double(calls))
}

/// The median, and where nine of ten are.
func summary(_ values: [Double]) -> String {
  let sorted = values.sorted()
  func text(_ part: Double) -> String {
    String(format: "%.1f", sorted[Int(Double(sorted.count - 1) * part)])
  }
  return "\(text(0.5)) (\(text(0.05))–\(text(0.95)))"
}

var arguments = Array(CommandLine.arguments.dropFirst())
var rounds = 401
if arguments.first == "--rounds" {
  rounds = max(1, arguments.count > 1 ? Int(arguments[1]) ?? 0 : 0)
  arguments.removeFirst(min(2, arguments.count))
}

let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
  "mmlog-swift-log-\(UUID().uuidString)")
defer { try? FileManager.default.removeItem(at: folder) }
let store = try LogStore(directory: folder.path, name: "benchmark")
let idle = Logger(label: "benchmark") { _ in IdleHandler() }
let ours = Logger(label: "benchmark") { MMLogHandler(label: $0, store: store) }
let lean = Logger(label: "benchmark") {
  var handler = MMLogHandler(label: $0, store: store)
  handler.recordsSource = false
  return handler
}
let log = store.logger(label: "benchmark")

print(
  "Nanoseconds of processor time for a call: medians (5 % to 95 %) of \(rounds) rounds of \(calls) calls, in turns"
)
print()
print(
  "| | idle handler | mmlog's handler | above | above, without sources | allocations, idle | mmlog's | without sources | mmlog's own logger |"
)
print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
for workload in workloads where arguments.isEmpty || workload.name == arguments[0] {
  var (nothing, handled, sourceless, direct): ([Cost], [Cost], [Cost], [Cost]) = ([], [], [], [])
  // The first round, which finds everything cold, does not count.
  for _ in 0...rounds {
    nothing.append(measure { workload.call(idle, $0) })
    // The ring is empty each time: what is measured is the call, not the drainer.
    try store.flush(.archive)
    handled.append(measure { workload.call(ours, $0) })
    try store.flush(.archive)
    sourceless.append(measure { workload.call(lean, $0) })
    try store.flush(.archive)
    direct.append(measure { workload.direct(log, $0) })
    try store.flush(.archive)
  }
  func times(_ costs: [Cost]) -> [Double] { costs.dropFirst().map(\.nanoseconds) }
  func allocations(_ costs: [Cost]) -> String {
    String(format: "%.2f", costs.dropFirst().map(\.allocations).min() ?? 0)
  }
  let cells = [
    workload.name, summary(times(nothing)), summary(times(handled)),
    summary(zip(times(handled), times(nothing)).map(-)),
    summary(zip(times(sourceless), times(nothing)).map(-)), allocations(nothing),
    allocations(handled), allocations(sourceless), summary(times(direct)),
  ]
  print("| \(cells.joined(separator: " | ")) |")
}
precondition(store.losses.isEmpty, "records were lost")
try store.close()
