import CommandLineTool
import Foundation
import MMLog
import MMLogAnalysis
import MMLogFormat
import MMLogReader
import TestSupport
import Testing

/// `mmlog-decode http`.
@Suite("HTTP exchanges on the command line") struct HTTPCommandTests {
  private func log() throws -> TemporaryDirectory {
    let folder = TemporaryDirectory()
    let store = try LogStore(directory: folder.path, name: "http")
    let log = store.logger(label: "http.client")
    log.level = .trace
    func begin(_ method: String, _ url: String) -> Logger.Span {
      log.begin(
        "\(method, name: "http.request.method") \(url, name: "url.full")",
        metadata: ["http.request.header.accept": "a'b"])
    }
    for index in 1...3 {
      let span = begin("GET", "https://h/orders/\(index)?q=1")
      span.end(
        "\(index == 3 ? 500 : 200, name: "http.response.status_code")", failed: index == 3,
        metadata: [
          "http.response.body.size": .int(Int64(index)),
          "http.response.header.content-type": "application/json",
        ])
    }
    let span = begin("PUT", "https://h/book")
    log.with(span: span).trace(
      """
      request body of \(9, name: "http.request.body.size") bytes: \
      \("{\"a\":\"\\u4f60\u{1B}\"}", name: "http.request.body.content")
      """)
    span.end(
      "\("Timeout", name: "error.type"): \("no answer", name: "error.message")", failed: true)
    _ = begin("GET", "https://h/never")
    log.info("something else", metadata: ["url.full": "/"])
    let other = log.begin("another span")
    other.end()
    try store.close()
    return folder
  }

  private func run(_ folder: TemporaryDirectory, _ options: String...) throws -> [String] {
    let result = try decode(["http"] + options + [folder.path])
    #expect(result.status == 0, "\(result.errors)")
    return result.output.split(separator: "\n").map(String.init)
  }

  @Test("exchanges are listed, and nothing else")
  func list() throws {
    let folder = try log()
    let lines = try run(folder, "--utc")
    #expect(lines.count == 1 + 5)
    #expect(lines[0].hasPrefix("TIME") && lines[0].hasSuffix("URL"))
    let words = lines.dropFirst().map { $0.split(separator: " ").dropFirst(1) }
    #expect(words.map { $0.first } == ["GET", "GET", "GET", "PUT", "GET"])
    #expect(words.map { $0.dropFirst().first } == ["200", "200", "500", "failed", "open"])
    #expect(lines[4].hasSuffix("https://h/book  Timeout: no answer"))
    #expect(try run(folder, "--outcome", "failed").count == 1 + 2)
    #expect(try run(folder, "--slowest", "-n", "2").count == 1 + 2)
  }

  @Test("routes have counts, failures and percentiles")
  func routes() throws {
    let lines = try run(log(), "--routes")
    #expect(lines.count == 1 + 3)
    let orders = try #require(lines.first { $0.hasSuffix("GET h/orders/{id}") })
    let words = orders.split(separator: " ")
    #expect(words[0] == "3" && words[1] == "1" && words[6] == "6")
  }

  /// Logs an exchange that stays open, and nine others, the third of which takes some time.
  ///
  /// - Returns: The log, and how long another one took at most.
  private func logTooMany(_ time: Duration) throws -> (TemporaryDirectory, longest: Duration) {
    let folder = TemporaryDirectory()
    let store = try LogStore(directory: folder.path, name: "http")
    let log = store.logger(label: "http.client")
    let open = log.begin("\("GET", name: "http.request.method") \("/open", name: "url.full")")
    var longest = Duration.zero
    for index in 0..<9 {
      let start = ContinuousClock.now
      let span = log.begin(
        "\("GET", name: "http.request.method") \("/\(index)", name: "url.full")")
      let begun = ContinuousClock.now
      if index == 2 { while ContinuousClock.now - begun < time {} }
      span.end("\(200, name: "http.response.status_code")")
      if index != 2 { longest = max(longest, ContinuousClock.now - start) }
    }
    try store.close()
    withExtendedLifetime(open) {}
    return (folder, longest)
  }

