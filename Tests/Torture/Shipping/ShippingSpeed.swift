import CommandLineTool
import MMLog
import MMLogShipping
import MMLogSystem
import TestSupport

/// How fast records go to a receiver that takes everything, and with how much memory.
enum ShippingSpeed {
  private struct Null: LogDestination {
    func send(_ batch: LogBatch) async throws -> LogBatch.Answer { .accepted }
  }

  /// Logs orders, and nothing else: in a process of its own, so that its memory does not count.
  static func log(_ arguments: Arguments) throws -> Program.Status {
    let count = try arguments.integer(of: .numberCount, in: 1...Int.max) ?? 5_000_000
    var configuration = LogStore.Configuration()
    configuration.fullRing = .wait(upTo: .seconds(100))
    configuration.retention = .unlimited
    let store = try LogStore(
      directory: try Power.required(.folder, arguments), name: "orders",
      configuration: configuration)
    let log = store.logger(label: "orders")
    let users = (0..<100).map { "user\($0)" }
    for id in 0..<count {
      log.info("order \(id) accepted for \(users[id % 100]) in \(Double(id % 1000) / 64) ms")
    }
    try store.close()
    return .success
  }

  static func run(_ arguments: Arguments, _ output: StandardOutput) throws -> Program.Status {
    let folder = try Power.required(.folder, arguments)
    var configuration = Shipper.Configuration()
    if let count = try arguments.integer(of: .numberCount, in: 1...1_000_000) {
      (configuration.maximumRecords, configuration.maximumBytes) = (count, 64 << 20)
    }
    let shipper = try Shipper(
      of: folder, as: "null-\(Clock.realtime())", to: Null(), configuration: configuration)
    let start = Clock.monotonic()
    let result = Promise<Bool>()
    Task {
      do { result.fulfill(try await shipper.shipAll()) } catch { result.fulfill(false) }
    }
    guard result.wait(atMost: .max) == true else { return .failure }
    let seconds = Double(Clock.monotonic() - start) / 1e9
    let statistics = shipper.statistics
    let peak =
      Folder.text("/proc/self/status").split(separator: "\n")
      .first { $0.hasPrefix("VmHWM") } ?? ""
    try output.append(
      "\(statistics.records) records in \(statistics.batches) batches, \(seconds) s: "
        + "\(Int(Double(statistics.records) / seconds)) a second; \(peak)\n")
    return .success
  }
}
