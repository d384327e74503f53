import MMLog
import MMLogHTTP
import MMLogReader
import TestSupport
import Testing

@Suite("Bodies of exchanges") struct BodyTests {
  @Test("a body is redacted the same, wherever it is cut into pieces")
  func pieces() throws {
    let bodies = [
      (#"{"a":"b","pass\u0077ord" : {"x":"5ecre7"},"c":[1,"\""]}"#, "application/json"),
      (#"{"body":"{\"token\":\"5ecre7\"}"}"#, "application/problem+json; charset=utf-8"),
      (##"{"body":"{\u0022sid\u0022:\u00225ecre7\u0022}"}"##, "application/json"),
      (
        "q=1&pass%77ord=5ecre7&z=https%3A%2F%2Fann%3Ap%2Fw%40h%2Fx",
        "application/x-www-form-urlencoded"
      ),
    ]
    let test = try HTTPTest { $0.bodyLevel = .info }
    for (body, type) in bodies {
      let bytes = Array(body.utf8)
      for cut in 0...bytes.count {
        let exchange = test.http.begin(method: "PUT", url: "/")
        let record = try #require(exchange.body(of: .request, contentType: type))
        record.append(bytes[..<cut])
        record.append(bytes[cut...])
        record.finish()
      }
    }
    let records = try test.closeAndRead().filter { $0.text("http.request.body.content") != nil }
    #expect(records.count == bodies.reduce(0) { $0 + $1.0.utf8.count + 1 })
    let contents = Set(records.compactMap { $0.text("http.request.body.content") })
    #expect(
      contents == [
        #"{"a":"b","pass\u0077ord" :"REDACTED","c":[1,"\""]}"#,
        #"{"body":"{\"token\":\"REDACTED\""}"#,
        ##"{"body":"{\u0022sid\u0022:\"REDACTED\""}"##,
        "q=1&pass%77ord=REDACTED&z=https%3A%2F%2FREDACTED@h%2Fx",
      ])
  }

  @Test("the case of a pattern of content types does not count")
  func contentTypesInCapitals() throws {
    let test = try HTTPTest {
      $0.bodyLevel = .info
      $0.contentTypes = ["Text/*"]
    }
    let exchange = test.http.begin(method: "PUT", url: "/")
    exchange.record(body: [65], of: .request, contentType: "TEXT/plain")
    #expect(try test.closeAndRead().last?.text("http.request.body.content") == "A")
  }

  @Test("a content type is taken by its bytes, whatever marks are in it")
  func contentTypes() throws {
    let test = try HTTPTest {
      $0.bodyLevel = .info
      $0.contentTypes.append("*")
    }
    let exchange = test.http.begin(method: "PUT", url: "/")
    let json = Array(#"{"a":1,"password":{"x":1}}"#.utf8)
    for type in ["application/json;\u{301}a", "application/json\u{301}", "\u{600}json"] {
      exchange.record(body: json, of: .request, contentType: type)
    }
    exchange.record(
      body: Array("q=1&pass%77ord=x".utf8), of: .request,
      contentType: "application/x-www-form-urlencoded\u{301}")
    let bodies = try test.closeAndRead().compactMap { $0.text("http.request.body.content") }
    let redacted = #"{"a":1,"password":"REDACTED"}"#
    #expect(bodies == [redacted, redacted, redacted, "q=1&pass%77ord=REDACTED"])
  }

  @Test("JSON that is sent as a form is redacted as JSON")
  func jsonAsForm() throws {
    let test = try HTTPTest { $0.bodyLevel = .info }
    let exchange = test.http.begin(method: "PUT", url: "/")
    for body in [
      #"{"user":"ann","password":"p&S"}"#, " \n[{\"a\":1},{\"pin\":\"x&S\"}]", "a={&pin=S",
    ] {
      exchange.record(
        body: Array(body.utf8), of: .request, contentType: "application/x-www-form-urlencoded")
    }
    let bodies = try test.closeAndRead().compactMap { $0.text("http.request.body.content") }
    #expect(
      bodies == [
        #"{"user":"ann","password":REDACTED"#, " \n[{\"a\":1},{\"pin\":REDACTED",
        "a={&pin=REDACTED",
      ])
  }

  @Test("a body's record is at the statement that has begun the exchange")
  func place() throws {
    let test = try HTTPTest { $0.bodyLevel = .info }
    let (exchange, line) = (test.http.begin(method: "PUT", url: "/"), #line)
    exchange.record(body: [65], of: .request, contentType: "text/plain")
    exchange.record(body: [0], of: .request, contentType: "image/png")
    exchange.record(body: [65], of: .response, contentType: "text/plain")
    exchange.record(body: [0], of: .response, contentType: "image/png")
    let passing = HTTPLog.PassingBody(exchange, contentType: "text/plain")
    passing.append([65])
    passing.finish()
    let records = try test.closeAndRead()
    #expect(records.count == 6)
    for record in records {
      #expect(
        record.file == #fileID && record.function == #function && record.line == line,
        "\(record.message)")
    }
  }

  @Test("a body belongs to its exchange, is cut at its limit, and says how large it was")
  func limit() throws {
    let test = try HTTPTest {
      $0.bodyLevel = .info
      $0.longestBody = 100
    }
    let exchange = test.http.begin(method: "GET", url: "/")
    let body = try #require(exchange.body(of: .response, contentType: "application/json"))
    let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20)
    // As much as a gigabyte, of which no more than the limit is kept.
    for _ in 0..<1024 { piece.withUnsafeBytes { body.append($0) } }
    body.finish()
    body.finish()
    exchange.end(status: 200)
    let records = try test.closeAndRead()
    #expect(records.count == 3)
    let record = records[1]
    #expect(record.number("http.response.body.size") == 1 << 30)
    #expect(record.text("http.response.body.content")?.utf8.count == 100)
    #expect(record.field("cut") != nil && record.spanNumber == records[0].spanNumber)
  }

  @Test(
    "a body and a header field that are cut end with a whole character and a mark",
    arguments: [
      "application/json", "application/x-www-form-urlencoded", "text/plain",
    ])
  func cutCharacters(type: String) throws {
    for shift in 0..<4 {
      let test = try HTTPTest {
        ($0.bodyLevel, $0.headersLevel) = (.info, .info)
        ($0.longestBody, $0.longestURL) = (20, 20)
        $0.contentTypes.append("text/plain")
      }
      let text = String(repeating: "x", count: shift) + String(repeating: "é𝄞", count: 10)
      let exchange = test.http.begin(method: "GET", url: "/", headers: ["x-a": text])
      exchange.record(body: Array(text.utf8), of: .request, contentType: type)
      let records = try test.closeAndRead()
      for field in ["http.request.header.x-a", "http.request.body.content"] {
        let found = try #require(records.compactMap { $0.text(field) }.first)
        #expect(found.hasSuffix("…") && text.hasPrefix(found.dropLast()), "\(field): \(found)")
        #expect(found.utf8.count <= 20 && found.utf8.count > 13, "\(field): \(found)")
      }
    }
  }

  @Test("a body of any kind is within its limit, and a limit may be of any size")
  func limits() throws {
    for (limit, most) in [(Int.min, 16), (100, 100), (.max, 64 << 20)] {
      let test = try HTTPTest {
        ($0.bodyLevel, $0.longestBody) = (.info, limit)
        $0.contentTypes.append("text/plain")
      }
      let exchange = test.http.begin(method: "GET", url: "/")
      let wrong = [UInt8](repeating: 0xFF, count: 90)
      let pairs = Array(repeating: "pin=1", count: 15).joined(separator: "&")
      for type in ["application/json", "application/x-www-form-urlencoded", "text/plain"] {
        exchange.record(body: wrong, of: .request, contentType: type)
        exchange.record(body: Array(pairs.utf8), of: .request, contentType: type)
      }
      let records = try test.closeAndRead().dropFirst()
      #expect(records.count == 6)
      for record in records {
        let text = try #require(record.text("http.request.body.content"))
        #expect(text.utf8.count <= most, "\(text)")
        // In a text, the value of a pair has no end, so it includes the mark.
        if text == "pin=REDACTED" { continue }
        #expect((record.field("cut") != nil) == text.hasSuffix("…"), "\(text)")
      }
    }
  }

  @Test(
    "of a body that is compressed or in UTF-16, size and hash are recorded",
    arguments: [
      // Of gzip, zlib and brotli the beginning.
      [0x1F, 0x8B, 0x08, 0x00, 0x00], [0x78, 0x9C, 0xAB, 0x56, 0x2A, 0x03], [0x5B, 0x1A, 0x00],
      [0x7B, 0x00, 0x22, 0x00],
    ])
  func compressed(body: [UInt8]) throws {
    let test = try HTTPTest { $0.bodyLevel = .info }
    let exchange = test.http.begin(method: "GET", url: "/")
    for bytes in [body, Array("{\"a\":\r\n\t1}".utf8)] {
      exchange.record(body: bytes, of: .response, contentType: "application/json")
    }
    // As a peer may send it.
    let pieces = exchange.body(of: .response, contentType: "application/json")
    for byte in body { pieces?.append([byte]) }
    pieces?.finish()
    let records = try test.closeAndRead().dropFirst()
    let hashes = records.map { $0.text("http.response.body.hash") }
    #expect(hashes.count == 3 && hashes[0] != nil && hashes[1] == nil && hashes[2] == hashes[0])
    #expect(records.first?.number("http.response.body.size") == body.count)
  }

  @Test("a body that is abandoned is recorded as far as it came")
  func abandoned() throws {
    let test = try HTTPTest { $0.bodyLevel = .info }
    let exchange = test.http.begin(method: "GET", url: "/")
    do {
      let body = exchange.body(of: .response, contentType: "application/json")
      body?.append(Array("[1,2".utf8))
    }
    let records = try test.closeAndRead()
    #expect(records.map { $0.text("http.response.body.content") } == [nil, "[1,2"])
  }

  @Test("of other types size and hash are recorded, and of bodies that are off nothing")
  func binary() throws {
    let test = try HTTPTest { $0.bodyLevel = .debug }
    let exchange = test.http.begin(method: "GET", url: "/")
    for body in [[1, 2], [1, 2], [3]] as [[UInt8]] {
      exchange.record(body: body, of: .response, contentType: "image/png")
    }
    test.log.level = .info
    exchange.record(body: [1], of: .response, contentType: nil)
    #expect(exchange.body(of: .request, contentType: nil) == nil)
    let records = try test.closeAndRead().dropFirst()
    let hashes = records.map { $0.text("http.response.body.hash") }
    #expect(hashes.count == 3 && hashes[0] == hashes[1] && hashes[0] != hashes[2])
    #expect(records.map { $0.number("http.response.body.size") } == [2, 2, 1])
  }

  @Test("JSON of any depth is read, and what is no text is repaired")
  func hostileBodies() throws {
    let test = try HTTPTest { $0.bodyLevel = .info }
    let deep =
      Array(repeating: "{\"a\":[", count: 10_000).joined() + "{\"token\":\"5ecre7\"}"
    let exchange = test.http.begin(method: "PUT", url: "/")
    exchange.record(body: Array(deep.utf8), of: .request, contentType: "application/json")
    let wrong = [0xFF, 0xC0] + Array("{\"token\":\"5ecre7".utf8) + [0xED, 0xA0]
    exchange.record(body: wrong, of: .request, contentType: "application/json")
    let records = try test.closeAndRead().dropFirst()
    let texts = records.compactMap { $0.text("http.request.body.content") }
    #expect(texts.count == 2 && !texts.contains { $0.contains("5ecre7") })
    #expect(texts.last == "\u{FFFD}\u{FFFD}{\"token\":\"REDACTED\"")
  }
}
