// What a call through swift-log costs with MMLogHandler, beside the same call into a handler that does nothing.
//
//   Benchmarks/swift-log [WORKLOAD]
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

/// A way to log, by name.
struct Workload {
  let name: String
  let call: (Logger, Int) -> Void
}

let texts = (0..<64).map { "value number \($0) of some length" }
let workloads = [
  Workload(name: "text") { logger, _ in logger.info("order accepted") },
  Workload(name: "interpolated") { logger, index in logger.info("order \(index) accepted") },
  Workload(name: "five pairs") { logger, index in
    logger.info(
      "order accepted",
      metadata: [
        "user": .string(texts[index & 63]), "venue": "xetra", "side": "buy",
        "trace": .string(texts[(index + 7) & 63]), "region": "eu-central-1",
      ])
  },
]

let calls = 20_000
let rounds = 41

/// Nanoseconds for each of so many calls.
func time(_ workload: Workload, _ logger: Logger) -> Double {
  let clock = ContinuousClock()
  let duration = clock.measure { for index in 0..<calls { workload.call(logger, index) } }
  return duration / .nanoseconds(1) / Double(calls)
}

func text(_ nanoseconds: Double) -> String { String(format: "%.1f", nanoseconds) }

func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
  "mmlog-swift-log-\(UUID().uuidString)")
defer { try? FileManager.default.removeItem(at: folder) }
let store = try LogStore(directory: folder.path, name: "benchmark")
let idle = Logger(label: "benchmark") { _ in IdleHandler() }
let ours = Logger(label: "benchmark") { MMLogHandler(label: $0, store: store) }
print("nanoseconds for a call, medians of \(rounds) rounds of \(calls) calls, taken in turns")
let wanted = CommandLine.arguments.dropFirst().first
for workload in workloads where wanted == nil || workload.name == wanted {
  var (nothing, recorded): ([Double], [Double]) = ([], [])
  for _ in 0..<rounds {
    nothing.append(time(workload, idle))
    recorded.append(time(workload, ours))
    // The ring is empty again: what is measured is the call, not the drainer.
    try store.flush(.archive)
  }
  let above = zip(recorded, nothing).map(-).sorted()
  print(
    "\(workload.name): idle \(text(median(nothing))), mmlog \(text(median(recorded))),",
    "above \(text(median(above))) (\(text(above[rounds / 10])) to \(text(above[rounds * 9 / 10])))")
}
precondition(store.losses.isEmpty, "records were lost")
try store.close()
