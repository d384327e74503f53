import Foundation
import MMLog
import MMLogDestinations
import MMLogReader
import MMLogShipping
import TestSupport
import Testing

@Suite("Destinations") struct DestinationTests {
  private struct Line: Decodable {
    let body: String
    let log_record_uid: String
    let severity_text: String
    let time_unix_nano: Int64
  }

  private func lines(_ data: Data) throws -> [Line] {
    try data.split(separator: 10).map { try JSONDecoder().decode(Line.self, from: Data($0)) }
  }

  @Test("lines have each record once with its id, and the request the batch's")
  func jsonLines() async throws {
    let server = try TestReceiver()
    let made = try TestBatch { log, _ in for i in 0..<100 { log.info("line \(i)") } }
    let answer = try await LinesDestination(url: "\(server.url)/logs").send(made.batch)
    #expect(answer.refused.isEmpty && answer.refusedUnnamed == 0)
    let request = try #require(try server.requests.first)
    #expect(request.headers["idempotency-key"] == made.batch.id)
    #expect(request.headers["content-type"] == "application/x-ndjson")
    #expect(request.size < request.body.count)
    let received = try lines(request.body)
    #expect(received.map(\.log_record_uid) == made.ids)
    #expect(received.map(\.body) == (0..<100).map { "line \($0)" })
  }

  @Test("a gap of which nobody knows the time has that of the record behind it")
  func gapTime() async throws {
    let made = try TestBatch(gaps: [TestBatch.gap])
    let server = try TestReceiver()
    _ = try await LinesDestination(url: server.url).send(made.batch)
    let request = try #require(try server.requests.first)
    let times = try lines(request.body).map(\.time_unix_nano)
    #expect(times == Array(repeating: made.records[0].time.nanosecondsSince1970, count: 2))
  }

