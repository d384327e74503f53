import Foundation
import MMLog
import MMLogCalls
import MMLogReader

/// mmlog. Its log calls are in a module of their own, for the counts of their instructions.
struct MMLogContender: Contender {
  static let name = "mmlog"
  static let workloads = Workload.allCases
  static let calls = 100_000
  static let isFast = true
  static let storeName = "bench"
  private static let label = "bench"
  let store: LogStore
  private let calls: MMLogCalls
  private let boundCalls: BoundCalls

  init(directory: String, for purpose: Purpose) throws {
    try self.init(directory: directory, ring: nil, for: purpose)
  }

  /// - Parameters:
  ///   - ring: Where the ring is to be, if not beside the archives.
  ///   - recipients: Whom ring and archives are encrypted for.
  init(
    directory: String, ring: String?, recipients: [Recipient] = [], for purpose: Purpose
  ) throws {
    var configuration = LogStore.Configuration()
    configuration.recipients = recipients
    configuration.ringDirectory = ring
    configuration.fullRing = .wait(upTo: .seconds(60))
    // 'Benchmarks/run --drain-threads'
    configuration.drainThreads =
      ProcessInfo.processInfo.environment["BENCHMARK_DRAIN_THREADS"].flatMap(Int.init)
      ?? configuration.drainThreads
    if purpose == .latency { configuration.ringSize = 64 << 20 }
    store = try LogStore(directory: directory, name: Self.storeName, configuration: configuration)
    calls = MMLogCalls(store.logger(label: Self.label))
    // These calls have another label, because they begin a span here, which is a record.
    boundCalls = BoundCalls(store.logger(label: "bound"))
  }

  @inline(__always) func order(_ order: Order) { calls.order(order) }
  @inline(__always) func text(_ text: Text) { calls.text(text) }
  @inline(__always) func pairs(_ order: Order) { calls.pairs(order) }
  @inline(__always)
  func strings(_ order: Order, _ text: Text) { calls.strings(order, text) }
  @inline(__always) func site(_ number: Int, _ order: Order) { calls.site(number, order) }
  @inline(__always)
  func manySites(_ number: Int, _ order: Order) { calls.manysites(number, order) }
  @inline(__always) func disabled(_ order: Order) { calls.disabled(order) }
  @inline(__always) func message(_ index: Int) { calls.message(index) }
  @inline(__always) func bound(_ index: Int) { boundCalls.bound(index) }
  @inline(__always) func traced(_ index: Int) { boundCalls.traced(index) }

  func drain() throws { try store.flush(.archive) }

  func finish() throws { try store.close() }

  static func records(in directory: String) throws -> Int {
    try records(in: directory, LogIdentities())
  }

  static func records(in directory: String, _ identities: LogIdentities) throws -> Int {
    // This opens the store as the service's next start does.
    let store = try LogStore(directory: directory, name: storeName)
    if let failure = store.recoveryFailures.first { throw failure }
    try store.close()
    var count = 0
    let files = LogFiles([.path(directory)], identities: identities)
    for case .record(let record) in LogReader(files) where record.label == label { count += 1 }
    return count
  }
}
