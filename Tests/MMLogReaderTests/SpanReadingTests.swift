import Foundation
import MMLogAnalysis
import MMLogFormat
import TestSupport
import Testing

@testable import MMLogReader

extension TestLog {
  /// Logs the beginning or the end of a span.
  fileprivate func span(
    _ text: String, _ words: [UInt64], ticks: UInt64, site: UInt32? = nil, thread: UInt32 = 1
  ) {
    write(
      TestRecord(
        ticks: ticks, site: site ?? textSite, flags: .span,
        words: ValueWords.argument(.text(text)) + words), thread: thread)
  }

  fileprivate func objects(_ formatter: some LogFormatter) throws -> [[String: Any]] {
    try format(formatter).split(separator: "\n").map {
      try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
    }
  }
}

private let end: UInt64 = 1 << 63
private let failed: UInt64 = 1 << 32

/// A span of 1.5 ms that fails, a part of it that never ends, and the end of a span that a parent
/// process began.
private func log() -> TestLog {
  let log = TestLog()
  let order = log.site(.literal("order "), .argument(type: .string, name: "id"))
  log.span("7", [0x10, 0], ticks: 1000, site: order)
  log.span("query", [0x20, 0x10], ticks: 2000, thread: 2)
  log.write("between", ticks: 3000)
  log.span("", [0x10 | end, 1000, failed | UInt64(order)], ticks: 1_501_000, thread: 2)
  log.span("of the parent", [end, 1_600_000, 0], ticks: 1_600_999)
  return log
}

@Suite struct SpanReadingTests {
  @Test("records say what begins and ends") func recordsSayWhatBeginsAndEnds() {
    let spans: [LogReader.Span?] = log().read().records.map(\.span)
    let start = TestLog.epoch + 1000
    #expect(spans.map { $0?.number } == [0x10, 0x20, nil, 0x10, nil])
    let events: [LogReader.Span.Event?] = [
      .begin(parent: nil), .begin(parent: 0x10), nil,
      .end(start: start, duration: .nanoseconds(1_500_000), failed: true),
      .end(start: TestLog.epoch + 1_600_000, duration: .nanoseconds(999), failed: false),
    ]
    #expect(spans.map { $0?.event } == events)
    // If a message has no static text, the function is the span's name.
    #expect(spans.map { $0?.name } == ["order {id}", "run()", nil, "order {id}", nil])
  }