  @Test("an answer that is too large waits for somebody, or for a smaller batch if that helps")
  func largeAnswer() async throws {
    let made = try TestBatch()
    let server = try TestReceiver([PlannedAnswer(fault: "large")])
    var settings = HTTPSettings()
    settings.maximumResponse = 1 << 20
    let all: [(any LogDestination, DeliveryError.Remedy)] = [
      (LinesDestination(url: server.url, settings: settings), .waitForAction),
      (ElasticsearchDestination(url: server.url, settings: settings), .makeSmaller),
    ]
    for (destination, remedy) in all {
      let error = await #expect(throws: DeliveryError.self) {
        _ = try await destination.send(made.batch)
      }
      #expect(error?.remedy == remedy && error?.message.contains("is larger than") == true)
    }
  }

  @Test("the page of something else than the destination acknowledges nothing")
  func foreignPage() async throws {
    let made = try TestBatch()
    let page = PlannedAnswer(
      headers: ["Content-Type": "text/html; charset=utf-8"],
      body: Data("\n<!DOCTYPE html><title>Sign in</title>".utf8))
    let server = try TestReceiver([page])
    let all: [any LogDestination] = [
      LinesDestination(url: server.url), OTLPDestination(url: server.url),
      LokiDestination(url: server.url), ClickHouseDestination(url: server.url, table: "logs"),
      ElasticsearchDestination(url: server.url),
    ]
    for destination in all {
      let error = await #expect(throws: DeliveryError.self) {
        _ = try await destination.send(made.batch)
      }
      #expect(error?.remedy == .tryAgain(after: nil), "\(destination)")
      #expect(error?.message.contains("a page of HTML") == true)
      #expect(error?.message.contains(server.url) == true)
    }
  }

  @Test("an answer with the type of a page that is none is an acknowledgement of lines")
  func plainAnswer() async throws {
    let made = try TestBatch()
    let server = try TestReceiver(
      ["", "ok"].map {
        PlannedAnswer(headers: ["Content-Type": "text/html"], body: Data($0.utf8))
      })
    for _ in 0..<2 { _ = try await LinesDestination(url: server.url).send(made.batch) }
  }

  @Test("a success of ClickHouse has no body")
  func answerOfNoClickHouse() async throws {
    let made = try TestBatch()
    let server = try TestReceiver([PlannedAnswer(body: Data("welcome".utf8))])
    let error = await #expect(throws: DeliveryError.self) {
      _ = try await ClickHouseDestination(url: server.url, table: "logs").send(made.batch)
    }
    #expect(error?.remedy == .tryAgain(after: nil))
    #expect(error?.message.contains("something else than ClickHouse") == true)
  }

  @Test("Elasticsearch takes a batch by saying that there are no errors, and by nothing else")
  func answerOfNoElasticsearch() async throws {
    let made = try TestBatch()
    let texts = [
      #"{"status":"welcome"}"#, #"{"error":{"reason":"down"},"status":503}"#, "{}", "[]", "1",
      #"{"errors":null}"#, #"{"errors":"false"}"#, #"{"errors":true}"#,
      #"{"errors":true,"items":[]}"#, #"{"errors":true,"items":{"create":{"status":201}}}"#,
    ]
    let server = try TestReceiver(
      (texts + [#"{"errors":false}"#]).map { PlannedAnswer(body: Data($0.utf8)) })
    let destination = ElasticsearchDestination(url: server.url)
    for text in texts {
      let error = await #expect(throws: DeliveryError.self, "\(text)") {
        _ = try await destination.send(made.batch)
      }
      #expect(error?.remedy == .tryAgain(after: nil), "\(text)")
    }
    #expect(try await destination.send(made.batch).refused.isEmpty)
  }

  @Test("what an index of Elasticsearch refuses of all documents waits for somebody")
  func indexErrors() async throws {
    let made = try TestBatch { log, _ in for index in 0..<2 { log.info("line \(index)") } }
    let cases: [(type: String, reason: String, isOfIndex: Bool)] = [
      ("index_closed_exception", "closed", true),
      ("validation_exception", "Validation Failed: 1: this action would add [2] shards", true),
      ("illegal_argument_exception", "no write index is defined for alias [logs]", true),
      ("illegal_argument_exception", "Validation Failed: 1: this action would add [2]", true),
      ("illegal_argument_exception", "pipeline with id [logs] does not exist", true),
      (
        "illegal_argument_exception",
        "Number of documents in the index can't exceed [2147483519]", true
      ),
      ("some_new_exception", "the same of each", true),
      ("illegal_argument_exception", "Document contains at least one immense term", false),
      ("document_parsing_exception", "failed to parse field [a]", false),
      ("mapper_parsing_exception", "failed to parse field [a]", false),
    ]
    func item(_ type: String, _ reason: String) -> String {
      #"{"create":{"status":400,"error":{"type":"\#(type)","reason":"\#(reason)"}}}"#
    }
    func answer(_ items: [String]) -> PlannedAnswer {
      PlannedAnswer(
        body: Data(#"{"errors":true,"items":[\#(items.joined(separator: ","))]}"#.utf8))
    }
    let taken = #"{"create":{"status":201}}"#
    let server = try TestReceiver(
      cases.map { answer([item($0.type, $0.reason), item($0.type, $0.reason)]) }
        + [answer([item("some_new_exception", "of one"), taken])])
    let destination = ElasticsearchDestination(url: server.url)
    for (type, reason, isOfIndex) in cases {
      if !isOfIndex {
        let answer = try await destination.send(made.batch)
        #expect(answer.refused.map(\.index) == [0, 1], "\(type)")
        continue
      }
      let error = await #expect(throws: DeliveryError.self, "\(type)") {
        _ = try await destination.send(made.batch)
      }
      #expect(error?.remedy == .waitForAction && error?.message.contains(reason) == true)
    }
    #expect(try await destination.send(made.batch).refused.map(\.index) == [0])
  }

  @Test("a gap that Elasticsearch refuses is said")
  func refusedGap() async throws {
    let made = try TestBatch(gaps: [TestBatch.gap])
    let body =
      #"{"errors":true,"items":[{"create":{"status":400,"error":{"type":"t","reason":"r"}}},"#
      + #"{"create":{"status":201}}]}"#
    let server = try TestReceiver([PlannedAnswer(body: Data(body.utf8))])
    let answer = try await ElasticsearchDestination(url: server.url).send(made.batch)
    #expect(answer.refused.isEmpty && answer.gapRefusal == "400: t: r")
  }

  @Test("each status has its remedy")
  func statuses() async throws {
    let made = try TestBatch()
    let expected: [(Int, [String: String], DeliveryError.Remedy)] = [
      (400, [:], .halve), (422, [:], .halve), (413, [:], .makeSmaller),
      (401, [:], .waitForAction), (403, [:], .waitForAction), (404, [:], .waitForAction),
      (301, ["Location": "https://elsewhere/"], .waitForAction),
      (500, [:], .tryAgain(after: nil)), (503, ["Retry-After": "7"], .tryAgain(after: .seconds(7))),
      (429, ["Retry-After": "nonsense"], .tryAgain(after: nil)),
      (503, ["Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT"], .tryAgain(after: .zero)),
      (503, ["Retry-After": "99999999999"], .tryAgain(after: .seconds(86_400))),
      // The server's clock may be wrong, but both times are from that clock.
      (
        503,
        [
          "Date": "Sun, 06 Nov 1994 08:49:30 GMT", "Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT",
        ], .tryAgain(after: .seconds(7))
      ),
    ]
    let server = try TestReceiver(
      expected.map {
        PlannedAnswer(status: $0.0, headers: $0.1, body: Data("the\nreason".utf8))
      })
    let destination = LinesDestination(url: "\(server.url)/?key=private")
    for (status, headers, remedy) in expected {
      let error = await #expect(throws: DeliveryError.self) {
        try await destination.send(made.batch)
      }
      #expect(error?.remedy == remedy, "\(status) \(headers)")
      #expect(error?.message.contains("private") == false)
      #expect(error?.message.contains("the\nreason") == false)
    }
  }

  @Test("what a server says is cut, however few characters it is to people")
  func longWords() async throws {
    let body = Data(("e" + String(repeating: "\u{301}", count: 100_000)).utf8)
    let server = try TestReceiver([PlannedAnswer(status: 500, body: body)])
    let error = await #expect(throws: DeliveryError.self) {
      try await LinesDestination(url: server.url).send(TestBatch().batch)
    }
    #expect((600...1000).contains(error?.message.utf8.count ?? 0))
  }

  @Test("a URL that paths are put behind has no query, and none has a password")
  func queries() throws {
    for kind in ["otlp", "elasticsearch", "opensearch", "loki", "put"] {
      for end in ["?key=private", "/path#private", "/?\u{301}private"] {
        let error = #expect(throws: SettingError.self, "\(kind) \(end)") {
          try DestinationURL("\(kind)+http://host:1\(end)")
        }
        #expect(error?.description.contains("private") == false)
        #expect(error?.description.contains("query") == true, "\(error as Any)")
      }
    }
    for url in ["clickhouse+http://host/?database=x", "http://host/path?x=y", "s3://bucket/a?b"] {
      #expect(throws: Never.self) { try DestinationURL(url) }
    }
    for url in ["http://me:private@\u{301}host/", "http://host/?password=\u{301}private"] {
      #expect(throws: SettingError.self, "\(url)") { try DestinationURL(url) }
    }
    #expect(
      try DestinationURL("s3://bucket/\u{301}a") == .s3(bucket: "bucket", prefix: "\u{301}a"))
  }

  @Test("secrets and labels that cannot be are refused as settings")
  func refusedSettings() throws {
    let (loki, kafka) = ("loki+http://host:1", "kafka://host:1/topic")
    let refused: [(url: String, name: String, value: String, words: String)] = [
      (loki, "header", "DD-API-KEY: private", "header-file"),
      (loki, "header", "x-honeycomb-team: private", "header-file"),
      (loki, "header", "Cookie: private", "header-file"),
      (loki, "header", "X-Auth-Token: private", "header-file"),
      (kafka, "property", "sasl.password=private", "property-file"),
      (kafka, "property", "ssl.key.pem=private", "ssl.key.location"),
      (kafka, "property-file", "ssl.key.pem=/private", "ssl.key.location"),
      (kafka, "property", "delivery.report.only.error=true", "report"),
      (kafka, "property-file", "delivery.report.only.error=/private", "report"),
      (loki, "stream-label", "my-env=private", "digit"),
      (loki, "stream-label", "1env=private", "digit"),
      (loki, "stream-label", "host_name=private", "already"),
      (loki, "stream-label", "env = private", "twice"),
    ]
    for (url, name, value, words) in refused {
      var settings = DestinationSettings(url: try DestinationURL(url))
      if url == loki { try settings.set("stream-label", "env=prod") }
      let error = #expect(throws: SettingError.self, "\(name) \(value)") {
        try settings.set(name, value)
      }
      #expect(error?.description.contains(words) == true, "\(error as Any)")
      #expect(error?.description.contains("private") == false)
    }
    var settings = DestinationSettings(url: try DestinationURL(loki))
    try settings.set("header", "X-Scope-OrgID: tenant1")
    try settings.set("stream-label", "_env2=prod")
  }

  @Test("destinations that have one name are told apart by all that says where they are")
  func targets() throws {
    func target(_ url: String, _ settings: (String, String)...) throws -> String {
      var all = DestinationSettings(url: try DestinationURL(url))
      for (name, value) in settings { try all.set(name, value) }
      return all.target
    }
    let clickHouse = "clickhouse+http://h:1"
    let same = [
      try target(clickHouse), try target("clickhouse+https://h:1/"),
      try target(clickHouse, ("table", "logs")), try target(clickHouse, ("user", "me")),
      try target("\(clickHouse)?async_insert=0"),
    ]
    #expect(Set(same).count == 1)
    let others = [
      try target(clickHouse, ("table", "other")), try target("\(clickHouse)/?database=other"),
      try target("\(clickHouse)/path"), try target("http://h:1"), try target("http://h:1/a"),
      try target("http://h:1/?a=b"), try target("elasticsearch+http://h:1"),
      try target("elasticsearch+http://h:1", ("index", "other")), try target("loki+http://h:1"),
      try target("loki+http://h:1", ("header", "X-Scope-OrgID: other")),
      try target("kafka://h:1/topic"), try target("kafka://h:1/other"), try target("exec:a b"),
      try target("exec:a > b"), try target("http://h:1", ("unix-socket", "/run/a")),
      try target("http://h:1", ("unix-socket", "/run/b")),
    ]
    #expect(Set(others + same).count == others.count + 1)
  }

  @Test("cursors of earlier versions have the same hash of their destination")
  func oldTargets() throws {
    let settings = DestinationSettings(url: try DestinationURL("exec:cat >/dev/null"))
    #expect(settings.target == "d6e747e52929b8f3")
  }

  @Test("a command gets the batch, and its status says what became of it")
  func command() async throws {
    let folder = TemporaryDirectory()
    let made = try TestBatch { log, _ in for i in 0..<5000 { log.info("line \(i)") } }
    let output = "\(folder.path)/output"
    let good = CommandDestination(command: "cat >'\(output)'; echo $MMLOG_BATCH >'\(output).id'")
    _ = try await good.send(made.batch)
    let data = try Data(contentsOf: URL(filePath: output))
    #expect(try lines(data).map(\.log_record_uid) == made.ids)
    #expect(try String(contentsOfFile: "\(output).id", encoding: .utf8) == "\(made.batch.id)\n")

    for (command, remedy, words) in [
      (
        "cat >/dev/null; echo no such table >&2; exit 65", DeliveryError.Remedy.halve,
        "no such table"
      ),
      ("cat >/dev/null; exit 1", .tryAgain(after: nil), "status 1"),
      ("true", .tryAgain(after: nil), "before it had read"),
      ("kill -9 $$", .tryAgain(after: nil), "signal 9"),
      ("/nowhere/program", .waitForAction, "cannot be run"),
    ] {
      let error = await #expect(throws: DeliveryError.self) {
        try await CommandDestination(command: command).send(made.batch)
      }
      #expect(error?.remedy == remedy, "\(command)")
      #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
    }
  }

  @Test("a command that does not end is killed with its children, after its time or when canceled")
  func endlessCommand() async throws {
    let made = try TestBatch()
    let folder = TemporaryDirectory()
    func command(_ mark: String) -> String {
      "sleep 600 & echo $! >'\(mark)'; cat >/dev/null; wait"
    }
    let short = CommandDestination(
      command: command(folder("first")), timeout: .milliseconds(300))
    let error = await #expect(throws: DeliveryError.self) { try await short.send(made.batch) }
    #expect(error?.message.contains("longer than") == true)
    let mark = folder("second")
    let long = CommandDestination(command: command(mark), timeout: .seconds(3600))
    let task = Task { try await long.send(made.batch) }
    func text(_ path: String) -> String {
      (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    }
    while !text(mark).hasSuffix("\n") { try await Task.sleep(for: .milliseconds(2)) }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    let child = text(mark).dropLast()
    // What has sent the signal does not wait for its end.
    let isGone = eventually {
      let status = text("/proc/\(child)/status")
      return status.isEmpty || status.contains("Z (zombie)")
    }
    #expect(isGone)
  }

  @Test("what a receiver of OTLP refuses of a request is counted with its reason")
  func partialSuccess() async throws {
    // ExportLogsServiceResponse { partial_success { rejected_log_records: 300, error_message: "old"
    // } }
    let inner: [UInt8] = [0x08, 0xAC, 0x02, 0x12, 3] + Array("old".utf8)
    let partial = Data([0x0A, UInt8(inner.count)] + inner)
    let bodies = [partial, partial.prefix(4), Data([0xFF, 0xFF, 0xFF]), Data("{}".utf8), Data()]
    let server = try TestReceiver(bodies.map { PlannedAnswer(body: $0) })
    let made = try TestBatch()
    for (index, _) in bodies.enumerated() {
      let answer = try await OTLPDestination(url: server.url).send(made.batch)
      #expect(answer.refusedUnnamed == (index == 0 ? 300 : 0))
      #expect(answer.reason == (index == 0 ? "old" : ""))
    }
    #expect(try server.requests.allSatisfy { $0.path == "/v1/logs" })
    #expect(try server.requests.first?.headers["content-type"] == "application/x-protobuf")
  }

  @Test(
    "a receiver of OTLP that takes no spans is named, also by a check", arguments: [404, 405, 501])
  func withoutSpans(status: Int) async throws {
    let made = try TestBatch { log, _ in log.begin("span").end("done") }
    let answers = [PlannedAnswer(), PlannedAnswer(status: status)]
    let (sending, checking) = (try TestReceiver(answers), try TestReceiver(answers))
    let sent = await #expect(throws: DeliveryError.self) {
      _ = try await OTLPDestination(url: sending.url).send(made.batch)
    }
    let checked = await #expect(throws: DeliveryError.self) {
      try await OTLPDestination(url: checking.url).check()
    }
    for error in [sent, checked] {
      #expect(error?.remedy == .waitForAction, "\(error as Any)")
      #expect(error?.message.contains("set spans = no") == true, "\(error as Any)")
    }
    let logs = try TestReceiver(answers)
    try await OTLPDestination(url: logs.url, sendsSpans: false).check()
    #expect(try logs.requests.count == 1)
  }

  @Test("a server that refuses a request without lines answers a check, and takes lines")
  func withoutLines() async throws {
    for status in [400, 422] {
      let server = try TestReceiver([PlannedAnswer(status: status), PlannedAnswer()])
      let destination = LinesDestination(url: server.url)
      try await destination.check()
      #expect(try await destination.send(TestBatch().batch).refused.isEmpty)
    }
    let server = try TestReceiver([PlannedAnswer(status: 404)])
    await #expect(throws: DeliveryError.self) {
      try await LinesDestination(url: server.url).check()
    }
  }

  @Test("what a server that does not know gzip answers names the setting")
  func withoutGzip() async throws {
    let server = try TestReceiver([PlannedAnswer(status: 415)])
    let error = await #expect(throws: DeliveryError.self) {
      _ = try await LinesDestination(url: server.url).send(TestBatch().batch)
    }
    #expect(error?.remedy == .waitForAction)
    #expect(error?.message.contains("set compression = none") == true, "\(error as Any)")
  }

  @Test(
    "logs that were taken do not go again because their spans were not, and the bytes are the same")
  func spansAlone() async throws {
    let server = try TestReceiver([
      PlannedAnswer(status: 503), PlannedAnswer(), PlannedAnswer(status: 503), PlannedAnswer(),
    ])
    let made = try TestBatch { log, _ in
      let outer = log.begin("outer")
      let inner = log.begin("inner", in: outer)
      inner.end("done")
      outer.end("done")
    }
    let destination = OTLPDestination(url: server.url)
    for _ in 0..<2 {
      await #expect(throws: DeliveryError.self) {
        _ = try await destination.send(made.batch)
      }
    }
    _ = try await destination.send(made.batch)
    let requests = try server.requests
    #expect(requests.map(\.path) == ["/v1/logs", "/v1/logs", "/v1/traces", "/v1/traces"])
    #expect(requests[0].body == requests[1].body)
    #expect(requests[2].body == requests[3].body)
  }
}
