import CMMLogWriter
import MMLog
import MMLogReader
import Synchronization
import Testing
import TestSupport

@Suite("Rate limits")
struct RateLimitTests {
  @Test("every n-th time means the first and then every n-th, whoever reaches it")
  func everyCount() throws {
    let test = try TestStore()
    let log = test.log
    for index in 0..<10 { log.every(4)?.info("one thread \(index)") }
    let passed = Atomic<Int>(0)
    try onThreads(4) { _ in
      for _ in 0..<1000 {
        if let limited = log.rateLimited(every: 100) {
          passed.add(1, ordering: .relaxed)
          limited.logger.info("threads \(limited.suppressed)")
        }
      }
    }
    let messages = try test.closeAndRead().messages
    #expect(messages.filter { $0.hasPrefix("one") } == [0, 4, 8].map { "one thread \($0)" })
    #expect(passed.load(ordering: .relaxed) == 40)
    #expect(messages.filter { $0 == "threads 99" }.count == 39)
    #expect(messages.filter { $0 == "threads 0" }.count == 1)
  }

  @Test("every 0 or fewer times means every time")
  func everyNone() throws {
    let test = try TestStore()
    for count in [0, -1, Int.min] {
      for _ in 0..<2 { test.log.every(count)?.info("\(count)") }
    }
    #expect(try test.closeAndRead().messages == [0, 0, -1, -1, .min, .min].map { "\($0)" })
  }

  @Test("once means once for each statement, and statements do not count for each other")
  func once() throws {
    let test = try TestStore()
    for _ in 0..<5 {
      test.log.once()?.info("a")
      test.log.once()?.info("b"); test.log.once()?.info("c")
    }
    #expect(try test.closeAndRead().messages == ["a", "b", "c"])
  }

  @Test("a full table of statements' own limits leaves room for limits of labels")
  func fullTable() async {
    await #expect(processExitsWith: .success) {
      let test = try TestStore()
      for line in 0..<20_000 { _ = test.log.once(line: UInt32(line)) }
      let second = (0..<20_000).count { test.log.once(line: UInt32($0)) != nil }
      require(second > 10_000, "a table with room for \(20_000 - second)")
      test.store.setRateLimit(.init(first: 1, per: .seconds(86400 * 30)), for: "test")
      for line in 0..<100 {
        for round in 0..<2 { test.log.info("\(line) \(round)", line: UInt32(line)) }
      }
      let messages = try test.closeAndRead().messages
      require(messages == (0..<100).map { "\($0) 0" }, "\(messages)")
    }
  }

  @Test("a process has room for the limits of 4096 statements")
  func room() async {
    await #expect(processExitsWith: .success) {
      let test = try TestStore()
      for line in 0..<4096 { _ = test.log.once(line: UInt32(line)) }
      let second = (0..<4096).count { test.log.once(line: UInt32($0)) != nil }
      // Some statements' keys collide by chance: the addresses of names differ each time.
      require(second < 41, "\(second) of 4096 have no place")
    }
  }

  @Test("the place of a statement is near where its key belongs, or there is none")
  func boundedSearch() async {
    await #expect(processExitsWith: .success) {
      let places = UInt64(MMLOG_RATE_LIMIT_PLACES)
      let found = (0..<100 as Range<UInt64>).map {
        mmlog_rate_limit_of(MMLOG_LIMITS_OF_STATEMENTS, 1 + $0 * places)
      }
      require(found.count { $0 != nil } == Int(MMLOG_RATE_LIMIT_STEPS))
      require(found.prefix(Int(MMLOG_RATE_LIMIT_STEPS)).allSatisfy { $0 != nil })
    }
  }

  @Test("a statement reached more often than is counted stays in its interval")
  func fullCount() async throws {
    await #expect(processExitsWith: .success) {
      let label = UnsafeMutablePointer<mmlog_label>.allocate(capacity: 1)
      label.initialize(to: mmlog_label())
      mmlog_set_label_limit(label, 1000, .max, 0)
      let statement = mmlog_rate_limit_of(MMLOG_LIMITS_OF_LABELS, 1)
      guard let statement else { fatalError("no place") }
      let full = 7 << 32 | UInt64(UInt32.max)
      statement.pointee.state = full
      require(mmlog_is_within_limit(label, 1, 7000))
      require(statement.pointee.state == full, "\(statement.pointee.state)")
    }
  }

  @Test("within an interval repeats are counted, and the next record says how many there were")
  func everyInterval() throws {
    let test = try TestStore()
    func say(_ interval: Duration) {
      if let limited = test.log.rateLimited(every: interval) {
        limited.logger.info("\(limited.suppressed)")
      }
    }
    for _ in 0..<5 { say(.seconds(3600)) }
    func sayAtOnce() {
      if let limited = test.log.rateLimited(every: .zero) {
        limited.logger.info("always \(limited.suppressed)")
      }
    }
    for _ in 0..<3 { sayAtOnce() }
    #expect(try test.closeAndRead().messages == ["0", "always 0", "always 0", "always 0"])
  }

  @Test("what was suppressed in an interval is reported after it")
  func suppressed() throws {
    let test = try TestStore()
    var last: UInt64?
    var reached: UInt64 = 0
    // Logs until the statement's second record, whenever that comes.
    while last == nil {
      if let limited = test.log.rateLimited(every: .milliseconds(5)), reached > 0 {
        last = limited.suppressed
      } else {
        reached += 1
      }
    }
    #expect(last == reached - 1)
    try test.store.close()
  }

  @Test("repeats become one record, and the next one says how many there were")
  func repeats() throws {
    let test = try TestStore()
    var evaluations = 0
    func number(_ index: Int) -> Int {
      evaluations += 1
      return index
    }
    func say(_ index: Int, within interval: Duration) {
      test.log.rateLimited(
        .error, every: interval, "failure \(number(index))", metadata: ["path": "/x"])
    }
    say(0, within: .seconds(3600))
    for index in 1...5 { say(index, within: .seconds(3600)) }
    test.log.level = .critical
    say(6, within: .seconds(3600))
    test.log.level = .trace
    #expect(evaluations == 1)
    // A statement of its own, whose interval is always over.
    for index in 0..<3 {
      test.log.rateLimited(.info, every: .zero, "always \(index)")
    }
    #expect(
      try test.closeAndRead().messages == ["failure 0", "always 0", "always 1", "always 2"])
  }

  @Test("what was suppressed in an interval is reported by the record after it, as a field")
  func suppressedCount() throws {
    let test = try TestStore()
    var (reached, recorded, suppressed) = (0, 0, 0)
    // Logs as long as needed: on a busy machine, more than an interval may be between two calls.
    while suppressed == 0 {
      reached += 1
      func text() -> String {
        if recorded > 0 { suppressed = reached - recorded - 1 }
        recorded = reached
        return "again"
      }
      test.log.rateLimited(.info, every: .milliseconds(5), "\(text())", metadata: ["path": "/x"])
    }
    let contents = try test.closeAndRead()
    #expect(contents.messages.allSatisfy { $0 == "again" })
    #expect(contents.records.last?.fields.map(\.name) == ["path", "suppressed"])
    #expect(contents.records.last?.fields.last?.value == .uint(UInt64(suppressed)))
  }

  @Test("the message of a suppressed statement is not evaluated")
  func notEvaluated() throws {
    let test = try TestStore()
    var evaluations = 0
    func count() -> Int {
      evaluations += 1
      return evaluations
    }
    for _ in 0..<10 { test.log.every(5)?.info("\(count())") }
    #expect(evaluations == 2)
    #expect(try test.closeAndRead().messages == ["1", "2"])
  }
}
