import Glibc
import MMLog
import MMLogReader
import MMLogSystem
import Synchronization
import Testing
import TestSupport

@Suite("Log calls inside log calls")
struct NestingTests {
  private func nest(_ log: Logger, _ depth: Int, to last: Int) -> Int {
    log.info("in \(depth) \(depth < last ? nest(log, depth + 1, to: last) : 0) \("end")")
    return depth
  }

  @Test("nested calls are kept to the fourth; deeper ones are counted", arguments: 1...6)
  func depth(last: Int) throws {
    let test = try TestStore()
    for _ in 0..<3 { _ = nest(test.log, 1, to: last) }
    let losses = test.store.losses
    let contents = try test.closeAndRead()
    let kept = min(last, 4)
    let expected = (1...kept).reversed().map { "in \($0) \($0 < last ? $0 + 1 : 0) end" }
    #expect(contents.messages == expected + expected + expected)
    // A call that is too deep is not evaluated, and so neither are those in it.
    #expect(losses.total(.tooDeep) == (last > 4 ? 3 : 0))
    #expect(contents.corruption.isEmpty && contents.unfinished.isEmpty)
  }

  @Test("nested calls to another store, and back, go where they belong")
  func otherStore() throws {
    let (a, b) = (try TestStore(), try TestStore())
    func inner(_ number: Int) -> String {
      b.log.info("b \(number) \(a.log.isEnabled(.info) ? innermost(number) : "")")
      return "b"
    }
    func innermost(_ number: Int) -> String {
      a.log.info("innermost \(number)")
      return "a"
    }
    for number in 0..<100 {
      a.log.info("a \(number) \(inner(number))")
      b.log.info("after \(number)")
    }
    #expect(
      try a.closeAndRead().messages
        == (0..<100).flatMap { ["innermost \($0)", "a \($0) b"] })
    #expect(
      try b.closeAndRead().messages == (0..<100).flatMap { ["b \($0) a", "after \($0)"] })
  }

  @Test("stores that take turns on one thread keep what is theirs")
  func turns() throws {
    let stores = try (0..<3).map { _ in try TestStore { $0.makeTiny() } }
    for number in 0..<3000 { stores[number % 3].log.info("\(number)") }
    for (index, test) in stores.enumerated() {
      let contents = try test.closeAndRead()
      #expect(contents.isClean)
      #expect(contents.messages == (0..<1000).map { "\($0 * 3 + index)" })
    }
  }

  /// Waits until the handler has logged once more.
  private static func waitForSignal() {
    let count = SignalLogger.count.load(ordering: .relaxed)
    while SignalLogger.count.load(ordering: .relaxed) == count { sched_yield() }
  }

  private static func logLine(_ index: Int, to log: Logger) {
    log.info(
      "\(index) \(index % 7 == 0 ? String(repeating: "x", count: 200) : "s")",
      line: UInt32(index % 500))
  }

  @Test(
    "a signal handler logs on top of log calls: nothing is lost, nothing stands still",
    arguments: ["same", "other", "first"])
  func signals(mode: String) async throws {
    await #expect(processExitsWith: .success) { [mode = mode as String] in
      // Small segments, so that signals come while a thread changes its segment; room for all
      // records, since a handler waits for no room.
      func make() throws -> TestStore {
        try TestStore { ($0.segmentSize, $0.ringSize) = (4 << 10, 32 << 20) }
      }
      let (test, second) = (try make(), try make())
      SignalLogger.install()
      // Debug builds look up the types of generic calls under a lock, when a line runs for the
      // first time. That must not happen in a signal handler.
      let rehearsal = try make()
      SignalLogger.log = rehearsal.log
      Self.logLine(0, to: rehearsal.log)
      SignalLogger.mask(SIG_UNBLOCK)
      raise(SIGUSR1)
      SignalLogger.mask(SIG_BLOCK)
      SignalLogger.count.store(0, ordering: .relaxed)
      try rehearsal.store.close()
      SignalLogger.log = mode == "same" ? test.log : second.log
      let log = test.log
      let isDone = Atomic<Bool>(false)
      let target = Atomic<UInt>(0)
      let logged = SharedCount()
      let worker = try Thread(name: "worker") {
        SignalLogger.mask(SIG_UNBLOCK)
        if mode == "first" { log.info("-1 ") }
        target.store(UInt(pthread_self()), ordering: .releasing)
        var index = 0
        // Logs until there were enough signals, but no more than the ring has room for.
        while index < 40_000
          || (SignalLogger.count.load(ordering: .relaxed) < 200 && index < 200_000)
        {
          Self.logLine(index, to: log)
          index += 1
          if index % 200 == 0 { sched_yield() }
          // On a busy machine, whoever sends the signals would not run meanwhile.
          if index % 2000 == 0 { Self.waitForSignal() }
        }
        logged.value = index
        isDone.store(true, ordering: .releasing)
        // Waits until no signal is on its way any more.
        while target.load(ordering: .acquiring) != 0 { sched_yield() }
      }
      while target.load(ordering: .acquiring) == 0 { sched_yield() }
      let thread = pthread_t(target.load(ordering: .acquiring))
      var sent = 0
      while !isDone.load(ordering: .acquiring) {
        pthread_kill(thread, SIGUSR1)
        sent += 1
        // Pending signals of the same kind become one.
        while SignalLogger.count.load(ordering: .acquiring) < sent
          && !isDone.load(ordering: .acquiring)
        {
          sched_yield()
        }
        sent = SignalLogger.count.load(ordering: .acquiring)
      }
      target.store(0, ordering: .releasing)
      worker.join()
      let count = SignalLogger.count.load(ordering: .acquiring)
      require(count > 10, "only \(count) signals")
      require(test.store.losses.isEmpty, "\(test.store.losses)")
      require(second.store.losses.isEmpty, "\(second.store.losses)")
      // A store into which nothing was logged leaves nothing to read.
      second.log.info("-1 of the other")
      let one = try test.closeAndRead()
      let two = try second.closeAndRead()
      require(one.isClean && two.isClean, "\(one.corruption) \(one.unfinished) \(two.corruption)")
      let all = one.messages + two.messages
      let own = all.filter { !$0.hasPrefix("signal") && !$0.hasPrefix("-1") }
        .compactMap { Int($0.prefix { $0 != " " }) }
      require(own == Array(0..<logged.value), "\(own.count) of \(logged.value)")
      let signals = all.filter { $0.hasPrefix("signal") }
      require(signals == (1...count).map { "signal \($0) text" }, "\(signals.count) of \(count)")
    }
  }
}