  @Test("of too many exchanges, those are kept that are open or took longest; routes have all")
  func tooMany() throws {
    var (folder, slow, longest) = (TemporaryDirectory(), Duration.milliseconds(100), Duration.zero)
    // Again with more time where the machine has made another exchange slower.
    repeat {
      slow *= 2
      (folder, longest) = try logTooMany(slow)
    } while longest >= slow
    for outcomes in [LogSpans.Outcome.all, [.ok]] {
      var exchanges = HTTPExchanges(keepsBodies: true, outcomes: outcomes, capacity: 2)
      for item in LogReader(paths: [folder.path]) { exchanges.add(item) }
      let urls = exchanges.list.map { $0.url ?? "" }
      #expect(urls.contains("/open") == outcomes.contains(.open))
      #expect(urls.contains("/2") && urls.count <= 4, "\(urls)")
      #expect(exchanges.others + urls.count == (outcomes.contains(.open) ? 10 : 9))
      var output = TextBuffer()
      exchanges.appendRoutes(HTTPExchanges.Style(), to: &output)
      let counts = output.text().split(separator: "\n").filter { $0.hasSuffix("GET /{id}") }
      #expect(counts.map { $0.split(separator: " ")[0] } == ["9"], "\(output.text())")
    }
  }

  @Test("an exchange counts once, however many are open at one time")
  func tooManyOpen() throws {
    let folder = TemporaryDirectory()
    let store = try LogStore(directory: folder.path, name: "http")
    let log = store.logger(label: "http.client")
    let spans = (0..<7).map { _ in
      log.begin("\("GET", name: "http.request.method") \("/a", name: "url.full")")
    }
    for span in spans.dropLast() { span.end("\(200, name: "http.response.status_code")") }
    try store.close()
    for outcomes in [LogSpans.Outcome.all, [.ok], [.open]] {
      var exchanges = HTTPExchanges(keepsBodies: false, outcomes: outcomes, capacity: 2)
      for item in LogReader(paths: [folder.path]) { exchanges.add(item) }
      let counts = count(exchanges, ofRoutes: "").dropFirst().compactMap { Int($0) }
      #expect(counts.reduce(0, +) <= 7, "\(outcomes): \(counts)")
      if outcomes == LogSpans.Outcome.all { #expect(counts == [7]) }
    }
  }

  @Test("names of fields are cut where they are, whatever follows")
  func combiningMarks() throws {
    let folder = TemporaryDirectory()
    let store = try LogStore(directory: folder.path, name: "http")
    _ = store.logger(label: "http.client").begin(
      "\("GET", name: "http.request.method") \("/?\u{301}a=\u{301}b&\u{301}c", name: "url.full")",
      metadata: ["http.request.header.\u{301}x": "1"])
    try store.close()
    let text = try run(folder, "--format", "har").joined(separator: "\n")
    let json = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
    let entries = (json?["log"] as? [String: Any])?["entries"] as? [[String: Any]]
    let request = try #require(entries?.first?["request"] as? [String: Any])
    #expect(
      (request["queryString"] as? [[String: String]]) == [
        ["name": "\u{301}a", "value": "\u{301}b"], ["name": "\u{301}c", "value": ""],
      ])
    #expect((request["headers"] as? [[String: String]]) == [["name": "\u{301}x", "value": "1"]])
  }

  /// The numbers of exchanges of the routes that end with `end`, as the table of routes has them.
  private func count(_ exchanges: HTTPExchanges, ofRoutes end: String) -> [Substring] {
    var output = TextBuffer()
    exchanges.appendRoutes(HTTPExchanges.Style(), to: &output)
    return output.text().split(separator: "\n").filter { $0.hasSuffix(end) }.map {
      $0.split(separator: " ")[0]
    }
  }

  @Test("exchanges whose URLs have no room beside those that are open count as one route")
  func noRoomForURLs() throws {
    let folder = TemporaryDirectory()
    let store = try LogStore(directory: folder.path, name: "http")
    let log = store.logger(label: "http.client")
    func begin(_ url: String) -> Logger.Span {
      log.begin("\("GET", name: "http.request.method") \(url, name: "url.full")")
    }
    let open = begin("/" + String(repeating: "o", count: 1000))
    for name in ["a", "b"] {
      begin("/" + String(repeating: name, count: 1000))
        .end("\(200, name: "http.response.status_code")")
    }
    begin("/").end("\(200, name: "http.response.status_code")")
    try store.close()
    _ = open
    var exchanges = HTTPExchanges(keepsBodies: false, maximumBytes: 1020)
    for item in LogReader(paths: [folder.path]) { exchanges.add(item) }
    #expect(count(exchanges, ofRoutes: "ooo") == ["1"])
    #expect(count(exchanges, ofRoutes: "GET /") == ["1"])
    #expect(count(exchanges, ofRoutes: "(other routes)") == ["2"])
  }

