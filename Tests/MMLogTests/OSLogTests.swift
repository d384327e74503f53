import Foundation
import MMLog
import MMLogReader
import Testing

// Serialized: there is one default store in a process.
@Suite("The names of os.Logger", .serialized)
struct OSLogTests {
  private let order = LimitOrder(id: 42, user: "alice", price: 1234.5, flags: 255)

  @Test("a source file written for os.Logger logs what it means, under its subsystem and category")
  func realisticFile() throws {
    let test = try TestStore { $0.level = .trace }
    test.store.makeDefault()
    OrderService().accept(order, level: .error)
    let records = try test.closeAndRead().records
    let service = records.filter { $0.label == "com.example.orders.service" }
    #expect(
      service.map { "\($0.level) \($0.message)" } == [
        "notice accepting 42", "error as reported: 000042", "trace trace 0xFF", "debug debug 377",
        "info by <private>", "notice alice   |", "warning    1234.50",
        "error rejected(code: 7) order 42 of alice", "critical 1.234e+03", "critical 1234.5",
      ])
    #expect(
      records.filter { $0.label == "com.example.orders.matching" }.map(\.message) == [
        "expensive <private>"
      ])
    let network = records.filter { $0.label == "com.example.orders.network" }.map(\.message)
    try #require(network.count == 3)
    #expect(network[0].hasPrefix("<hash:"))
    #expect(network[0].hasSuffix("> 42"))
    #expect(network[1].hasPrefix("<private> <hash:"))
    #expect(network[2] == "user <private>")
  }

  @Test(
    "auto means for texts what the store is configured with, and is never more open where it masks")
  func autoPrivacy() throws {
    let expected: [(Logger.Privacy, String, String)] = [
      (.public, "bob", "bob"), (.private, "<private>", "<hash:"),
      (.hash, "<hash:", "<hash:"),
    ]
    for (privacy, plain, masked) in expected {
      let test = try TestStore { $0.autoPrivacy = privacy }
      let (text, none): (String, String?) = ("bob", nil)
      test.log.info("\(text, privacy: .auto)")
      test.log.info("\(text, privacy: .auto(mask: .hash))")
      test.log.info(
        "\(7, privacy: .auto) \(1.5, privacy: .auto(mask: .hash)) \(true, privacy: .auto)")
      test.log.info("\(none, privacy: .auto)")
      let message: LogMessage = "kept \(text, privacy: .auto)"
      test.log.info(message)
      test.log.info("\(text, privacy: .auto(mask: .none))")
      let messages = try test.closeAndRead().messages
      #expect(messages[0].hasPrefix(plain))
      #expect(messages[1].hasPrefix(masked))
      #expect(messages[2] == "7 1.5 true")
      #expect(messages[3].hasPrefix(privacy == .public ? "nil" : plain))
      #expect(messages[4] == "kept <private>")
      #expect(messages[5] == (privacy == .public ? "bob" : "<private>"))
    }
  }

  @Test("auto itself cannot be what auto means")
  func autoOfAuto() {
    #expect(throws: LogError.self) { try TestStore { $0.autoPrivacy = .auto(mask: .none) } }
    #expect(throws: LogError.self) { try TestStore { $0.autoPrivacy = .auto } }
    #expect(throws: LogError.self) { try TestStore { $0.autoPrivacy = .auto(mask: .hash) } }
  }

  @Test("before there is a default store, records are dropped, and counted by it")
  func beforeTheStore() throws {
    let log = Logger(label: "early.\(UInt64.random(in: 0...UInt64.max))")
    log.info("dropped")
    log.error("dropped too")
    log.debug("below the level")
    let test = try TestStore { $0.level = .debug }
    test.store.makeDefault()
    #expect(test.store.losses[.noRing, .info] == 1)
    #expect(test.store.losses[.noRing, .error] == 1)
    #expect(log.level == .debug)
    log.debug("kept")
    #expect(try test.closeAndRead().messages == ["kept"])
  }

  @Test("all loggers of a label share its level, made with the store or without one")
  func sharedLevel() throws {
    let number = UInt64.random(in: 0...UInt64.max)
    let early = Logger(label: "early.\(number)")
    let test = try TestStore()
    let own = test.store.logger(label: "early.\(number)")
    own.level = .debug
    test.store.makeDefault()
    #expect(early.level == .debug)
    early.level = .error
    #expect(own.level == .error && test.store.levels["early.\(number)"] == .error)
    own.level = .trace
    #expect(early.level == .trace && test.store.levels["early.\(number)"] == .trace)
    let other = test.store.logger(label: "late.\(number)")
    other.level = .notice
    let late = Logger(label: "late.\(number)")
    #expect(late.level == .notice)
    late.level = .warning
    #expect(other.level == .warning)
    test.store.setLevel(.info, for: "late.*")
    #expect(other.level == .info && late.level == .info)
    #expect(try test.closeAndRead().messages.isEmpty)
    // In the next store, the level is that store's.
    let next = try TestStore { $0.level = .notice }
    next.store.makeDefault()
    #expect(late.level == .notice && early.level == .notice)
    _ = try next.closeAndRead()
  }

  @Test("after the default store is closed another takes over, and the same loggers go on in it")
  func nextStore() throws {
    let log = Logger(label: "going.on")
    for round in 0..<3 {
      let test = try TestStore()
      test.store.makeDefault()
      test.store.makeDefault()
      test.store.setLevel(.trace, for: "going.*")
      log.trace("round \(round)")
      let contents = try test.closeAndRead()
      #expect(contents.messages == ["round \(round)"])
      #expect(contents.records.map(\.label) == ["going.on"])
      log.error("between stores")
    }
  }

  @Test("threads may log through loggers that get their store meanwhile")
  func bindingUnderLoad() throws {
    let labels = (0..<8).map { "load.\($0)" }
    let loggers = labels.map { Logger(label: $0) }
    let test = try TestStore()
    try onThreads(4) { thread in
      if thread == 0 { test.store.makeDefault() }
      for index in 0..<2000 { loggers[index % 8].info("\(thread) \(index)") }
    }
    let lost = Int(test.store.losses[.noRing, .info])
    let contents = try test.closeAndRead()
    #expect(contents.records.count + lost == 8000)
    for record in contents.records { #expect(labels.contains(record.label)) }
  }

  @Test("a second open default store is a caller's mistake")
  func twoDefaults() async {
    await #expect(processExitsWith: .failure) {
      let (first, second) = (try TestStore(), try TestStore())
      first.store.makeDefault()
      second.store.makeDefault()
    }
  }
}
