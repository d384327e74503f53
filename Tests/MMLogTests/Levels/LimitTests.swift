import MMLog
import MMLogFormat
import MMLogReader
import MMLogSystem
import TestSupport
import Testing

/// Rate limits that are set for labels.
@Suite("Rate limits by label")
struct LimitTests {
  private static let timeout: Int64 = 300_000_000_000
  /// Longer than any test takes.
  private static let long = Duration.seconds(86400 * 30)

  /// Reaches each of some statements `times` times. Each statement has its number as its line.
  private func logAll(_ log: Logger, times: Int = 7) {
    let place = Logger.SourceLocation(file: "Run/Time.swift", function: "f", line: 2005)
    for index in 0..<times {
      log.info("literal \(index)", line: 2001)
      log.with(["a": 1]).info("bound \(index)", line: 2002)
      withLogFields(["b": 2]) { log.info("task \(index)", line: 2003) }
      log.begin("begin \(index)", line: 2004).end("end \(index)")
      log.log(level: .info, text: "facade \(index)", at: place)
      _ = log.append(level: .info, "append \(index)", line: 2006)
      log.debug("below \(index)", line: 2007)
    }
  }

  private static let names = ["literal", "bound", "task", "begin", "end", "facade", "append"]

  private func counts(_ records: [LogReader.Record], _ label: String) -> [Int] {
    let own = records.filter { $0.label == label }
    return (Self.names + ["below"]).map { name in
      own.count { $0.message.hasPrefix(name) }
    }
  }

  @Test("the first ones of each statement are recorded, then each so many, and others are counted")
  func firstThenEvery() throws {
    let test = try TestStore { $0.rateLimits = ["limited": .init(first: 2, per: Self.long)] }
    let (limited, sampled) = (test.store.logger(label: "limited"), test.store.logger(label: "s"))
    let free = test.store.logger(label: "free")
    test.store.setRateLimit(.init(first: 1, per: Self.long, thenEvery: 3), for: "s*")
    for log in [limited, sampled, free] { logAll(log) }
    let suppressed = test.store.statistics.suppressed
    #expect(suppressed == ["limited": 6 * 5, "s": 6 * 4])
    #expect(test.store.losses.isEmpty)
    let records = try test.closeAndRead().records
    #expect(counts(records, "limited") == [2, 2, 2, 2, 2, 2, 2, 0])
    #expect(counts(records, "s") == [3, 3, 3, 3, 3, 3, 3, 0])
    #expect(counts(records, "free") == [7, 7, 7, 7, 7, 7, 7, 0])
    let literals = records.filter { $0.label == "s" && $0.message.hasPrefix("literal") }
    #expect(literals.map(\.message) == ["literal 0", "literal 3", "literal 6"])
  }

  @Test("what tells whether a record is kept says no of one that is suppressed, which is no loss")
  func appended() throws {
    let test = try TestStore { $0.rateLimits = ["*": .init(first: 2, per: Self.long)] }
    let kept = (0..<4).map { test.log.append(level: .info, "\($0)", line: 66) }
    #expect(kept == [true, true, false, false])
    #expect(test.store.losses.isEmpty && test.store.statistics.suppressed == ["test": 2])
    #expect(try test.closeAndRead().messages == ["0", "1"])
  }

  @Test("what is suppressed is not evaluated, in all threads together")
  func threads() throws {
    let test = try TestStore()
    test.store.setRateLimit(.init(first: 10, per: Self.long, thenEvery: 100), for: "*")
    let log = test.log
    try onThreads(4) { _ in
      for _ in 0..<1000 { log.info("\(1)", metadata: ["a": 1], line: 77) }
    }
    let suppressed = test.store.statistics.suppressed
    #expect(try test.closeAndRead().records.count == 10 + 39)
    #expect(suppressed == ["test": 4000 - 49])
  }

  @Test("an interval begins anew, and a limit ends")
  func intervals() throws {
    let test = try TestStore()
    test.store.setRateLimit(.init(first: 1, per: .milliseconds(1)), for: "*")
    // There are as many records as intervals in which the statement was reached.
    var (intervals, last) = (0, UInt64.max)
    while intervals < 3 {
      let before = Clock.monotonic() / 1_000_000
      test.log.info("limited", line: 5)
      let after = Clock.monotonic() / 1_000_000
      if before == after, before != last { (intervals, last) = (intervals + 1, before) }
    }
    test.store.setRateLimit(.none, for: "*")
    for _ in 0..<5 { test.log.info("free", line: 5) }
    let messages = try test.closeAndRead().messages
    #expect(messages.count { $0 == "limited" } >= 3 && messages.count { $0 == "free" } == 5)
  }