  @Test("where URLs take too much memory, fewer exchanges are kept, and the routes have all")
  func longURLs() throws {
    let folder = TemporaryDirectory()
    let store = try LogStore(directory: folder.path, name: "http")
    let log = store.logger(label: "http.client")
    for name in ["a", "b", "a"] {
      let url = "/" + String(repeating: name, count: 1000)
      log.begin("\("GET", name: "http.request.method") \(url, name: "url.full")")
        .end("\(200, name: "http.response.status_code")")
    }
    try store.close()
    var exchanges = HTTPExchanges(keepsBodies: false, maximumBytes: 1100)
    for item in LogReader(paths: [folder.path]) { exchanges.add(item) }
    #expect(exchanges.list.map { $0.url?.prefix(2) } == ["/a"])
    #expect(exchanges.list.map(\.status) == [200])
    #expect(count(exchanges, ofRoutes: "aaa") == ["2"])
    #expect(count(exchanges, ofRoutes: "bbb") == ["1"])
  }

  @Test("header fields and bodies are shown as people read them")
  func messages() throws {
    let lines = try run(log(), "--messages", "--outcome", "failed")
    #expect(lines.contains("  > accept: a'b"))
    #expect(lines.contains("  < content-type: application/json"))
    #expect(lines.contains(#"  >   "a": "你\u{1b}""#), "\(lines)")
  }

  @Test("an HTTP archive is JSON, with all that is known")
  func har() throws {
    let text = try run(log(), "--format", "har").joined(separator: "\n")
    let json = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
    let log = try #require(json?["log"] as? [String: Any])
    let entries = try #require(log["entries"] as? [[String: Any]])
    #expect(log["version"] as? String == "1.2" && entries.count == 5)
    #expect((log["creator"] as? [String: String])?["version"] == mmlogVersion)
    let request = entries[0]["request"] as? [String: Any]
    #expect(request?["url"] as? String == "https://h/orders/1?q=1")
    #expect((request?["queryString"] as? [[String: String]]) == [["name": "q", "value": "1"]])
    #expect((request?["headers"] as? [[String: String]]) == [["name": "accept", "value": "a'b"]])
    let response = entries[0]["response"] as? [String: Any]
    #expect(response?["status"] as? Int == 200)
    #expect(((response?["content"] as? [String: Any])?["size"] as? Int) == 1)
    #expect(entries[4]["comment"] as? String == "in flight")
  }

