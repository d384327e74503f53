import MMLog
import MMLogFormat
import MMLogHTTP
import MMLogReader
import TestSupport
import Testing

/// What adapters to streams are made of.
@Suite("Bodies that pass by") struct PassingBodyTests {
  private struct Broken: Error {}

  /// Chunks, and then an error if there is one.
  private func stream(
    _ chunks: [String], _ error: (any Error)? = nil
  ) -> AsyncThrowingStream<String, any Error> {
    let (stream, continuation) = AsyncThrowingStream.makeStream(of: String.self)
    for chunk in chunks { continuation.yield(chunk) }
    continuation.finish(throwing: error)
    return stream
  }

  /// Gives what a client or a server would of an exchange, with its end in `end`.
  private func records(
    _ end: (HTTPLog.PassingBody) async throws -> Void
  ) async throws -> [LogReader.Record] {
    let test = try HTTPTest()
    let exchange = test.http.begin(method: "GET", url: "https://h/a")
    try await end(
      HTTPLog.PassingBody(
        exchange, contentType: "application/json",
        ending: HTTPLog.PassingBody.Head(status: 200, headers: ["a": "b"])))
    return try test.closeAndRead()
  }

  @Test("the last chunk ends the exchange, behind the body and with its size")
  func whole() async throws {
    let chunks = ["{\"pass", "word\":\"5ec", "re7\"", "", "}"]
    let all = try await records { body in
      var passed: [String] = []
      let passing = HTTPLog.PassingChunks(stream(chunks), by: body) { $0.utf8 }
      for try await chunk in passing { passed.append(chunk) }
      #expect(passed == chunks)
    }
    #expect(all.count == 3 && Set(all.map(\.spanNumber)).count == 1)
    #expect(all[1].text("http.response.body.content") == "{\"password\":\"REDACTED\"}")
    #expect(all[2].number("http.response.body.size") == 21 && all[2].hasFailed == false)
    #expect(all[2].text("http.response.header.a") == "b")
  }

  @Test("an error on the way fails the exchange, and what came before is recorded")
  func failing() async throws {
    let all = try await records { body in
      let passing = HTTPLog.PassingChunks(stream(["[1,"], Broken()), by: body) { $0.utf8 }
      await #expect(throws: Broken.self) { for try await _ in passing {} }
    }
    #expect(all.count == 3 && all[1].text("http.response.body.content") == "[1,")
    #expect(all[2].hasFailed == true && all[2].text("error.type") == "Broken")
  }

  @Test("one that is dropped ends the exchange without a size, and an empty one is no body")
  func dropped() async throws {
    let dropped = try await records { body in
      var chunks = HTTPLog.PassingChunks(stream(["[1,", "2]"]), by: body) { $0.utf8 }
        .makeAsyncIterator()
      let first = try await chunks.next()
      #expect(first == "[1,")
    }
    #expect(dropped.count == 3 && dropped[1].text("http.response.body.content") == "[1,")
    #expect(dropped[2].number("http.response.body.size") == nil)
    #expect(dropped[2].number("http.response.status_code") == 200)
    let empty = try await records { body in
      for try await _ in HTTPLog.PassingChunks(stream([]), by: body, { $0.utf8 }) {}
      // What comes behind the end is not its.
      body.append("more".utf8)
      body.fail(Broken())
    }
    #expect(empty.count == 2 && empty[1].number("http.response.body.size") == 0)
  }

  @Test("a stream that ends because its reader was canceled was not read as a whole")
  func canceled() async throws {
    let (stream, continuation) = AsyncStream.makeStream(of: String.self)
    continuation.yield("[1,")
    let all = try await records { body in
      let task = Task {
        for try await _ in HTTPLog.PassingChunks(stream, by: body, { $0.utf8 }) {
          withUnsafeCurrentTask { $0?.cancel() }
        }
      }
      try await task.value
    }
    continuation.finish()
    #expect(all.count == 3 && all[1].text("http.response.body.content") == "[1,")
    #expect(all[2].number("http.response.body.size") == nil)
  }

  @Test(
    "an exchange ends at the statement that its adapter names, with an answer and with an error")
  func place() async throws {
    for error in [nil, Broken()] {
      let test = try HTTPTest()
      let (exchange, line) = (test.http.begin(method: "GET", url: "https://h/a"), UInt32(#line))
      let body = HTTPLog.PassingBody(
        exchange, contentType: nil, ending: HTTPLog.PassingBody.Head(status: 200, headers: [:]),
        at: HTTPLog.SourceLocation(#fileID, #function, line, 1))
      if let error { body.fail(error) } else { body.finish() }
      let records = try test.closeAndRead()
      #expect(records.map(\.line) == [Int(line), Int(line)])
      #expect(records.allSatisfy { $0.file == #fileID })
    }
  }

  @Test("a request's body ends nothing") func request() async throws {
    let test = try HTTPTest()
    let exchange = test.http.begin(method: "PUT", url: "https://h/a")
    #expect(exchange.recordsBody(of: .request))
    let body = HTTPLog.PassingBody(exchange, contentType: "application/json")
    body.append("[1]".utf8)
    body.finish()
    exchange.end(status: 204)
    test.log.level = .info
    #expect(!exchange.recordsBody(of: .request))
    let all = try test.closeAndRead()
    #expect(all.count == 3 && all[1].text("http.request.body.content") == "[1]")
    #expect(all[2].number("http.response.status_code") == 204)
  }
}
