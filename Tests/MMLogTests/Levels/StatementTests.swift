import Glibc
import MMLog
import MMLogFormat
import MMLogReader
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

/// Single statements that are turned on from outside the program.
@Suite("Statements from outside")
struct StatementTests {
  private static let timeout: Int64 = 300_000_000_000

  private func ring(_ folder: TemporaryDirectory) throws -> LiveRing {
    try #require(try LiveRing.all(in: folder.path) { Issue.record("\($0)") }.first)
  }

  /// Turns these statements on, and all others off.
  private func turnOn(
    _ ring: LiveRing, _ statements: [String], of pattern: String = "*", limit: UInt32 = 0,
    for seconds: Double? = nil
  ) throws {
    let expiry = seconds.map { Clock.sinceBoot() + UInt64($0 * 1e9) } ?? 0
    let rules = statements.map { text in
      LevelRule(LevelRule.Statement(text) ?? .init(file: "", line: 0), of: pattern)
    }
    let ordinal = try ring.askForLevels { present in
      present.filter { $0.rule.statement == nil }
        + rules.map { LevelOverride($0, expiry: expiry, limit: limit) }
    }
    try ring.waitForLevels(ordinal, within: Self.timeout)
  }

  /// A statement of each kind, at the level `debug`. Each has its number as its line.
  private func logAll(_ log: Logger, _ round: Int, evaluated: () -> Void = {}) {
    func text(_ name: String) -> String {
      evaluated()
      return "\(name) \(round)"
    }
    let place = { Logger.SourceLocation(file: "Run/Time.swift", function: "f", line: $0) }
    log.debug("\(text("literal"))", line: 1001)
    log.with(["a": 1]).debug("\(text("bound"))", line: 1002)
    withLogFields(["b": 2]) { log.debug("\(text("task"))", line: 1003) }
    _ = log.append(level: .debug, "\(text("append"))", line: 1004)
    let span = log.begin("\(text("begin"))", level: .debug, line: 1005)
    span.end("\(text("end"))", line: 1006)
    log.log(level: .debug, text: text("facade"), at: place(1007))
    log.trace("\(text("trace"))", line: 1008)
    log.info("\(text("info"))", line: 1009)
  }

  @Test("a statement that is on is recorded whatever its level, and no other")
  func statements() throws {
    let test = try TestStore()
    let log = test.store.logger(label: "l")
    log.level = .info
    let ring = try ring(test.folder)
    var evaluated = 0
    logAll(log, 0) { evaluated += 1 }
    let few = evaluated
    var expected = ["info 0"]
    for (round, statements, names) in [
      (1, ["StatementTests.swift:1001"], ["literal"]),
      (2, ["MMLogTests/StatementTests.swift:1002"], ["bound"]),
      (3, ["StatementTests.swift:1003", "StatementTests.swift:1008"], ["task", "trace"]),
      (4, ["StatementTests.swift:1004"], ["append"]),
      // A span whose beginning is recorded has an end.
      (5, ["StatementTests.swift:1005"], ["begin", "end"]),
      (6, ["Time.swift:1007"], ["facade"]),
      // None of these names a statement.
      (7, ["tementTests.swift:1001", "StatementTests.swift:1000", "Tests:1001"], []),
      (8, ["A/StatementTests.swift:1001", "StatementTests.swift:1006"], []),
      (9, ["StatementTests.swift:1009"], []), (10, [], []),
    ] as [(Int, [String], [String])] {
      try turnOn(ring, statements)
      evaluated = 0
      logAll(log, round) { evaluated += 1 }
      #expect(evaluated == few + names.count, "nothing of a statement that is off is evaluated")
      #expect(log.level == .info && log.isEnabled(.debug) == !statements.isEmpty)
      expected += (names + ["info"]).map { "\($0) \(round)" }
    }
    #expect(test.store.levels["l"] == .info)
    #expect(Set(try test.closeAndRead().messages) == Set(expected))
  }

