import Foundation
import MMLog
import MMLogHTTP
import MMLogReader
import Synchronization
import TestSupport
import Testing

private struct Timeout: Error, CustomStringConvertible {
  var description: String { "no answer from https://ann:pw@h/?token=5ecre7" }
}

@Suite("A log of exchanges") struct HTTPLogTests {
  @Test("an exchange is a span with the names of OpenTelemetry")
  func exchange() throws {
    let test = try HTTPTest()
    let exchange = test.http.begin(
      method: "GET", url: "https://h/orders?id=7&token=abc",
      headers: ["Accept": "text/html", "Authorization": "Bearer abc"])
    #expect(exchange.isRecorded)
    exchange.end(status: 200, headers: ["Content-Type": "text/plain"], size: 1234)
    let records = try test.closeAndRead()
    #expect(
      records.map(\.message) == [
        "GET https://h/orders?id=7&token=REDACTED", "200, 1234 bytes",
      ])
    #expect(records[0].text("http.request.method") == "GET")
    #expect(records[0].text("url.full") == "https://h/orders?id=7&token=REDACTED")
    #expect(records[0].text("http.request.header.accept") == "text/html")
    #expect(records[0].text("http.request.header.authorization") == "REDACTED")
    #expect(records[1].number("http.response.status_code") == 200)
    #expect(records[1].number("http.response.body.size") == 1234)
    #expect(records[1].text("http.response.header.content-type") == "text/plain")
    #expect(records[0].spanNumber == records[1].spanNumber && records[1].hasFailed == false)
    #expect(records.allSatisfy { $0.file.hasSuffix("HTTPLogTests.swift") })
  }

  @Test("an exchange's end has the fields of its logger, as its beginning has")
  func fieldsOfLogger() throws {
    let test = try HTTPTest()
    let http = HTTPLog(test.log.with(["tenant": "blue"]))
    http.begin(method: "GET", url: "/1").end(status: 200, size: 7)
    withLogFields(["user": "ann"]) { http.begin(method: "GET", url: "/2").fail(Timeout()) }
    let records = try test.closeAndRead()
    #expect(records.map { $0.text("tenant") } == ["blue", "blue", "blue", "blue"])
    #expect(records.map { $0.text("user") } == [nil, nil, "ann", "ann"])
  }

  @Test("equal private values have equal hashes in messages and in URLs")
  func equalHashes() throws {
    let test = try HTTPTest { $0.redactor = Redactor(rules: [.hash("account")]) }
    for account in ["ann", "an account that is longer than one word"] {
      test.log.info("\(account, privacy: .hash)")
      test.http.begin(method: "GET", url: "/?account=" + account).end(status: 200)
    }
    let records = try test.closeAndRead()
    for index in [0, 3] {
      let hash = records[index].message.drop { $0 != ":" }.dropFirst().dropLast()
      #expect(hash.count == 16)
      #expect(records[index + 1].text("url.full") == "/?account=hash:\(hash)")
    }
  }

  @Test("a header field's name is cut, however few characters people see in it")
  func longName() throws {
    let test = try HTTPTest()
    let name = "a" + String(repeating: "\u{301}", count: 5000)
    test.http.begin(method: "GET", url: "/", headers: [name: "1"]).end(status: 200)
    let names = try test.closeAndRead().flatMap(\.fields).map(\.name)
    let cut = try #require(names.first { $0.utf8.starts(with: "http.request.header.a".utf8) })
    #expect(cut.utf8.count > 256 && cut.utf8.count <= 1200)
  }

  @Test("header fields of equal dictionaries are in one order, so that records share their names")
  func order() {
    let names = ["accept", "Host", "user-agent", "x-a", "x-b", "content-type", "range", "via"]
    // All are kept, since each dictionary has an order of its own.
    let all = (0..<200).map { _ in
      Dictionary(uniqueKeysWithValues: names.map { (name: $0, value: "1") })
    }
    for fields in all { #expect(HTTPHeaders(fields).fields.map(\.name) == names.sorted()) }
  }

  @Test("an error that has header fields shows none that a rule names")
  func headersInError() throws {
    struct Refused: Error {
      let headers: HTTPHeaders
      let status = 401
    }
    let test = try HTTPTest()
    let headers: HTTPHeaders = [
      "Authorization": "S 5ecre7, \"5ecre7\"]", "x-a": "1", "cookie": "5ecre7\n5ecre7\\",
    ]
    test.http.begin(method: "GET", url: "/").fail(Refused(headers: headers))
    let message = try #require(try test.closeAndRead().last?.text("error.message"))
    #expect(message == "Refused(headers: [Authorization: REDACTED, x-a: \"1\", cookie: REDACTED")
  }

  @Test("where no header field may be recorded, they are counted", arguments: [0, -1, .min])
  func noHeaders(maximum: Int) throws {
    let test = try HTTPTest { $0.maximumHeaders = maximum }
    test.http.begin(method: "GET", url: "/", headers: ["a": "b", "c": "d"]).end(status: 200)
    let fields = try #require(try test.closeAndRead().first).fields.map(\.name)
    #expect(fields == ["http.request.method", "url.full", "http.request.header.count"])
  }

  @Test("a host is known by bytes, whatever it begins with")
  func markedHost() throws {
    let test = try HTTPTest { $0.hosts.excluded = ["*x"] }
    for url in ["http://\u{301}x/", "//\u{301}x/", "http://y/"] {
      test.http.begin(method: "GET", url: url).end(status: 200)
    }
    #expect(try test.closeAndRead().compactMap { $0.text("url.full") } == ["http://y/"])
  }

  @Test("an error fails its span, and its message is redacted")
  func failure() throws {
    let test = try HTTPTest()
    test.http.begin(method: "GET", url: "/").fail(Timeout())
    let end = try #require(try test.closeAndRead().last)
    #expect(end.hasFailed == true && end.text("error.type") == "Timeout")
    #expect(
      end.text("error.message") == "no answer from https://REDACTED@h/?token=REDACTED")
  }

  @Test("which statuses are failures depends on the role")
  func roles() throws {
    for (role, failures) in [
      (HTTPLog.Options.Role.client, [false, true, true]), (.server, [false, false, true]),
    ] {
      let test = try HTTPTest { $0.role = role }
      for status in [302, 404, 500] {
        test.http.begin(method: "GET", url: "/").end(status: status)
      }
      let ends = try test.closeAndRead().compactMap(\.hasFailed)
      #expect(ends == failures)
    }
  }

  @Test("each part has its own elements")
  func elements() throws {
    let test = try HTTPTest {
      $0.request = [.taskDescription, .serialNumber]
      $0.response = [.url, .serialNumber]
      $0.error = [.method]
    }
    for index in 0..<2 {
      let exchange = test.http.begin(
        method: "GET", url: "/p?token=x", headers: ["a": "b"], task: "task \(index)")
      if index == 0 { exchange.end(status: 200, headers: ["c": "d"], size: 3) }
      if index == 1 { exchange.fail(Timeout()) }
    }
    let fields = try test.closeAndRead().map { record in
      record.fields.map { "\($0.name)=\(LogReader.Record.text($0.value))" }.joined(separator: " ")
    }
    #expect(
      fields == [
        "http.task=task 0 http.serial=1", "http.serial=1 url.full=/p?token=REDACTED",
        "http.task=task 1 http.serial=2", "http.request.method=GET",
      ])
  }

  @Test("levels that are set from outside say whether header fields and bodies are recorded")
  func levels() throws {
    let test = try HTTPTest()
    func log() {
      let exchange = test.http.begin(method: "PUT", url: "/", headers: ["a": "b"])
      exchange.record(body: [1], of: .request, contentType: nil)
      exchange.end(status: 200)
    }
    for level in [Logger.Level.trace, .debug, .info, .notice] {
      test.store.setLevel(level, for: "ht*")
      log()
    }
    let records = try test.closeAndRead()
    #expect(records.count == 3 + 2 + 2)
    let hasHeaders = records.filter { $0.hasFailed == nil && $0.text("url.full") != nil }
      .map { $0.field("http.request.header.a") != nil }
    #expect(hasHeaders == [true, true, false])
  }

  @Test("below its level nothing is evaluated, and the end is not recorded either")
  func off() throws {
    let test = try HTTPTest { $0.level = .debug }
    test.log.level = .info
    func fail() -> HTTPHeaders {
      Issue.record("it is evaluated")
      return [:]
    }
    let exchange = test.http.begin(method: "GET", url: "/", headers: fail())
    test.log.level = .trace
    exchange.end(status: 200, headers: fail())
    exchange.fail(Timeout())
    #expect(!exchange.isRecorded)
    let records = try test.closeAndRead()
    #expect(records.isEmpty)
  }

  @Test("hosts, paths and a predicate say which exchanges are recorded, and sampling how many")
  func filters() throws {
    let test = try HTTPTest {
      $0.hosts = .init(allowed: ["*.Example", "localhost"], excluded: ["Ads.example"])
      $0.paths = .init(excluded: ["/health*"])
      $0.predicate = { $0.method != "OPTIONS" }
    }
    let urls = [
      "https://u@API.Example:8080/a?x=//ads.example/", "http://localhost", "https://ads.example/a",
      "https://h/a", "https://localhost/healthz?x", "https://localhost/a/health", "/relative",
    ]
    for url in urls { test.http.begin(method: "GET", url: url).end(status: 200) }
    test.http.begin(method: "OPTIONS", url: "http://localhost/").end(status: 200)
    let found = try test.closeAndRead().compactMap { $0.text("url.full") }
    #expect(
      found == [
        "https://REDACTED@API.Example:8080/a?x=//ads.example/", "http://localhost",
        "https://localhost/a/health",
      ])
    // A path may have "://", also that of a client who would rather not be recorded.
    let server = try HTTPTest { $0.paths = .init(excluded: ["/health*"]) }
    for url in ["/a://x/health", "/web/http://example.com/health", "/health"] {
      server.http.begin(method: "GET", url: url).end(status: 200)
    }
    let paths = try server.closeAndRead().compactMap { $0.text("url.full") }
    #expect(paths == ["/a://x/health", "/web/http://example.com/health"])
    let sampled = try HTTPTest { $0.sampling = 3 }
    for index in 0..<7 { sampled.http.begin(method: "GET", url: "/\(index)").end(status: 200) }
    let sample = try sampled.closeAndRead().compactMap { $0.text("url.full") }
    #expect(sample == ["/0", "/3", "/6"])
  }

  @Test("several logs get the same exchanges, and each records those that it lets through")
  func several() throws {
    let test = try HTTPTest()
    var options = HTTPLog.Options()
    options.predicate = { $0.method == "PUT" }
    options.level = .notice
    let other = test.store.logger(label: "changes")
    let both = HTTPLog(test.http, HTTPLog(other, options: options))
    for method in ["GET", "PUT"] { both.begin(method: method, url: "/").end(status: 200) }
    // The first one may be off.
    test.log.level = .off
    both.begin(method: "PUT", url: "/2").fail(Timeout())
    let records = try test.closeAndRead()
    #expect(records.count(where: { $0.label == "http" }) == 4)
    let changes = records.filter { $0.label == "changes" }
    #expect(changes.map(\.level) == [.notice, .notice, .notice, .notice])
    #expect(changes.compactMap(\.hasFailed) == [false, true])
  }

  @Test("a reporter gets each part as it was recorded")
  func reporter() throws {
    let reports = Mutex<[String]>([])
    let test = try HTTPTest {
      $0.reporter = { report in
        let text = "\(report.kind) \(report.serialNumber) \(report.method) \(report.url)"
        let isInTime = report.duration >= .zero && report.duration < .seconds(3600)
        reports.withLock { $0.append(isInTime ? text : "\(report.duration)") }
      }
    }
    test.http.begin(method: "GET", url: "/p?sid=5ecre7").end(status: 404)
    test.http.begin(method: "PUT", url: "/").fail(Timeout())
    try test.store.close()
    #expect(
      reports.withLock { $0 } == [
        "request 1 GET /p?sid=REDACTED", "response(status: 404) 1 GET /p?sid=REDACTED",
        "request 2 PUT /",
        #"error("no answer from https://REDACTED@h/?token=REDACTED") 2 PUT /"#,
      ])
  }

  @Test("hostile messages are recorded within bounds, and no secret is in any file")
  func hostile() throws {
    let test = try HTTPTest()
    let fields = (0..<100_000).map { (name: "x-\($0)", value: "token=5ecre7") }
    let long = String(repeating: "a=\u{1F600}&", count: 100_000)
    let exchange = test.http.begin(
      method: "GET", url: "https://u:5ecre7@h/?" + long + "token=5ecre7",
      headers: HTTPHeaders(fields))
    exchange.end(
      status: -1,
      headers: [
        String(repeating: "n", count: 1 << 20): long, "": "", "Set-Cookie": "a=5ecre7",
        "set\u{2D}cookie": "5ecre7", "\u{0}authorization": "5ecre7",
      ], size: .min)
    let rings = try test.files(".ring")
    #expect(rings.count == 1)
    let records = try test.closeAndRead()
    #expect(records.count == 2)
    #expect(records[0].fields.count == 2 + 64 + 1)
    #expect(records[0].number("http.request.header.count") == 100_000)
    let url = try #require(records[0].text("url.full"))
    #expect(url.utf8.count <= 8 << 10 && url.hasSuffix("…") && url.hasPrefix("https://REDACTED@h"))
    #expect(records[1].fields.allSatisfy { $0.name.utf8.count < 300 })
    let archives = try test.files(".mmlog")
    #expect(!archives.isEmpty)
    for data in rings + archives { #expect(data.range(of: Data("5ecre7".utf8)) == nil) }
    let fieldTexts = records.flatMap(\.fields).map { $0.name + LogReader.Record.text($0.value) }
    #expect(!fieldTexts.contains { $0.contains("5ecre7") })
  }
}
