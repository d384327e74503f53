import Foundation
import MMLog
import MMLogAnalysis
import MMLogFormat
import MMLogReader
import TestSupport
import Testing

@Suite struct SpanOptionTests {
  /// A process that died in the middle of a query. The query is a part of an order that had ended.
  private func log() -> TestLog {
    let log = TestLog()
    let end: UInt64 = 1 << 63
    let spans: [(String, [UInt64], UInt32)] = [
      ("order 7", [0x10, 0], 1), ("query\u{1b}", [0x20, 0x10], 2),
      ("done", [0x10 | end, 1000, 0], 1),
    ]
    for (index, (text, words, thread)) in spans.enumerated() {
      log.write(
        TestRecord(
          ticks: UInt64(index + 1) * 1000, site: log.textSite, flags: .span,
          words: ValueWords.argument(.text(text)) + words), thread: thread)
    }
    log.write("other", ticks: 5000)
    log.save()
    return log
  }

  private let line =
    #"query\u{1b} (thread worker2, since 2025-11-21T09:00:00.000002000Z, "#
    + "span 0000000000000020, part of 0000000000000010)"

  @Test("ends of spans have the name of their span in the table of the most frequent")
  func topOfEnds() throws {
    let folder = TemporaryDirectory()
    let store = try LogStore(directory: folder.path, name: "test")
    let log = store.logger(label: "l")
    for _ in 0..<2 { log.begin("order").end() }
    log.begin("query").end()
    try store.close()
    let run = try decode(["top", "--json", folder.path])
    let names = try run.output.split(separator: "\n").map {
      let row = try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
      return row?["name"] as? String
    }
    #expect(Set(names) == ["order", "query", "end order", "end query"], "\(run)")
  }

  @Test("what was in flight at the last crash is reported")
  func whatWasInFlightAtTheLastCrashIsReported() throws {
    let log = log()
    let run = try decode(["crash", "-n", "1", "--utc", log.folder.path])
    #expect(run.output.contains("\nIn flight when it died:\n  \(line)\n"), "\(run.output)")
    #expect(!run.output.contains("order 7"))
  }

  @Test("what was in flight is listed with its session")
  func whatWasInFlightIsListedWithItsSession() throws {
    let log = log()
    let lines = try decode(["sessions", "--utc", log.folder.path]).output.split(separator: "\n")
    #expect(lines.count == 4 && lines.last == "  in flight when it died: \(line)")
    log.close()
    log.save()
    #expect(try decode(["sessions", log.folder.path]).output.split(separator: "\n").count == 3)
  }

