import Foundation
import MMLog
import MMLogReader
import MMLogSystem
import MMLogTaps
import Testing

/// Keeps what it gets.
private final class Kept: Sendable {
  let records = LockedValue<[LogReader.Record]>([])
  let missing = LockedValue<UInt64>(0)
  var messages: [String] { records.withLock { $0.map(\.message) } }
}

private struct Keeper: LogTap.Output {
  let kept: Kept
  /// Called before each write.
  var before: @Sendable () throws -> Void = {}

  func write(_ records: ArraySlice<LogReader.Record>) throws -> Int {
    try before()
    // Takes one record at a time, the least that a tap's output may take.
    kept.records.withLock { $0.append(records[records.startIndex]) }
    return 1
  }

  func write(missing count: UInt64) throws {
    try before()
    kept.missing.withLock { $0 += count }
  }
}

@Suite("Taps")
struct TapTests {
  @Test("each tap has a level and a filter of its own, and gets records in their order")
  func several() throws {
    let (all, warnings, orders) = (Kept(), Kept(), Kept())
    var filter = LogReader.Filter()
    filter.labels = ["orders.*"]
    let test = try TestStore { configuration in
      configuration.taps = [
        LogTap(Keeper(kept: all)), LogTap(Keeper(kept: warnings), from: .warning),
        LogTap(Keeper(kept: orders), filter: filter),
      ]
    }
    let book = test.store.logger(label: "orders.book")
    for number in 0..<10 {
      test.log.info("info \(number)")
      test.log.error("error \(number)")
      book.info("order \(number)")
      if number % 3 == 0 { try test.store.flush(.archive) }
    }
    let archived = try test.closeAndRead().messages
    #expect(all.messages == archived && archived.count == 30)
    #expect(warnings.messages == (0..<10).map { "error \($0)" })
    #expect(orders.messages == (0..<10).map { "order \($0)" })
  }

  @Test("flight records come when they are captured, and are known as such")
  func flightRecords() throws {
    let (all, others, flight) = (Kept(), Kept(), Kept())
    let test = try TestStore { configuration in
      (configuration.archiveLevel, configuration.captureLevel) = (.info, nil)
      let choices: [(Kept, LogReader.Filter.FlightChoice)] = [
        (all, .any), (others, .none), (flight, .only),
      ]
      configuration.taps = choices.map { kept, choice in
        var filter = LogReader.Filter()
        filter.flight = choice
        return LogTap(Keeper(kept: kept), filter: filter)
      }
    }
    for number in 0..<3 {
      test.log.debug("debug \(number)")
      test.log.info("info \(number)")
    }
    try test.store.capture(reason: "test")
    test.log.debug("stays in the ring")
    let archived = try test.closeAndRead().messages
    #expect(flight.messages == (0..<3).map { "debug \($0)" })
    #expect(others.messages == (0..<3).map { "info \($0)" } + ["captured: test"])
    #expect(all.messages.sorted() == archived.sorted() && archived.count == 7)
  }

  @Test("a tap may drop a record or change its copy; what is archived stays")
  func edits() throws {
    let kept = Kept()
    var tap = LogTap(Keeper(kept: kept))
    tap.edit = { record in
      if record["drop"] != nil { return false }
      record["user"] = nil
      record["added"] = .int(1)
      record.level = .error
      return true
    }
    let test = try TestStore { $0.taps = [tap] }
    test.log.info("dropped", metadata: ["drop": true])
    test.log.info("of \("alice", name: "user", privacy: .public)", metadata: ["venue": "XETR"])
    let archived = try test.closeAndRead().records
    let records = kept.records.withLock { $0 }
    try #require(records.count == 1 && archived.count == 2)
    #expect(records[0].message == "of <private>" && records[0].level == .error)
    #expect(records[0].fields.map(\.name) == ["venue", "added"])
    #expect(archived[1].message == "of alice" && archived[1].level == .info)
  }

  @Test("a copy that cannot be written is missed, and never written as it was")
  func unwritableEdit() throws {
    let kept = Kept()
    var tap = LogTap(Keeper(kept: kept))
    tap.edit = { record in
      if record.fields.isEmpty { return true }
      record["secret"] = nil
      record["deep"] = (0..<100).reduce(.int(1)) { value, _ in .array([value]) }
      return true
    }
    let test = try TestStore { [tap] in $0.taps = [tap] }
    test.log.info("of \("alice", name: "secret", privacy: .public)")
    test.log.info("other")
    try test.store.close()
    #expect(kept.messages == ["other"] && kept.missing.withLock { $0 } == 1)
    #expect(test.store.statistics.missedByTaps == 1)
  }