  @Test("somebody outside sets a limit, and takes it back; a statement that is turned on passes")
  func outside() throws {
    let test = try TestStore()
    let log = test.store.logger(label: "db")
    log.level = .info
    let ring = try #require(try LiveRing.all(in: test.folder.path) { Issue.record("\($0)") }.first)
    func ask(_ rules: [LevelRule]) throws {
      let ordinal = try ring.askForLevels { _ in rules.map { LevelOverride($0, expiry: 0) } }
      try ring.waitForLevels(ordinal, within: Self.timeout)
    }
    let limit = RateLimit(first: 3, per: Self.long)
    try ask([
      LevelRule(limit, for: "d?"),
      LevelRule(LevelRule.Statement(file: "LimitTests.swift", line: 2007)),
    ])
    logAll(log)
    #expect(try ring.overrides().map { "\($0.rule)" } == ["d?=3/720h", "LimitTests.swift:2007"])
    try ask([LevelRule(.notice, for: "*")])
    logAll(log, times: 1)
    try ask([])
    for index in 7..<9 { log.info("literal \(index)", line: 2001) }
    #expect(test.store.statistics.suppressed == ["db": 6 * 4])
    let records = try test.closeAndRead().records
    #expect(counts(records, "db") == [3 + 2, 3, 3, 3, 3, 3, 3, 7])
  }

  @Test("a limit is read from its text, and nothing else is")
  func texts() {
    for text in ["100/1s", "0/5ms", "1/10m/1000", "4294967295/1h/1", "unlimited"] {
      #expect(RateLimit(text)?.description == text)
    }
    #expect(RateLimit("1/60s")?.description == "1/1m")
    for text in [
      "", "1", "1/", "1/s", "1/0s", "1/1d", "-1/1s", "1/1s/", "1/1s/-1", "1/1s/1/1", "x/1s",
      "1/721h", "1/999999ns", "1/999us", "1/2592000000000001us", "1/99999999999999999999s",
      "4294967296/1s", "1/ 1s",
    ] {
      #expect(RateLimit(text) == nil, "\(text)")
    }
    let (rules, wrong) = LevelRule.list("db.*=debug,db.*=10/1s, *=5/1m/7,x=1/1x")
    #expect(rules.map(\.description) == ["db.*=debug", "db.*=10/1s", "*=5/1m/7"])
    #expect(wrong == ["x=1/1x"])
    #expect(rules.level(of: "db.a") == .debug && rules.level(of: "a") == nil)
    #expect(rules.limit(of: "db.a") == RateLimit(first: 10, per: .seconds(1)))
    #expect(rules.limit(of: "a") == RateLimit(first: 5, per: .seconds(60), thenEvery: 7))
    #expect(RateLimit(first: 1, per: .zero).description == "1/1ms")
    for long in [.seconds(Int64.max), .seconds(1e20)] as [Duration] {
      #expect(RateLimit(first: 1, per: long).description == "1/720h")
    }
    #expect(RateLimit(first: 1, per: .seconds(-1e20)).description == "1/1ms")
    for (interval, text) in [
      (.microseconds(1500), "1/1500us"), (.nanoseconds(1_000_001), "1/1000001ns"),
    ] as [(Duration, String)] {
      let limit = RateLimit(first: 1, per: interval)
      #expect(limit.description == text && RateLimit(text) == limit)
    }
  }

  @Test("a request has limits in it, as they were asked for")
  func request() throws {
    let request = LevelRequest(
      ordinal: 7,
      [
        LevelOverride(LevelRule(.none, for: "a"), expiry: 3),
        LevelOverride(
          LevelRule(RateLimit(first: .max, per: .seconds(1), thenEvery: .max), for: "*"), expiry: 0),
        LevelOverride(LevelRule(.debug, for: "b"), expiry: 0),
      ])
    let bytes = try #require(request.encoded)
    #expect(bytes.withUnsafeBytes { LevelRequest($0) } == request)
  }
}
