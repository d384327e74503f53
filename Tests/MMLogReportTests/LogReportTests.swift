import Foundation
import MMLogFormat
import MMLogReader
import TestSupport
import Testing

@testable import MMLogReport

@Suite("The data of a page") struct LogReportTests {
  private typealias Object = [String: Any]

  /// The data of a report of files.
  private func data(
    _ paths: [String], since: Timestamp? = nil, until: Timestamp? = nil,
    stack: @escaping (CrashReport) -> [String] = { _ in ["a frame"] }
  ) throws -> Object {
    var filter = LogReader.Filter()
    (filter.since, filter.until) = (since, until)
    var report = LogReport(zone: .utc, of: filter, stack: stack)
    for item in LogReader(paths: paths, filter: filter) { report.add(item) }
    var buffer = TextBuffer()
    report.append(made: 0, to: &buffer)
    let page = buffer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    let start = try #require(page.range(of: #"id="data">"#)).upperBound
    let end = try #require(page.range(of: "</script>", range: start..<page.endIndex)).lowerBound
    let object = try JSONSerialization.jsonObject(with: Data(page[start..<end].utf8))
    return try #require(object as? Object)
  }

  private func sessions(_ data: Object) throws -> [Object] {
    try #require(data["sessions"] as? [Object])
  }

  /// A session that logged at its beginning, and was aborted half an hour later.
  private func crashed(_ session: UInt64, at time: Timestamp) -> TestLog {
    let log = TestLog(session: session)
    log.write("last words", ticks: 5)
    let crash = CrashReport.bytes(frames: [], registers: 0, module: "/bin/orders") {
      $0.store(time, CrashLayout.wall)
    }
    log.put(crash, at: RingLayout.crash)
    return log
  }

  @Test("a session ends when it crashed, though it logged last before") func crashTime() throws {
    let log = crashed(1, at: TestLog.epoch + 1_800_000_000_000)
    let late = try data(log.save(), since: TestLog.epoch + 1_200_000_000_000)
    #expect(try sessions(late).count == 1, "the time that is asked for has the crash")
    let data = try data(log.save())
    let session = try #require(try sessions(data).first)
    let epoch = Double(TestLog.epoch.nanosecondsSince1970) / 1e6
    #expect(session["end"] as? Double == epoch + 5e-6)
    #expect(session["ended"] as? Double == epoch + 1_800_000)
  }

  @Test("only the crashes that happened last have stacks") func stacks() throws {
    let logs = (1...25 as ClosedRange<UInt64>).map {
      // The first ones happened last.
      crashed($0, at: TestLog.epoch + 1_000_000_000 * Int64(100 - $0))
    }
    var asked = 0
    let data = try data(logs.flatMap { $0.save() }) { _ in
      asked += 1
      return ["a frame"]
    }
    #expect(asked == 20)
    let stacks = try sessions(data).filter { ($0["stack"] as? [String])?.isEmpty == false }
    let wanted = Set(logs.prefix(20).map(\.identity.session.description))
    #expect(Set(stacks.compactMap { $0["id"] as? String }) == wanted)
  }

  @Test("what limits have deleted is not missing, and a part of a record is no corruption")
  func missing() throws {
    let log = TestLog()
    log.writesRing = false
    for ticks in 1...3 as ClosedRange<UInt64> {
      if ticks > 1 { log.beginArchive() }
      log.write("x", ticks: ticks)
      log.archive()
      if ticks < 3 { log.close(nil) }
    }
    log.lose(4)
    log.write("y", ticks: 4)
    log.archive()
    log.close()
    let paths = log.save().filter { !$0.hasSuffix("-000002.mmlog") }
    #expect(paths.count == 2)
    let unfinished = TestLog(session: 2)
    let text = String(repeating: "x", count: 2000)
    unfinished.writeFragments(
      TestRecord(ticks: 1, site: unfinished.textSite, words: ValueWords.argument(.text(text))),
      partWords: 100, range: 0..<2)
    let data = try data(paths + unfinished.save())
    #expect(data["corruptionCount"] as? Int == 0)
    let missing = try #require(data["missing"] as? [[Any]])
    let sentences = missing.compactMap { $0[1] as? String }
    #expect(data["missingCount"] as? Int == sentences.count && sentences.count == 2)
    #expect(sentences.contains { $0.hasPrefix("4 records of thread 1 are missing") })
    #expect(sentences.contains { $0.contains("bytes of a record") }, "\(sentences)")
  }

  @Test("sessions are in the page that are of the time that is asked for, and its limits are")
  func timeAskedFor() throws {
    let (early, late) = (TestLog(), TestLog(session: 2))
    early.write("early", ticks: 1_000_000_000)
    late.write("late", ticks: 9_000_000_000)
    let paths = early.save() + late.save()
    let all = try data(paths)
    #expect(try sessions(all).count == 2 && all["since"] is NSNull && all["until"] is NSNull)
    let since = TestLog.epoch + 5_000_000_000
    let part = try data(paths, since: since)
    #expect(try sessions(part).map { $0["id"] as? String } == [late.identity.session.description])
    #expect(part["since"] as? Double == Double(since.nanosecondsSince1970) / 1e6)
    // It was going on then, and has no record of that time.
    let between = try data(paths, since: since, until: TestLog.epoch + 6_000_000_000)
    let found = try sessions(between)
    #expect(found.map { $0["records"] as? Int } == [0])
    #expect(found.map { $0["id"] as? String } == [late.identity.session.description])
  }

  @Test("what there is no room for has a number of its own") func tooManyToNumber() {
    var numbered = Numbered(others: "others", maximum: 2)
    #expect(
      ["a", "b", "c", "a", "d", "b", "c"].map { numbered.number(of: $0) } == [0, 1, 2, 0, 2, 1, 2])
    #expect(numbered.all == ["a", "b", "others"])
  }
}
