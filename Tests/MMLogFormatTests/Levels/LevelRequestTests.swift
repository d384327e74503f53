import TestSupport
import Testing

@testable import MMLogFormat

@Suite struct LevelRequestTests {
  @Test("lists of rules are read") func listsOfRulesAreRead() {
    typealias Case = (text: String, rules: [String], wrong: [String])
    let cases: [Case] = [
      ("", [], []), (" , ,", [], []), ("debug", ["*=debug"], []),
      ("db.*=debug,*=info", ["db.*=debug", "*=info"], []),
      (" db = DEBUG , a=b=error ", ["db=debug", "a=b=error"], []),
      ("db=loud,x=trace,=warning,nothing", ["x=trace", "=warning"], ["db=loud", "nothing"]),
    ]
    for each in cases {
      let (rules, wrong) = LevelRule.list(each.text)
      #expect(rules.map(\.description) == each.rules, "\(each.text)")
      #expect(wrong == each.wrong, "\(each.text)")
    }
  }

  @Test("the most particular rule counts whatever their order")
  func theMostParticularRuleCountsWhateverTheirOrder() {
    let rules = LevelRule.list("*=error,db.*=info,db.pool=trace,*.web=debug,db?pool=notice").rules
    for rules in [rules, rules.reversed()] {
      let expected: [(String, Level)] = [
        ("", .error), ("x", .error), ("db.x", .info), ("db.pool", .trace), ("a.web", .debug),
        ("db-pool", .notice), ("db.web", rules.first?.level == .error ? .debug : .debug),
      ]
      for (label, level) in expected {
        #expect(rules.level(of: label) == level, "\(label) by \(rules)")
      }
    }
    #expect(LevelRule.list("a=info,b=debug").rules.level(of: "c") == nil)
    #expect(LevelRule.list("a?=info,?a=debug").rules.level(of: "aa") == .debug)
  }

  @Test("statements are a file and a line") func statementsAreAFileAndALine() {
    let statement = LevelRule.Statement("Orders/Book.swift:42")
    #expect(statement == LevelRule.Statement(file: "Orders/Book.swift", line: 42))
    for text in ["", "Book.swift", ":42", "Book.swift:", "Book.swift:0", "a:-1", "a:4294967296"] {
      #expect(LevelRule.Statement(text) == nil, "\(text)")
    }
    #expect(LevelRule.Statement(String(repeating: "f", count: 105) + ":1") == nil)
    #expect(statement?.matches(file: "src/Orders/Book.swift", line: 42) == true)
    #expect(statement?.matches(file: "Orders/Book.swift", line: 42) == true)
    #expect(statement?.matches(file: "MyOrders/Book.swift", line: 42) == false)
    #expect(statement?.matches(file: "Book.swift", line: 42) == false)
    #expect(statement?.matches(file: "Orders/Book.swift", line: 43) == false)
  }

  @Test("rules about statements come back, and set no level")
  func rulesAboutStatementsComeBack() throws {
    let statement = LevelRule.Statement(file: "Book.swift", line: 42)
    let rule = LevelOverride(
      LevelRule(statement, of: "db.*"), expiry: 7, limit: .max, ordinal: .max)
    let new = LevelRequest(
      ordinal: 3, [rule] + request(3, "db.pool=error").overrides)
    #expect(try page(new).withUnsafeBytes { LevelRequest.newest(inPage: $0) } == new)
    #expect(new.overrides.lazy.map(\.rule).level(of: "db.x") == nil)
    #expect(rule.rule.description == "Book.swift:42 of db.*")
  }

  private func request(_ ordinal: UInt32, _ list: String) -> LevelRequest {
    LevelRequest(
      ordinal: ordinal,
      LevelRule.list(list).rules.enumerated().map {
        LevelOverride($1, expiry: UInt64($0) * 1_000_000_007)
      })
  }

  private func page(_ requests: LevelRequest...) throws -> [UInt8] {
    var page = [UInt8](repeating: 0, count: ControlLayout.size)
    for request in requests {
      let bytes = try #require(request.encoded)
      page.replaceSubrange(request.offset..<request.offset + bytes.count, with: bytes)
    }
    return page
  }

  @Test("the newer of two requests counts") func theNewerOfTwoRequestsCounts() throws {
    let (old, new) = (request(6, "a=debug"), request(7, "b.*=trace,*=info,=critical"))
    #expect(try page().withUnsafeBytes { LevelRequest.newest(inPage: $0) } == nil)
    #expect(try page(old).withUnsafeBytes { LevelRequest.newest(inPage: $0) } == old)
    #expect(try page(old, new).withUnsafeBytes { LevelRequest.newest(inPage: $0) } == new)
    #expect(request(8, "").overrides.isEmpty)
    #expect(try page(request(8, "")).withUnsafeBytes { LevelRequest.newest(inPage: $0) } != nil)
  }

  /// Whoever writes one may die in the middle of it.
  @Test("a request of which anything is wrong leaves the one before")
  func aRequestOfWhichAnythingIsWrongLeavesTheOneBefore() throws {
    let (old, new) = (request(6, "a=debug"), request(7, "b.*=trace,*=info"))
    let good = try page(old, new)
    for bit in 0..<ControlLayout.levelSlotSize * 8 {
      var page = good
      page[new.offset + bit / 8] ^= 1 << (bit % 8)
      #expect(page.withUnsafeBytes { LevelRequest.newest(inPage: $0) } == old, "bit \(bit)")
    }
  }

  /// With a right checksum, too.
  @Test("hostile requests are none or read") func hostileRequestsAreNoneOrRead() throws {
    var random = SeededGenerator(seed: 11)
    for _ in 0..<20_000 {
      var bytes = try #require(request(3, "db.*=debug,web=info,*=error").encoded)
      for _ in 0..<random.scaled(1...4) {
        bytes[random.scaled(8...120)] = random.oneIn(2) ? 255 : UInt8(random.scaled(0...255))
      }
      let checksum = bytes.withUnsafeBytes {
        ~crc32cState(crc32cState(.max, $0.slice(0, 4)), $0.slice(8, $0.count - 8))
      }
      bytes.withUnsafeMutableBytes { $0.store(checksum, 4) }
      let read = bytes.withUnsafeBytes { LevelRequest($0) }
      #expect((read?.overrides.count ?? 0) < 100)
    }
  }

  @Test("more rules than there is room for are refused")
  func moreRulesThanThereIsRoomForAreRefused() {
    let overrides = (0..<100).map {
      LevelOverride(LevelRule(.debug, for: "a label with the number \($0)"), expiry: 0)
    }
    #expect(LevelRequest(ordinal: 1, overrides).encoded == nil)
    #expect(LevelRequest(ordinal: 1, Array(overrides.prefix(15))).encoded != nil)
  }
}
