import MMLog
import MMLogReader
import Testing

@Suite("Levels")
struct LevelTests {
  @Test("each method records at its level, and from the label's level on")
  func methods() throws {
    for (order, level) in Logger.Level.allCases.enumerated() {
      let test = try TestStore()
      test.log.level = level
      test.log.trace("m")
      test.log.debug("m")
      test.log.info("m")
      test.log.notice("m")
      test.log.warning("m")
      test.log.error("m")
      test.log.critical("m")
      #expect(
        try test.closeAndRead().records.map(\.level) == Array(Logger.Level.allCases[order...]))
    }
  }

  @Test("a label that is off records nothing, and no record is off")
  func off() throws {
    let test = try TestStore()
    test.log.log(level: .off, "never")
    test.log.log(level: .off, LogMessage("never"))
    #expect(!test.log.isEnabled(.off) && test.log.isEnabled(.trace))
    test.log.level = .off
    #expect(test.log.level == .off && !test.log.isEnabled(.critical))
    test.log.critical("never")
    test.log.span("never", level: .off) { _ in }
    test.store.setLevel(.critical, for: "*")
    test.log.critical("at last")
    #expect(try test.closeAndRead().messages == ["at last"])
    #expect(!Logger.Level.allCases.contains(.off) && Logger.Level(name: "OFF") == .off)
  }

  @Test("archives with no level at all are refused")
  func archiveLevelOff() {
    let error = logError { _ = try TestStore { $0.archiveLevel = .off } }
    #expect(error?.code == .invalidConfiguration && error?.message.contains("archiveLevel") == true)
  }

  @Test("loggers of one label share a level, others do not")
  func sharing() throws {
    let test = try TestStore { $0.level = .notice }
    let (a, b) = (test.store.logger(label: "a"), test.store.logger(label: "a"))
    let other = test.store.logger(label: "b")
    #expect(other.level == .notice)
    a.level = .error
    #expect(b.level == .error && other.level == .notice)
    #expect(!b.isEnabled(.warning) && b.isEnabled(.error))
  }

  @Test("each of many labels keeps its level")
  func manyLabels() throws {
    let test = try TestStore()
    let loggers = (0..<20_000).map { test.store.logger(label: "label \($0)") }
    loggers[12_345].level = .error
    for index in [0, 12_344, 12_345, 19_999] {
      let again = test.store.logger(label: "label \(index)")
      #expect(again.level == (index == 12_345 ? .error : .info))
    }
    #expect(test.store.levels.count == 20_001)
  }

  @Test("a pattern sets the labels that it matches, present and to come; the last one wins")
  func patterns() throws {
    let test = try TestStore()
    let present = test.store.logger(label: "orders.matching")
    test.store.setLevel(.debug, for: "orders.*")
    test.store.setLevel(.error, for: "*.web?")
    #expect(present.level == .debug)
    let expected: [(String, Logger.Level)] = [
      ("orders.", .debug), ("orders.x.y", .debug), ("orders", .info), ("a.web1", .error),
      ("a.web", .info), ("orders.web2", .error), ("a.web12", .info), ("", .info),
    ]
    for (label, level) in expected {
      #expect(test.store.logger(label: label).level == level, "\(label)")
    }
    test.store.setLevel(.critical, for: "*")
    #expect(test.store.logger(label: "").level == .critical)
    test.store.setLevel(.trace, for: "")
    #expect(test.store.logger(label: "").level == .trace && present.level == .critical)
  }
}
