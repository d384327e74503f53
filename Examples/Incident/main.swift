import Glibc
import MMLog

// One life of a service that prices orders, as Tools/incident plays an incident with it.
//
//     mmlog-incident DIRECTORY VERSION LIFE
//
// LIFE says how it ends: 'deploy' serves until SIGTERM comes, 'crash' meets an order that it cannot
// price, 'memory' remembers every order until somebody kills it, 'hang' waits for ever. It prints
// 'ready' when it has come to that point.

enum Life: String { case deploy, crash, memory, hang }

/// What a venue charges, in hundredths of a percent; the version that crashes has a new venue
/// without a fee.
let fees = ["XETR": [4, 5, 6], "XLON": [5, 5, 7], "XMUN": []]

/// Prices orders one after the other.
final class Desk {
  private let log: Logger
  private let life: Life
  private let isSlow: Bool
  private var remembered: [[UInt8]] = []

  init(_ log: Logger, _ life: Life, isSlow: Bool) {
    (self.log, self.life, self.isSlow) = (log, life, isSlow)
  }

  func take(_ order: Int, of venue: String) {
    let span = log.begin("order \(order, name: "order") for \(venue, name: "venue")")
    let start = ContinuousClock.now
    usleep(isSlow ? 4000 : 1000)
    let fee = fee(order, at: venue)
    let elapsed = (ContinuousClock.now - start) / .milliseconds(1)
    log.info(
      "order \(order, name: "order") costs \(fee, name: "fee")",
      metadata: ["elapsed_ms": .double(elapsed)])
    let isRejected = order % 50 == 49
    if isRejected {
      log.error(
        "order \(order, name: "order") rejected by \(venue, name: "venue")",
        metadata: ["reason": "limit"])
    }
    if life == .memory { remember(order) }
    span.end(failed: isRejected)
  }

  @inline(never)
  private func fee(_ order: Int, at venue: String) -> Int {
    let steps = fees[venue] ?? []
    return steps[order % 3]
  }

  private func remember(_ order: Int) {
    remembered.append([UInt8](repeating: UInt8(truncatingIfNeeded: order), count: 1 << 20))
    if order % 16 == 0 {
      log.warning("the memory of orders has \(remembered.count, name: "memory_mib") MiB")
    }
  }

  /// Waits for an answer that never comes.
  func hang(at order: Int) {
    let span = log.begin("order \(order, name: "order") for \("XETR", name: "venue")")
    log.info("order \(order, name: "order") waits for the venue")
    var answer = sem_t()
    sem_init(&answer, 0, 0)
    print("ready")
    fflush(nil)
    sem_wait(&answer)
    span.end()
  }
}

let arguments = CommandLine.arguments
guard arguments.count == 4, let life = Life(rawValue: arguments[3]) else {
  print("mmlog-incident: give a directory, a version, and deploy, crash, memory or hang")
  exit(2)
}
var configuration = LogStore.Configuration()
configuration.level = .debug
configuration.recordsCrashes = true
let store = try LogStore(directory: arguments[1], name: "orders", configuration: configuration)
let log = store.logger(label: "orders.desk").with(["version": .string(arguments[2])])
log.notice("started")
let desk = Desk(log, life, isSlow: arguments[2] == "1.4.2")
for order in 1...100 { desk.take(order, of: order % 2 == 0 ? "XETR" : "XLON") }
switch life {
case .deploy: break
case .crash: desk.take(101, of: "XMUN")
case .memory: for order in 101...100_000 { desk.take(order, of: "XLON") }
case .hang: desk.hang(at: 101)
}
print("ready")
fflush(nil)
while true { pause() }