  @Test("labels that the rule does not name pay nothing, and those to come know it")
  func labels() throws {
    let test = try TestStore()
    let (orders, web) = (test.store.logger(label: "orders"), test.store.logger(label: "web"))
    for log in [orders, web] { log.level = .info }
    let ring = try ring(test.folder)
    try turnOn(ring, ["StatementTests.swift:2001"], of: "orders*")
    test.store.setLevel(.info, for: "*")
    let later = test.store.logger(label: "orders.later")
    #expect(orders.isEnabled(.trace) && later.isEnabled(.trace) && !web.isEnabled(.trace))
    for log in [orders, web, later] { log.debug("on", line: 2001) }
    // The program may set levels meanwhile. They count at once for all other statements.
    orders.level = .debug
    orders.debug("set", line: 2002)
    orders.trace("not set", line: 2003)
    try turnOn(ring, [])
    orders.debug("set", line: 2004)
    orders.trace("not set", line: 2001)
    #expect(orders.level == .debug && !orders.isEnabled(.trace) && later.level == .info)
    #expect(try test.closeAndRead().messages == ["on", "on", "set", "set"])
  }

  @Test("rules of levels and of statements hold beside each other")
  func both() throws {
    let test = try TestStore { $0.level = .info }
    let log = test.store.logger(label: "l")
    let ring = try ring(test.folder)
    let error = LevelOverride(LevelRule(.error, for: "l"), expiry: 0)
    let ordinal = try ring.askForLevels { _ in [error] }
    try ring.waitForLevels(ordinal, within: Self.timeout)
    try turnOn(ring, ["StatementTests.swift:3001"])
    #expect(log.level == .error)
    #expect(try ring.labels().first { $0.name == "l" }?.level == .error)
    log.debug("on", line: 3001)
    log.warning("off", line: 3002)
    log.error("error", line: 3003)
    let back = try ring.askForLevels { $0.filter { $0.rule.statement != nil } }
    try ring.waitForLevels(back, within: Self.timeout)
    log.debug("on", line: 3001)
    log.info("info", line: 3002)
    #expect(try ring.overrides().map(\.rule.description) == ["StatementTests.swift:3001"])
    #expect(try test.closeAndRead().messages == ["on", "error", "on", "info"])
  }

  @Test("a statement's rate limit does not count while another one of its label is on")
  func rateLimits() throws {
    let test = try TestStore()
    test.log.level = .info
    let ring = try ring(test.folder)
    func limited(_ text: String) {
      test.log.rateLimited(.debug, every: .seconds(86400 * 30), "\(text)", line: 6001)
    }
    try turnOn(ring, ["StatementTests.swift:6002"])
    limited("off")
    try turnOn(ring, ["StatementTests.swift:6001"])
    limited("on")
    limited("suppressed")
    // The count is published once a second.
    let deadline = Clock.monotonic() + UInt64(Self.timeout)
    var count: UInt64 = 0
    while count == 0, Clock.monotonic() < deadline {
      count = try ring.overridesWithCounts().first?.count ?? 0
      usleep(1000)
    }
    #expect(count == 1)
    #expect(try test.closeAndRead().messages == ["on"])
  }

  @Test("a limit turns a statement off, and the same rule counts anew when it is given again")
  func limit() throws {
    let test = try TestStore()
    test.log.level = .info
    let ring = try ring(test.folder)
    for _ in 0..<2 {
      try turnOn(ring, ["StatementTests.swift:4001"], limit: 5)
      // The limit is for all threads together.
      try onThreads(3) { _ in for _ in 0..<10 { test.log.debug("on", line: 4001) } }
      // The levels count first, and the ring says so afterwards.
      while try test.log.isEnabled(.debug) || !ring.overridesWithCounts().isEmpty { usleep(1000) }
    }
    try turnOn(ring, ["StatementTests.swift:4002"], limit: 5)
    for _ in 0..<3 { test.log.debug("on", line: 4002) }
    while try ring.overridesWithCounts().first?.count != 3 { usleep(1000) }
    #expect(try ring.count(of: LevelRule.Statement(file: "StatementTests.swift", line: 4001)) == 1)
    #expect(try ring.count(of: LevelRule.Statement(file: "StatementTests.swift", line: 4003)) == 0)
    #expect(try test.closeAndRead().messages.count == 2 * 5 + 3)
  }

