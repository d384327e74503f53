import CommandLineTool
import CrashRecords
import Glibc
import MMLog
import MMLogSystem
import TestSupport
import Synchronization

/// Threads that log and count what they have logged, and children by fork that do the same.
///
/// Lanes come in pairs: an even one for what a thread logs, the odd one for what it logs inside
/// these calls.
final class Workload: Sendable {
  private let page: CountPage
  private let firstLane: Int
  private let store: LogStore
  private let loggers: [Logger]
  private let threads: Int
  private let sizes: ClosedRange<Int>
  private let seed: UInt64
  private let isNested: Bool
  private let hasSpans: Bool
  private let spansDecide: Bool
  private let hasContexts: Bool
  private let hasStates: Bool
  private let hasSignals: Bool
  private let flushes: Bool
  private let leavesOpen: Bool
  /// Where the process notes what it does with archives; nil: it does nothing with them.
  private let ledger: ArchiveLedger?
  /// How many records a lane has, and how many of them are logged by one thread.
  private let records: Int
  private let burst: Int
  private let forks: Forks
  private let isDone = Atomic<Bool>(false)

  init(_ arguments: Arguments, _ page: CountPage) throws {
    self.page = page
    let process = try arguments.integer(of: .process, in: 0...1000) ?? 0
    firstLane = process * CountPage.laneCount
    threads = try arguments.integer(of: .threads, in: 1...30) ?? 4
    let minimum = try arguments.integer(of: .minimum, in: 0...Lane.longestText) ?? 0
    let maximum = try arguments.integer(of: .maximum, in: minimum...Lane.longestText) ?? minimum
    sizes = minimum...maximum
    seed = UInt64(arguments.required(.seed)) ?? 1
    isNested = arguments.isSet(.nested)
    hasSpans = arguments.isSet(.spans)
    spansDecide = arguments.isSet(.spanCapture)
    hasContexts = arguments.isSet(.contexts)
    hasStates = arguments.isSet(.states)
    hasSignals = arguments.isSet(.signals)
    flushes = arguments.isSet(.flush)
    leavesOpen = arguments.isSet(.leaveOpen)
    ledger = arguments.isSet(.hands) ? ArchiveLedger(arguments.required(.ledger)) : nil
    records = try arguments.integer(of: .records, in: 1...Int.max) ?? .max
    burst = try arguments.integer(of: .burst, in: 1...Int.max) ?? .max
    forks = try Forks(arguments, process: process)
    store = try Self.open(arguments)
    if let problem = store.recoveryFailures.first { throw problem }
    let count = try arguments.integer(of: .labels, in: 1...1000) ?? 1
    loggers = (0..<count).map { [store] in store.logger(label: "a label with the number \($0)") }
  }

  private static func open(_ arguments: Arguments) throws -> LogStore {
    let asked = try LogStore.Configuration(arguments)
    var first = asked
    if arguments.isSet(.setLimits) { (first.rotation.size, first.retention.count) = (nil, 1) }
    let store = try LogStore(
      directory: arguments.required(.directory), name: "crash", configuration: first)
    if arguments.isSet(.setLimits) {
      try store.update { ($0.rotation, $0.retention) = (asked.rotation, asked.retention) }
    }
    return store
  }

  /// Returns when all lanes have all their records and the store is closed; or ends the process
  /// then, and leaves the store open.
  func run() throws {
    if hasSignals { SignalLogging.prepare(loggers[0], page, firstLane: firstLane) }
    page.isReady = true
    var helpers: [Thread] = []
    if flushes { helpers.append(try Thread(name: "flusher") { [self] in flush() }) }
    if let ledger { helpers.append(try Thread(name: "hands") { [self] in handOn(ledger) }) }
    if forks.count > 0 { helpers.append(try Thread(name: "forker") { [self] in fork() }) }
    let keepers = try (0..<threads).map { thread in
      try Thread(name: "keeper") { [self] in keep(thread) }
    }
    if hasSignals {
      // Logs on the main thread, since no other gets signals.
      SignalLogging.start()
      log(threads, 1...records, page, firstLane)
      SignalLogging.stop()
    }
    for keeper in keepers { keeper.join() }
    isDone.store(true, ordering: .releasing)
    for helper in helpers { helper.join() }
    if leavesOpen {
      page.isQuiet = true
      exit(0)
    }
    try close(page)
  }

  private func close(_ page: CountPage) throws {
    page.isQuiet = true
    try store.close()
    page.isClosed = true
  }

  /// Logs a lane's records, a burst by each of the threads that come and go.
  private func keep(_ thread: Int) {
    var next = 1
    while next <= records {
      let part = next...min(records, burst == .max ? .max : next + burst - 1)
      if burst == .max {
        log(thread, part, page, firstLane)
      } else {
        try? Thread(name: "lane \(thread)") { [self] in log(thread, part, page, firstLane) }.join()
      }
      if part.upperBound == .max { return }
      next = part.upperBound + 1
    }
  }

