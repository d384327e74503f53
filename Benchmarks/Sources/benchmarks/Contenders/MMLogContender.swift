import MMLog
import MMLogCalls
import MMLogReader

/// mmlog. Its log calls are in a module of their own, for the counts of their instructions.
struct MMLogContender: Contender {
  static let name = "mmlog"
  static let workloads = Workload.allCases
  static let calls = 100_000
  static let storeName = "bench"
  let store: LogStore
  private let calls: MMLogCalls
  private let boundCalls: BoundCalls

  init(directory: String, for purpose: Purpose) throws {
    try self.init(directory: directory, ring: nil, for: purpose)
  }

  /// - Parameter ring: Where the ring is to be, if not beside the archives.
  init(directory: String, ring: String?, for purpose: Purpose) throws {
    var configuration = LogStore.Configuration()
    configuration.ringDirectory = ring
    configuration.fullRing = .wait(upTo: .seconds(60))
    if purpose == .latency { configuration.ringSize = 64 << 20 }
    store = try LogStore(directory: directory, name: Self.storeName, configuration: configuration)
    calls = MMLogCalls(store.logger(label: "bench"))
    boundCalls = BoundCalls(store.logger(label: "bench"))
  }

  @inline(__always) func order(_ index: Int) { calls.order(index) }
  @inline(__always) func text(_ index: Int) { calls.text(index) }
  @inline(__always)
  func line(_ text: String, _ cText: UnsafePointer<CChar>) { calls.line(text) }
  @inline(__always) func pairs(_ index: Int) { calls.pairs(index) }
  @inline(__always) func sites(_ index: Int) { calls.sites(index) }
  @inline(__always) func disabled(_ index: Int) { calls.disabled(index) }
  @inline(__always) func message(_ index: Int) { calls.message(index) }
  @inline(__always) func bound(_ index: Int) { boundCalls.bound(index) }
  @inline(__always) func traced(_ index: Int) { boundCalls.traced(index) }

  func drain() throws { try store.flush(.archive) }

  func finish() throws { try store.close() }

  static func records(in directory: String) throws -> Int {
    // As the service's next start does.
    let store = try LogStore(directory: directory, name: storeName)
    if let failure = store.recoveryFailures.first { throw failure }
    try store.close()
    var count = 0
    for case .record in LogReader(paths: [directory]) { count += 1 }
    return count
  }
}