  @Test("its time is over by itself, and an event reports it") func expiry() async throws {
    let test = try TestStore()
    test.log.level = .info
    var events = test.store.events.makeAsyncIterator()
    let ring = try ring(test.folder)
    try turnOn(ring, ["StatementTests.swift:5001"], for: 3600)
    // The drainer may see this only when its time is over. That ends the rules that hold, too.
    try turnOn(ring, ["StatementTests.swift:5001"], for: 2)
    var reported: [[String]] = []
    while reported.last?.isEmpty != true, let event = await events.next() {
      if case .levelsSet(let rules) = event { reported.append(rules.map(\.description)) }
    }
    #expect(reported.count > 1)
    #expect(reported.dropLast().allSatisfy { $0 == ["StatementTests.swift:5001"] })
    #expect(!test.log.isEnabled(.debug))
    try test.store.blockingClose()
  }

  @Test("as many statements are on as a request has room for") func many() throws {
    let test = try TestStore()
    test.log.level = .info
    let ring = try ring(test.folder)
    let lines = Array(6001...6012)
    try turnOn(ring, lines.map { "StatementTests.swift:\($0)" })
    for line in 6000...6013 { test.log.debug("line \(line)", line: UInt32(line)) }
    // The same statements in another order, with others among them.
    try turnOn(ring, (6006...6015).reversed().map { "StatementTests.swift:\($0)" })
    for line in 6000...6016 { test.log.debug("line \(line)", line: UInt32(line)) }
    #expect(
      try test.closeAndRead().messages == (lines + Array(6006...6015)).map { "line \($0)" })
    let error = #expect(throws: LogError.self) {
      try turnOn(ring, (1...20).map { "StatementTests.swift:\($0)" })
    }
    #expect(error?.message.contains("has no room for") == true)
  }

  @Test("a signal handler's statement is turned on, too") func signalHandlers() throws {
    let test = try TestStore { $0.servesSignalHandlers = true }
    test.log.level = .error
    let ring = try ring(test.folder)
    func write(_ text: StaticString) -> [Bool] {
      [7001, 7002].map { test.log.recordInSignalHandler(.debug, text, line: $0) }
    }
    #expect(write("first") == [false, false])
    try turnOn(ring, ["StatementTests.swift:7002"])
    #expect(write("second") == [false, true])
    #expect(try test.closeAndRead().messages == ["second"])
  }

  @Test("a ring that comes in a lost one's place goes on with it") func lostRing() async throws {
    let test = try TestStore()
    test.log.level = .info
    try turnOn(try ring(test.folder), ["StatementTests.swift:8001"])
    let old = try #require(try test.folder.names(ending: ".ring").first)
    var events = test.store.events.makeAsyncIterator()
    try #require(unlink(test.folder(old)) == 0)
    while let event = await events.next() { if case .resumed = event { break } }
    test.log.debug("on", line: 8001)
    test.log.debug("off", line: 8002)
    #expect(try ring(test.folder).overrides().count == 1)
    try test.store.blockingClose()
    #expect(Contents(test.folder.path).messages == ["on"])
  }

  @Test("statements are turned on and off while threads log") func concurrently() throws {
    let test = try TestStore()
    test.log.level = .info
    let isDone = LockedValue(false)
    let log = test.log
    let threads = try (0..<3).map { _ in
      try Thread(name: "logger") {
        while !isDone.withLock({ $0 }) {
          log.debug("on", line: 9001)
          log.info("always", line: 9002)
          usleep(100)
        }
      }
    }
    let ring = try ring(test.folder)
    for round in 0..<4 {
      try turnOn(ring, round % 2 == 0 ? ["StatementTests.swift:9001", "x.swift:9002"] : [])
    }
    isDone.withLock { $0 = true }
    for thread in threads { thread.join() }
    #expect(Set(try test.closeAndRead().messages) == ["on", "always"])
  }
}
