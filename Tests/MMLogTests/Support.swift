import Foundation
import Glibc
import MMLog
import MMLogReader
import MMLogSystem
import Synchronization
import Testing
import TestSupport

/// Everything that reading a folder gives.
struct Contents {
  var records: [LogReader.Record] = []
  var corruption: [LogReader.Corruption] = []
  var unfinished: [LogReader.UnfinishedRecord] = []
  var endings: [SessionEnding] = []
  var losses: [LossLedger] = []
  var unreadable: [LogError] = []
  var crashes: [CrashReport] = []

  init(_ path: String) {
    let reader = LogReader(paths: [path])
    unreadable = reader.unreadable
    for item in reader {
      switch item {
      case .record(let record): records.append(record)
      case .corruption(let found): corruption.append(found)
      case .unfinished(let record): unfinished.append(record)
      case .losses(_, let ledger): losses.append(ledger)
      case .crashed(_, let report): crashes.append(report)
      case .sessionStarted, .gap: break
      case .sessionEnded(_, let ending, _): endings.append(ending)
      }
    }
  }

  var messages: [String] { records.map(\.message) }

  /// Whether everything that is there could be read. There may be losses.
  var isWhole: Bool { corruption.isEmpty && unfinished.isEmpty && unreadable.isEmpty }

  /// Whether there are only records: no corruption, and no losses.
  var isClean: Bool { isWhole && losses.isEmpty }

  /// The messages of each thread in their order.
  var messagesByThread: [UInt32: [String]] {
    Dictionary(grouping: records, by: \.thread.ordinal).mapValues { $0.map(\.message) }
  }
}

/// A store in a folder of its own, with a logger.
struct TestStore {
  let folder = TemporaryDirectory()
  let store: LogStore
  let log: Logger
  let configuration: LogStore.Configuration

  init(_ change: (inout LogStore.Configuration) -> Void = { _ in }) throws {
    var configuration = LogStore.Configuration()
    // On a machine with much else to do, the drainer may not get to run for seconds.
    configuration.fullRing = .wait(upTo: .seconds(60))
    configuration.tapTimeout = .seconds(600)
    // Nor may the disk end a write: that is no event that tests wait for.
    configuration.stallTime = .seconds(3600)
    change(&configuration)
    self.configuration = configuration
    store = try LogStore(directory: folder.path, name: "test", configuration: configuration)
    log = store.logger(label: "test")
    log.level = .trace
  }

  /// Closes the store and reads everything back.
  func closeAndRead() throws -> Contents {
    try store.close()
    return Contents(folder.path)
  }

  /// A copy of what the process would leave if it were killed now.
  func copy() throws -> TemporaryDirectory {
    let copy = TemporaryDirectory()
    // Rings first: then both copies have what is archived meanwhile, and it counts once. The other
    // way round, neither would have it.
    for suffix in [".ring", ".mmlog"] {
      for name in try folder.names(ending: suffix) { copy.put(name, try folder.bytes(name)) }
    }
    return copy
  }

  #if DEBUG
    /// Logs a record that is lost: its thread, which has not logged before, gets no memory for it.
    /// No other thread gets memory meanwhile, either, so this is for exit tests.
    func loseWithoutMemory() {
      ForcedFault.force(.mmap, errno: ENOMEM, times: .max, under: "")
      log.info("lost")
      ForcedFault.clear(under: "")
    }
  #endif
}

/// A connection that lets children of an exit test live as long as the test's process does.
struct Lifeline {
  private let (reading, writing): (CInt, CInt)
  private let (begun, begins): (CInt, CInt)

  init() throws {
    (reading, writing) = try makePipe()
    (begun, begins) = try makePipe()
  }

  /// Called in a child: waits until the process that made it has ended, and ends the child.
  /// Async-signal-safe.
  func holdOn() -> Never {
    var byte: UInt8 = 0
    _ = write(begins, &byte, 1)
    close(writing)
    _ = read(reading, &byte, 1)
    _exit(0)
  }

  /// Waits until a child holds on: until then, it may not yet have come back from `fork`.
  func waitForChild() {
    var byte: UInt8 = 0
    require(read(begun, &byte, 1) == 1)
  }
}

extension LogStore.Configuration {
  /// The smallest ring that there is: 59 segments of 4 KiB.
  mutating func makeTiny() {
    ringSize = 256 << 10
    segmentSize = 4 << 10
    dictionarySize = 4 << 10
  }
}

/// Runs `body` on `count` threads at once, and waits for all.
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) throws {
  let threads = try (0..<count).map { index in try Thread(name: "worker \(index)") { body(index) } }
  for thread in threads { thread.join() }
}

/// The error that `body` throws, or nil.
func logError(_ body: () throws -> Void) -> LogError? { thrown(LogError.self, by: body) }

/// Unblocks all signals of the calling thread: the parent of the test process may have blocked
/// some.
func unblockSignals() {
  var none = sigset_t()
  sigemptyset(&none)
  pthread_sigmask(SIG_SETMASK, &none, nil)
}

/// Calls that wait much longer than a program would: a disk that others use, too, may take its
/// time. Tests that give no limit get these, and not those whose limit has a default value.
extension LogStore {
  static let patience = Duration.seconds(600)

  func flush(_ durability: Durability) throws(LogError) {
    try flush(durability, within: Self.patience)
  }

  func flush(_ durability: Durability) async throws(LogError) {
    try await flush(durability, within: Self.patience)
  }

  func capture(reason: String) throws(LogError) {
    try capture(reason: reason, within: Self.patience)
  }

  func capture(reason: String) async throws(LogError) {
    try await capture(reason: reason, within: Self.patience)
  }

  @discardableResult
  func rotate() throws(LogError) -> ArchiveInfo? { try rotate(within: Self.patience) }

  @discardableResult
  func rotate() async throws(LogError) -> ArchiveInfo? {
    try await rotate(within: Self.patience)
  }

  func applyRetention() throws(LogError) { try applyRetention(within: Self.patience) }

  func applyRetention() async throws(LogError) {
    try await applyRetention(within: Self.patience)
  }
}

/// Ends the calling process in ten minutes, and those who wait for it see that it hung.
func endWhenHanging() {
  unblockSignals()
  alarm(600)
}

/// Blocking calls, for asynchronous tests too. Beside so many other tests, a task may be resumed
/// only minutes later, and in a fork's child, no thread would resume it.
extension LogStore {
  func blockingFlush(_ durability: Durability) throws(LogError) { try flush(durability) }
  func blockingClose() throws(LogError) { try close() }
  func blockingCapture(reason: String) throws(LogError) { try capture(reason: reason) }
  func blockingApplyRetention() throws(LogError) { try applyRetention() }

  @discardableResult
  func blockingRotate() throws(LogError) -> ArchiveInfo? { try rotate() }
}

/// The logger of a signal handler, which cannot capture anything.
enum SignalLogger {
  nonisolated(unsafe) static var log: Logger?
  static let count = Atomic<Int>(0)

  static func install() {
    var action = sigaction()
    action.__sigaction_handler.sa_handler = { _ in
      let number = SignalLogger.count.add(1, ordering: .relaxed).newValue
      SignalLogger.log?.warning("signal \(number) \("text")")
    }
    action.sa_flags = CInt(SA_RESTART)
    sigaction(SIGUSR1, &action, nil)
  }

  static func mask(_ how: CInt) {
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, SIGUSR1)
    pthread_sigmask(how, &set, nil)
  }
}