  @Test("what an output cannot take for a moment while a store closes is written")
  func failingAtClosing() throws {
    let (kept, tries) = (Kept(), LockedValue(0))
    let keeper = Keeper(kept: kept) {
      let count = tries.withLock {
        $0 += 1
        return $0
      }
      if count <= 3 { throw SystemError(call: .write, errno: EAGAIN) }
    }
    let test = try TestStore { $0.taps = [LogTap(keeper)] }
    test.log.info("last")
    try test.store.close()
    #expect(kept.messages == ["last"] && test.store.statistics.missedByTaps == 0)
  }

  @Test("a tap that blocks keeps neither log calls nor archives nor other taps nor closing waiting")
  func blocked() throws {
    let (stuck, other) = (Kept(), Kept())
    let gate = Promise<Void>()
    let begun = Promise<Void>()
    let test = try TestStore { configuration in
      var tap = LogTap(
        Keeper(kept: stuck) {
          begun.fulfill(())
          _ = gate.wait(atMost: .max)
        })
      tap.capacity = 4 << 10
      configuration.taps = [tap, LogTap(Keeper(kept: other))]
      configuration.tapTimeout = .milliseconds(100)
    }
    for number in 0..<2000 {
      test.log.info("number \(number)")
      if number % 20 == 0 { try test.store.flush(.archive) }
    }
    _ = begun.wait(atMost: .max)
    try test.store.flush(.archive)
    #expect(test.store.statistics.missedByTaps > 1000)
    while other.messages.count < 2000 { sched_yield() }
    let archived = try test.closeAndRead().messages
    #expect(archived.count == 2000 && other.messages == archived)
    #expect(test.store.statistics.missedByTaps == 2000, "with those that it has not written")
    gate.fulfill(())
  }

  @Test("what taps have not written when a store stops waiting for them counts as missed")
  func unwrittenAtClosing() throws {
    let (gate, begun) = (Promise<Void>(), Promise<Void>())
    let stuck = Keeper(kept: Kept()) { _ = gate.wait(atMost: .max) }
    var edited = LogTap(
      Keeper(kept: Kept()) {
        begun.fulfill(())
        _ = gate.wait(atMost: .max)
      })
    edited.edit = { $0["drop"] == nil }
    let test = try TestStore { [edited] in
      $0.taps = [edited, LogTap(stuck), LogTap(stuck)]
      $0.tapTimeout = .milliseconds(100)
    }
    test.log.info("left out", metadata: ["drop": true])
    for message in ["first", "second"] { test.log.info("\(message, privacy: .public)") }
    try test.store.flush(.archive)
    _ = begun.wait(atMost: .max)
    try test.store.close()
    #expect(test.store.statistics.missedByTaps == 2 + 3 + 3)
    gate.fulfill(())
  }

  @Test("when a tap goes on, all records are named that it has missed until then")
  func missedWhileFailing() async throws {
    struct Refusal: Error {}
    let (kept, isOpen) = (Kept(), LockedValue(false))
    let test = try TestStore { configuration in
      var tap = LogTap(Keeper(kept: kept) { if !isOpen.withLock({ $0 }) { throw Refusal() } })
      tap.capacity = 1 << 10
      configuration.taps = [tap]
    }
    var events = test.store.events.makeAsyncIterator()
    test.log.info("first")
    try await test.store.flush(.archive)
    while let event = await events.next() { if case .tapFailed = event { break } }
    for number in 0..<1000 {
      test.log.info("number \(number)")
      if number % 10 == 0 { try await test.store.flush(.archive) }
    }
    try await test.store.flush(.archive)
    isOpen.withLock { $0 = true }
    var named: UInt64 = 0
    while let event = await events.next() {
      if case .tapResumed(_, let count) = event {
        named = count
        break
      }
    }
    // Nothing was logged since.
    #expect(named == test.store.statistics.missedByTaps && named > 500)
    try await test.store.close()
  }

  @Test("a tap that throws is tried again, and then goes on behind the record, which is counted")
  func throwing() async throws {
    struct Refusal: Error {}
    let kept = Kept()
    let tries = LockedValue(0)
    let test = try TestStore { configuration in
      configuration.taps = [
        LogTap(
          Keeper(kept: kept) {
            let count = tries.withLock {
              $0 += 1
              return $0
            }
            if count <= 10 { throw Refusal() }
          })
      ]
    }
    var events = test.store.events.makeAsyncIterator()
    test.log.info("refused")
    test.log.info("taken")
    try await test.store.flush(.archive)
    var reports: [String] = []
    while reports.count < 2, let event = await events.next() {
      switch event {
      case .tapFailed(let tap, let error): reports.append("\(tap) \(error is Refusal)")
      case .tapResumed(let tap, let missed): reports.append("\(tap) \(missed)")
      default: break
      }
    }
    try await test.store.close()
    #expect(reports == ["Keeper true", "Keeper 1"])
    #expect(kept.messages == ["taken"] && kept.missing.withLock { $0 } == 1)
    #expect(test.store.statistics.missedByTaps == 1)
  }
}