  @Test("spans are found") func spansAreFound() throws {
    let log = log()
    #expect(
      try decode(["--spans-only", "--format", "message", log.folder.path]).output
        == "order 7\nquery\u{1b}\ndone\n")
    let condition = #"@span == "0000000000000010""#
    #expect(
      try decode(["-w", condition, "--format", "message", log.folder.path]).output
        == "order 7\ndone\n")
  }

  private func lines(_ arguments: String...) throws -> [String] {
    let log = log()
    let run = try decode(arguments + ["-q", "--utc", log.folder.path])
    #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
    return run.output.split(separator: "\n").map(String.init)
  }

  private let order =
    "2025-11-21T09:00:00.000001000Z    2.000 us  ok      order 7 span=0000000000000010 thread=worker1"
    .replacingOccurrences(of: "us", with: "µs")
  private let query =
    #"2025-11-21T09:00:00.000002000Z    3.000 us  open    query\u{1b} span=0000000000000020 "#
    .replacingOccurrences(of: "us", with: "µs") + "parent=0000000000000010 thread=worker2"

  @Test("spans are listed with duration outcome and parent") func spansAreListed() throws {
    #expect(try lines("spans") == [order, query])
    #expect(
      try lines("spans", "--tree").last == query.replacingOccurrences(of: "query", with: "  query"))
    #expect(try lines("spans", "--outcome", "open") == [query])
    #expect(try lines("spans", "--longer", "2us", "--outcome", "ok") == [order])
    #expect(try lines("spans", "--longer", "2.1us", "--outcome", "ok").isEmpty)
    #expect(try lines("spans", "--longest", "-n", "1") == [query])
    // An open span counts with its duration up to the death of its process.
    #expect(try lines("spans", "--longer", "2.5us") == [query])
    #expect(try lines("spans", "--shorter", "2.5us") == [order])
    let names = try lines("spans", "--names")
    #expect(
      names.count == 2 && names[1].split(separator: " ").prefix(2) == ["1", "100"]
        && names[1].hasSuffix("  2 µs      2 µs      2 µs      2 µs  (unknown)"),
      "\(names)"
    )
    let objects = try lines("spans", "--json").map {
      try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
    }
    #expect(objects.map { $0?["outcome"] as? String } == ["ok", "open"])
    #expect(objects.map { $0?["duration_nano"] as? Int } == [2000, nil])
    #expect(objects.map { $0?["age_nano"] as? Int } == [nil, 3000])
    #expect(objects.map { $0?["parent_span_id"] as? String } == [nil, "0000000000000010"])
    #expect(objects[1]?["body"] as? String == "query\u{1b}")
    let log = log()
    let none = try decode(["spans", "--longer", "1h", "--exit-code", log.folder.path])
    #expect(none.status == 4 && none.output.isEmpty)
    #expect(
      none.errors.contains("; 1 span ended, in 2.000 µs to 2.000 µs; 1 is open\n"), "\(none.errors)"
    )
    let wrong = try decode(["spans", "--longer", "soon", "x"])
    #expect(wrong.status == 2 && wrong.errors.contains("such as 250us"))
  }

  @Test(
    "what chooses or orders single spans is refused with --names",
    arguments: ["--outcome=ok", "--longer=1ms", "--shorter=1ms", "--tree", "--longest"])
  func namesAlone(option: String) throws {
    let run = try decode(["spans", "--names", option, log().folder.path])
    let name = option.prefix { $0 != "=" }
    #expect(
      run.status == 2 && run.errors.contains("\(name) has no meaning with --names"),
      "\(run.errors)")
  }

  @Test("an order of single spans is refused with --tree, which has another") func treeAlone()
    throws
  {
    let run = try decode(["spans", "--tree", "--longest", log().folder.path])
    #expect(
      run.status == 2 && run.errors.contains("--longest has no meaning with --tree"),
      "\(run.errors)")
  }

  @Test("a crash as JSON has all that is known") func aCrashAsJSON() throws {
    let text = try lines("crash", "--json")
    let crash = try #require(
      try JSONSerialization.jsonObject(with: Data(text[0].utf8)) as? [String: Any])
    #expect(text.count == 1 && crash["ending"] as? String == "powerLost")
    let inFlight = try #require(crash["in_flight"] as? [[String: Any]])
    #expect(inFlight.map { $0["span_id"] as? String } == ["0000000000000020"])
    let threads = try #require(crash["threads"] as? [[String: Any]])
    #expect(threads.map { ($0["records"] as? [[String: Any]])?.count } == [3, 1])
    #expect(threads.map { $0["thread_name"] as? String } == ["worker1", "worker2"])
  }

  @Test("of too many spans, those that took longest are kept")
  func theLongestSpansAreKept() throws {
    let folder = TemporaryDirectory()
    let store = try LogStore(directory: folder.path, name: "spans")
    let log = store.logger(label: "l")
    // Parts end before the whole: the outermost span takes longest, and ends last.
    let nested = (0..<7).map { log.begin("span \($0)") }
    for span in nested.reversed() { span.end() }
    try store.close()
    var spans = LogSpans(capacity: 2)
    for item in LogReader(paths: [folder.path]) { spans.add(item) }
    #expect(spans.list.map(\.message) == ["span 0", "span 1", "span 2"])
    #expect(spans.others == 4)
  }
}