  @Test("commands of curl send the same request")
  func curl() throws {
    let lines = try run(log(), "--format", "curl", "--outcome", "failed")
    #expect(lines.count == 2)
    #expect(
      lines[1]
        == #"curl --globoff -X 'PUT' -H 'accept: a'\''b' -H content-type: --data-raw $'{"a":"\\u4f60\033"}' -- 'https://h/book'"#
    )
  }

  /// A log of one exchange, whose request has these header fields and this body.
  private func log(
    _ method: String, _ url: String, _ headers: Logger.Metadata,
    _ body: (Logger) -> Void = { _ in }
  ) throws -> TemporaryDirectory {
    let folder = TemporaryDirectory()
    let store = try LogStore(directory: folder.path, name: "http")
    let log = store.logger(label: "http.client")
    log.level = .trace
    let span = log.begin(
      "\(method, name: "http.request.method") \(url, name: "url.full")", metadata: headers)
    body(log.with(span: span))
    span.end("\(200, name: "http.response.status_code")")
    try store.close()
    return folder
  }

  @Test("a command of curl leaves its own fields out, has empty ones, and says what is missing")
  func curlWithGaps() throws {
    let cut = try log(
      "POST", "https://h/long…",
      [
        "http.request.header.content-length": "7",
        "http.request.header.transfer-encoding": "chunked", "http.request.header.x": "",
        "http.request.header.y": "long…", "http.request.header.count": .int(99),
      ]
    ) {
      $0.trace(
        """
        request body of \(9, name: "http.request.body.size") bytes: \
        \("abc…", name: "http.request.body.content")
        """, metadata: ["cut": true])
    }
    #expect(
      try run(cut, "--format", "curl") == [
        "# the URL is cut; 95 header fields are missing; a header field is cut; the body is cut",
        "curl --globoff -X 'POST' -H 'x;' -H 'y: long…' -H content-type: --data-raw 'abc…' -- 'https://h/long…'",
      ])
    let head = try log("HEAD", "/", ["http.request.header.content-type": "text/plain"]) {
      $0.trace(
        """
        request body of \(3, name: "http.request.body.size") bytes: \
        \("abc", name: "http.request.body.content")
        """)
    }
    #expect(
      try run(head, "--format", "curl") == [
        "# the URL has no host: write one before it; curl sends no body with HEAD",
        "curl --globoff --head -H 'content-type: text/plain' -- '/'",
      ])
    let hashed = try log("PUT", "https://h/", [:]) {
      $0.trace(
        """
        request body of \(9, name: "http.request.body.size") bytes, hash \
        \(7, name: "http.request.body.hash", format: .hex)
        """)
    }
    #expect(
      try run(hashed, "--format", "curl") == [
        "# no header fields were recorded; the body of 9 bytes is missing",
        "curl --globoff -X 'PUT' -- 'https://h/'",
      ])
    let zero = try log("PUT", "https://h/", ["http.request.header.x": "y"]) {
      $0.trace(
        """
        request body of \(3, name: "http.request.body.size") bytes: \
        \("a\0b", name: "http.request.body.content")
        """)
    }
    #expect(
      try run(zero, "--format", "curl").first
        == "# a zero byte, and what follows it, has no place in a command")
    let har = try run(hashed, "--format", "har").joined()
    let missing = "no header fields were recorded; the body of 9 bytes is missing"
    #expect(har.contains(#""comment":"\#(missing)""#))
    let header: Logger.Metadata = ["http.request.header.x": "y"]
    #expect(
      try run(log("PUT", "http://h", header), "--format", "curl").first == "# no body was recorded")
    #expect(
      try run(log("GET", "http://h", header), "--format", "curl")
        == ["curl --globoff -X 'GET' -H 'x: y' -- 'http://h'"])
  }

  @Test(
    "a logged number of header fields may be any number, whatever the format",
    arguments: [
      (.min, nil), (0, nil), (1, nil), (2, "1 header fields are missing"),
      (.max, "9223372036854775806 header fields are missing"),
    ] as [(Int64, String?)])
  func anyNumberOfHeaderFields(count: Int64, missing: String?) throws {
    let folder = try log(
      "GET", "http://h/",
      ["http.request.header.x": "y", "http.request.header.count": .int(count)])
    let curl = "curl --globoff -X 'GET' -H 'x: y' -- 'http://h/'"
    #expect(try run(folder, "--format", "curl") == (missing.map { ["# \($0)"] } ?? []) + [curl])
    let har = try run(folder, "--format", "har").joined()
    #expect(har.contains(missing.map { #""comment":"\#($0)""# } ?? #""value":"y"}"#))
    #expect(har.contains("header fields are missing") == (missing != nil))
    for format in ["text", "json"] {
      #expect(try run(folder, "--format", format, "--messages").count > 0)
    }
  }

  @Test("in lines of JSON, a header field that occurs several times is an array")
  func repeatedHeaders() throws {
    var headers = Logger.Metadata()
    for value in ["1", "2"] { headers.append(.string(value), for: "http.request.header.a") }
    headers.append("3", for: "http.request.header.b")
    let lines = try run(log("GET", "/", headers), "--format", "json", "--messages")
    #expect(lines.first?.contains(#""http.request.headers":{"a":["1","2"],"b":"3"}"#) == true)
  }

  @Test("lines of JSON have OpenTelemetry's names")
  func json() throws {
    let lines = try run(log(), "--format", "json", "--messages")
    #expect(lines.count == 5)
    let first = try JSONSerialization.jsonObject(with: Data(lines[0].utf8)) as? [String: Any]
    #expect(first?["http.response.status_code"] as? Int == 200)
    #expect((first?["http.request.headers"] as? [String: String]) == ["accept": "a'b"])
  }
}