  /// - Parameter acknowledged: Called with the number of each record that is logged.
  private func log(
    _ thread: Int, _ part: ClosedRange<Int>, _ page: CountPage, _ firstLane: Int,
    acknowledged: (Int) -> Void = { _ in }
  ) {
    let lane = Lane(firstLane + 2 * thread, sizes: sizes, seed: seed, spansDecide: spansDecide)
    let inner = Lane(firstLane + 2 * thread + 1, sizes: sizes, seed: seed)
    let state = hasStates ? LaneState(lane.number, in: store) : nil
    var span: Logger.Span?
    for sequence in part {
      let log = loggers[sequence % loggers.count]
      let isOuter = isNested && Lane.isOuter(sequence)
      let edge = hasSpans && !isOuter ? lane.spanEdge(at: sequence) : nil
      let context = context(of: sequence, in: lane, isOuter: isOuter, edge)
      context.use(log, span: span) { bound in
        if isOuter {
          logOuter(lane, inner, in: page, sequence, bound, log)
        } else if let edge {
          lane.log(edge, sequence, &span, to: bound)
        } else if lane.isInSpan(sequence), let span {
          lane.log(sequence, to: bound.with(span: span))
        } else {
          lane.log(sequence, to: bound)
        }
      }
      state?.store(sequence)
      page.acknowledge(2 * thread)
      acknowledged(sequence)
    }
  }

  private func context(
    of sequence: Int, in lane: Lane, isOuter: Bool = false, _ edge: Lane.SpanEdge? = nil
  ) -> LaneContext {
    hasContexts ? lane.context(of: sequence, isOuter: isOuter, edge) : LaneContext()
  }

  /// Logs a record. While its message is made or passed through functions, another record is
  /// logged.
  private func logOuter(
    _ lane: Lane, _ inner: Lane, in page: CountPage, _ sequence: Int, _ log: Logger,
    _ innersLog: Logger
  ) {
    let text = { self.nested(inner, in: page, within: lane, sequence, innersLog) }
    switch sequence / 5 % 4 {
    case 0: log.info("\(lane.number) \(sequence) \(text())")
    case 1: forward("\(lane.number) \(sequence) \(lane.text(of: sequence))", to: log) { _ = text() }
    case 2: forward(lazily: "\(lane.number) \(sequence) \(text())", to: log)
    default:
      let message: LogMessage = "\(lane.number) \(sequence) \(text())"
      log.info(message)
    }
  }

  /// Calls `first`, and then logs a message that was made before.
  private func forward(_ message: LogLiteral, to log: Logger, first: () -> Void) {
    first()
    log.info(message)
  }

  private func forward(lazily message: @autoclosure () -> LogLiteral, to log: Logger) {
    log.info(message())
  }

  /// Logs a record of the inner lane, and returns the text of the outer one.
  private func nested(
    _ inner: Lane, in page: CountPage, within outer: Lane, _ sequence: Int, _ log: Logger
  ) -> UnsafeRawBufferPointer {
    let number = inner.number % CountPage.laneCount
    let innerSequence = page[number] + 1
    context(of: innerSequence, in: inner).use(log) { inner.log(innerSequence, to: $0) }
    page.acknowledge(number)
    return outer.text(of: sequence)
  }

  // MARK: - Beside logging

  /// Flushes now and then.
  private func flush() {
    var random = SeededGenerator(seed: seed &+ 1)
    while !isDone.load(ordering: .acquiring) {
      usleep(UInt32(random.scaled(1...20_000)))
      do {
        try store.flush(random.pick(.ring, .archive, .archive, .disk))
      } catch {
        complain("flushing: \(error)")
      }
    }
  }

  /// Does things with archives, one after the other.
  private func handOn(_ ledger: ArchiveLedger) {
    var random = SeededGenerator(seed: seed &+ 3)
    var hands = Hands(store, ledger, seed: seed &+ 4)
    while !isDone.load(ordering: .acquiring) {
      usleep(UInt32(random.scaled(1...5000)))
      if let problem = hands.move() { complain(problem) }
    }
  }

  /// Forks children one after the other, which log lanes of their own.
  private func fork() {
    var random = SeededGenerator(seed: seed &+ 2)
    warmUp()
    for number in 0..<forks.count {
      usleep(UInt32(random.scaled(1...20_000)))
      let fate = random.next()
      let child = Glibc.fork()
      if child == 0 { beChild(number, fate) }
      var status: CInt = 0
      while waitpid(child, &status, 0) < 0 && errno == EINTR {}
      let isExpected = status == 0 || status & 0x7F == SIGKILL
      if child < 0 || !isExpected { complain("a child ended with \(status)") }
      if isDone.load(ordering: .acquiring) { return }
    }
  }

  /// Waits until all threads have done each of their actions once. While a thread uses a type of
  /// Swift's for the first time, it holds a lock of the runtime. In a child that is forked then,
  /// the lock stays taken for ever.
  private func warmUp() {
    let isWarm = { (thread: Int) in self.page[2 * thread] >= min(self.records, 20) }
    while !(0..<threads).allSatisfy(isWarm) { usleep(500) }
    try? store.flush(.archive)
  }

  /// Logs, and ends: with the store closed, with the store open, or by being killed.
  private func beChild(_ number: Int, _ fate: UInt64) -> Never {
    let page = forks.pages[number]
    Death.page = page
    page.processID = UInt32(bitPattern: CurrentProcess.id)
    forks.limitLife()
    page.isReady = true
    let count = [10, 200, 3000, 20_000][Int(fate >> 8 & 3)]
    log(0, 1...count, page, forks.firstLane(of: number)) { sequence in
      if sequence % 1000 == 0 { forks.limitLife() }
    }
    page.isQuiet = true
    do {
      switch fate % 3 {
      case 0: CurrentProcess.die()
      case 1: break
      default: try close(page)
      }
      _exit(0)
    } catch {
      complain("closing in a child: \(error)")
      _exit(1)
    }
  }

  /// A text that is printed is a finding, whatever becomes of the process.
  private func complain(_ text: String) { StandardError.write("\(text)\n") }
}