  @Test("text shows them") func textShowsThem() {
    let place = "(App/Main.swift:7)"
    let time = "2025-11-21T09:00:00."
    #expect(
      log().format(TextFormatter(zone: .utc)) == """
        \(time)000001000Z INFO     begin order 7 span=0000000000000010 \(place)
        \(time)000002000Z INFO     begin query span=0000000000000020 parent=0000000000000010 \(place)
        \(time)000003000Z INFO     between \(place)
        \(time)001501000Z INFO     failed 1.500 ms order {id} span=0000000000000010 \(place)
        \(time)001600999Z INFO     end 999 ns of the parent \(place)

        """)
  }

  @Test(
    "durations have their unit",
    arguments: [
      (0, "0 ns"), (1000, "1.000 µs"), (999_999, "999.999 µs"), (1_000_000_000, "1.000 s"),
      (7_000_000_000_123_999_999, "7000000000.123 s"),
    ] as [(Int64, String)])
  func durationsHaveTheirUnit(duration: Int64, text: String) {
    let log = TestLog()
    log.span("x", [end | 1, 0, 0], ticks: UInt64(duration))
    #expect(log.format(TextFormatter(zone: .utc)).contains(" end \(text) x span="))
  }

  @Test("json has open telemetrys names") func jsonHasOpenTelemetrysNames() throws {
    let objects = try log().objects(JSONFormatter(zone: .utc))
    let keys = ["span_id", "span_event", "parent_span_id", "span_name"]
    let texts = objects.map { object in keys.map { object[$0] as? String } }
    #expect(
      texts == [
        ["0000000000000010", "begin", nil, "order {id}"],
        ["0000000000000020", "begin", "0000000000000010", "run()"], [nil, nil, nil, nil],
        ["0000000000000010", "end", nil, "order {id}"], [nil, "end", nil, nil],
      ])
    #expect(objects.map { $0["span_failed"] as? Bool } == [nil, nil, nil, true, nil])
    #expect(
      objects[3]["start_time_unix_nano"] as? Int64
        == (TestLog.epoch + 1000).nanosecondsSince1970)
    #expect(objects[3]["duration_nano"] as? Int64 == 1_500_000)
  }

  @Test("logfmt has them as keys") func logfmtHasThemAsKeys() {
    let lines = log().format(LogfmtFormatter(zone: .utc)).split(separator: "\n")
    #expect(
      lines[1].contains(
        " span=0000000000000020 span_event=begin span_name=run() parent_span=0000000000000010 "))
    #expect(
      lines[3].contains(
        " span_event=end span_name=\"order {id}\" duration_ns=1500000 span_failed=true "))
    #expect(!lines[2].contains("span"))
  }

  @Test("tables have them in their last columns") func tablesHaveThemInTheirLastColumns() {
    let rows = log().format(TableFormatter(.tsv, zone: .utc)).split(separator: "\n").map {
      $0.split(separator: "\t", omittingEmptySubsequences: false).suffix(9).joined(separator: "|")
    }
    #expect(
      rows == [
        "flight|span_id|span_event|parent_span_id|start_time_unix_nano|duration_nano"
          + "|span_name|span_failed|trace_id",
        "|0000000000000010|begin||||order {id}||",
        "|0000000000000020|begin|0000000000000010|||run()||", "||||||||",
        "|0000000000000010|end||1763715600000001000|1500000|order {id}|true|",
        "||end||1763715600001600000|999|||",
      ])
  }

  @Test("templates have names for them") func templatesHaveNamesForThem() throws {
    let template = try TextTemplate(
      "{span}|{span_event} {span_name}|{parent_span}|{duration}|{duration_ns}|{span_failed}")
    #expect(
      log().format(TemplateFormatter(template, zone: .utc)) == """
        0000000000000010|begin order {id}||||
        0000000000000020|begin run()|0000000000000010|||
        | ||||
        0000000000000010|end order {id}||1.500 ms|1500000|failed
        |end ||999 ns|999|

        """)
  }

  @Test("the name of a span in trace events is the first 200 characters of its message")
  func namesInTraceEventsAreShort() throws {
    let log = TestLog()
    let text = "\"é" + String(repeating: "x", count: 1000)
    log.span(text, [0x10, 0], ticks: 1)
    log.span("its end", [0x10 | end, 1, 0], ticks: 2)
    log.span(text, [0x20 | end, 1, 0], ticks: 3)
    let trace = log.format(ChromeFormatter(zone: .utc))
    let object = try JSONSerialization.jsonObject(with: Data(trace.utf8)) as? [String: Any]
    let events = try #require(object?["traceEvents"] as? [[String: Any]])
    let names = events.filter { $0["ph"] as? String != "M" }.map { $0["name"] as? String }
    #expect(names == Array(repeating: String(text.prefix(200)), count: 4))
  }

  @Test("otlp has them as span ids, and those that are parts of one in its trace")
  func otlpHasThemAsSpanIDs() throws {
    let text = log().format(OTLPFormatter())
    _ = try JSONSerialization.jsonObject(with: Data(text.utf8))
    let session = log().identity.session.description
    let trace = session.prefix(16) + "0000000000000010"
    for span in ["10", "20"] {
      #expect(text.contains(#""traceId":"\#(trace)","spanId":"00000000000000\#(span)"}"#))
    }
    #expect(text.contains(#"{"key":"span.parent_id","value":{"stringValue":"0000000000000010"}}"#))
    #expect(text.contains(#"{"key":"span.duration_nano","value":{"intValue":"1500000"}}"#))
    #expect(text.components(separatedBy: "spanId").count == 4)
    #expect(text.components(separatedBy: #"{"key":"span.name","value""#).count == 4)
    let status = #"{"key":"otel.status_code","value":{"stringValue":"ERROR"}}"#
    #expect(text.components(separatedBy: status).count == 2)
  }

  @Test("otlp has what begins behind the end of its parent in the parent's trace")
  func otlpHasLateChildrenInTheirTrace() {
    let log = TestLog()
    log.span("outer", [0x10, 0], ticks: 1)
    log.span("inner", [0x20, 0x10], ticks: 2)
    log.span("", [0x20 | end, 2, 0], ticks: 3)
    log.span("late", [0x30, 0x20], ticks: 4)
    let trace = log.identity.session.description.prefix(16) + "0000000000000010"
    let text = log.format(OTLPFormatter())
    #expect(text.components(separatedBy: #""traceId":"\#(trace)""#).count == 5)
  }

  @Test("traces have bars for them") func tracesHaveBarsForThem() throws {
    let log = log()
    log.span("cut off", [0x30 | end, 1_700_000, 0], ticks: 1_800_000)
    let text = log.format(ChromeFormatter(zone: .utc))
    let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
    let events = try #require(object?["traceEvents"] as? [[String: Any]])
    let bars = events.filter { ["b", "e"].contains($0["ph"] as? String) }
    let found = bars.map { event in
      let number = (event["id2"] as? [String: Any])?["local"] as? String
      return
        "\(event["ph"] ?? "") \(number?.suffix(2) ?? "") \(event["name"] ?? "") \(event["ts"] ?? "")"
    }
    #expect(
      found == [
        "b 10 order 7 0.0", "b 20 query 1.0", "e 10 order 7 1500.0", "b 30 cut off 1699.0",
        "e 30 cut off 1799.0",
      ])
    #expect(events.filter { $0["ph"] as? String == "i" }.count == 2)
  }

  @Test("what never ended is listed") func whatNeverEndedIsListed() throws {
    let log = log()
    let paths = log.save()
    let files = LogFiles(paths.map { .path($0) })
    let session = try #require(files.lastCrashedSession())
    let spans = files.openSpans(of: session.id)
    #expect(spans.begun == 2 && spans.ended == 1 && spans.count == 1)
    let open = try #require(spans.list.first)
    #expect(open.message == "query" && open.number == 0x20 && open.parent == 0x10)
    #expect(open.thread == "worker2" && open.time == TestLog.epoch + 2000)
  }

  @Test("reading what never ended stops between chunks, where nobody wants it any more")
  func readingWhatNeverEndedStops() throws {
    let log = log()
    let files = LogFiles(log.save().map { .path($0) })
    let session = try #require(files.lastCrashedSession())
    var count = 0
    let none = files.openSpans(of: session.id) {
      count += 1
      return false
    }
    #expect(none.begun == 0 && count == 1)
    #expect(files.openSpans(of: session.id, while: { true }).begun == 2)
  }

  @Test("filters find them") func filtersFindThem() throws {
    var filter = LogReader.Filter()
    filter.spansOnly = true
    #expect(log().read(filter).messages == ["order 7", "query", "", "of the parent"])
    filter = LogReader.Filter()
    filter.conditions = [try FieldCondition(#"@span == "0000000000000010""#)]
    #expect(log().read(filter).messages == ["order 7", ""])
    filter.conditions = [try FieldCondition("@span")]
    #expect(log().read(filter).messages == ["order 7", "query", ""])
    for (condition, found) in [
      ("@duration == 1500us", [""]), ("@duration >= 1.5ms && @duration < 1.6ms", [""]),
      ("@duration < 1.5ms", ["of the parent"]), ("@duration", ["", "of the parent"]),
      ("@span_name == 'order {id}'", ["order 7", ""]), ("@span_name ~ '^run'", ["query"]),
      ("@span == 10", []), ("@span == 0000000000000010", ["order 7", ""]),
    ] {
      filter.conditions = [try FieldCondition(condition)]
      #expect(log().read(filter).messages == found, "\(condition)")
    }
    filter.conditions = [try FieldCondition("!@span")]
    #expect(log().read(filter).messages == ["between", "of the parent"])
  }

  @Test("statistics count them") func statisticsCountThem() {
    var statistics = LogStatistics(zone: .utc)
    for record in log().read().records { statistics.add(.record(record)) }
    var text = TextBuffer()
    statistics.appendText(to: &text)
    var json = TextBuffer()
    statistics.appendJSON(to: &json)
    let (lines, object) = (
      text.withUnsafeBytes { String(decoding: $0, as: UTF8.self) },
      json.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    )
    #expect(lines.contains("2 spans begun, 1 ended, the longest after 1.500 ms: order 7\n"))
    #expect(object.contains(#""spans":{"begun":2,"ended":1,"longest_nano":1500000}"#))
  }

  @Test("archives have them in columns") func archivesHaveThemInColumns() throws {
    let log = log()
    let before = log.read().records.map(\.span)
    log.archive(isInColumns: true)
    log.writesRing = false
    #expect(log.read().records.map(\.span) == before)
  }

  /// The record has the flag of a span, but too few words, or words without a meaning.
  @Test("missing words are corruption", arguments: [[], [1], [1 | 1 << 63, 2]] as [[UInt64]])
  func missingWordsAreCorruption(words: [UInt64]) {
    let log = TestLog()
    log.span("x", words, ticks: 1)
    let reading = log.read()
    #expect(reading.records.isEmpty && reading.corruption.count == 1)
  }

  @Test("any ticks are accepted") func anyTicksAreAccepted() {
    let log = TestLog()
    log.span("future", [end | 1, .max, .max], ticks: 5)
    log.span("more", [end | 2, 6, 7, 8], ticks: 6)
    let spans = log.read().records.compactMap(\.span)
    #expect(spans.map(\.number) == [1, 2])
    guard case .end(_, let duration, _) = spans[0].event else {
      Issue.record("no end")
      return
    }
    #expect(duration == .zero && spans[0].name == nil)
    _ = log.format(TextFormatter(zone: .utc)) + log.format(ChromeFormatter(zone: .utc))
  }

  @Test("as many spans are open as have begun and not ended, also where not all are kept")
  func manyOpenSpans() {
    let log = TestLog()
    for number in 1...5 as ClosedRange<UInt64> { log.span("", [number, 0], ticks: number) }
    for number in 1...5 as ClosedRange<UInt64> {
      log.span("", [number | end, 1, 0], ticks: 10 + number)
    }
    // This ends a span whose beginning was not read.
    log.span("", [6 | end, 1, 0], ticks: 20)
    var spans = OpenSpans()
    spans.maximum = 3
    var (counts, notKept) = ([Int](), [Int]())
    for record in log.read().records {
      spans.add(record)
      counts.append(spans.count)
      notKept.append(spans.countNotKept)
    }
    #expect(counts == [1, 2, 3, 4, 5, 4, 3, 2, 1, 0, 0] && spans.ended == 5)
    #expect(notKept == [0, 0, 0, 1, 2, 2, 2, 2, 1, 0, 0])
  }
}
