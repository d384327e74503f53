#if OpenAPI
  import Foundation
  import HTTPTypes
  import MMLog
  import MMLogFormat
  import MMLogHTTP
  import MMLogOpenAPI
  import MMLogReader
  import OpenAPIRuntime
  import TestSupport
  import Testing

  private struct NoAnswer: Error {}

  /// Chunks that can be read any number of times.
  private struct Chunks: AsyncSequence, Sendable {
    let chunks: [HTTPBody.ByteChunk]

    struct AsyncIterator: AsyncIteratorProtocol {
      var chunks: [HTTPBody.ByteChunk].Iterator
      mutating func next() async -> HTTPBody.ByteChunk? { chunks.next() }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(chunks: chunks.makeIterator()) }
  }

  @Suite("The middleware of swift-openapi-runtime") struct HTTPLogMiddlewareTests {
    private let folder = TemporaryDirectory()

    private func records(_ store: LogStore) throws -> [LogReader.Record] {
      try store.close()
      return LogReader.records(in: folder)
    }

    private func log(_ store: LogStore, _ role: HTTPLog.Options.Role) -> HTTPLog {
      let log = store.logger(label: "http")
      log.level = .trace
      var options = HTTPLog.Options()
      options.role = role
      options.request.insert(.taskDescription)
      return HTTPLog(log, options: options)
    }

    @Test("an operation of a client is an exchange, whose bodies pass by and are recorded")
    func client() async throws {
      let store = try LogStore(directory: folder.path, name: "client")
      let middleware = HTTPLogMiddleware(log(store, .client))
      var request = HTTPRequest(
        method: .put, scheme: nil, authority: nil, path: "/orders?sid=5ecre7")
      request.headerFields[.contentType] = "application/json"
      request.headerFields[.authorization] = "Bearer 5ecre7"
      let chunks = ["{\"pass", "word\":\"5ec", "re7\",\"n\":1}"].map { ArraySlice($0.utf8) }
      let stream = AsyncStream<HTTPBody.ByteChunk> { continuation in
        for chunk in chunks { continuation.yield(chunk) }
        continuation.finish()
      }
      let body = HTTPBody(stream, length: .unknown)
      let url = try #require(URL(string: "https://h/v1/"))
      let (response, answer) = try await middleware.intercept(
        request, body: body, baseURL: url, operationID: "putOrder"
      ) { _, body, _ in
        let sent = try await String(collecting: try #require(body), upTo: 1000)
        #expect(sent == "{\"password\":\"5ecre7\",\"n\":1}")
        var response = HTTPResponse(status: .created)
        response.headerFields[.contentType] = "application/json; charset=utf-8"
        return (response, HTTPBody("{\"token\":\"5ecre7\"}"))
      }
      #expect(response.status == .created)
      let text = try await String(collecting: try #require(answer), upTo: 1000)
      #expect(text == "{\"token\":\"5ecre7\"}")
      let all = try records(store)
      #expect(all.count == 4 && Set(all.map(\.spanNumber)).count == 1)
      #expect(all[0].text("url.full") == "https://h/v1/orders?sid=REDACTED")
      #expect(all[0].text("http.task") == "putOrder")
      #expect(all[0].text("http.request.header.authorization") == "REDACTED")
      #expect(
        all[1].text("http.request.body.content") == "{\"password\":\"REDACTED\",\"n\":1}")
      #expect(all[2].text("http.response.body.content") == "{\"token\":\"REDACTED\"}")
      #expect(all[3].text("http.response.status_code") == "201")
      #expect(all[3].text("http.response.body.size") == "18")
    }

    @Test("a request's body that is read again is recorded anew, not behind what was read before")
    func readAgain() async throws {
      let store = try LogStore(directory: folder.path, name: "client")
      let middleware = HTTPLogMiddleware(log(store, .client))
      var request = HTTPRequest(method: .put, scheme: nil, authority: nil, path: "/orders")
      request.headerFields[.contentType] = "application/json"
      let body = HTTPBody(
        Chunks(chunks: ["{\"number\":", "12}"].map { ArraySlice($0.utf8) }), length: .unknown,
        iterationBehavior: .multiple)
      let url = try #require(URL(string: "https://h"))
      _ = try await middleware.intercept(
        request, body: body, baseURL: url, operationID: "putOrder"
      ) { _, body, _ in
        let body = try #require(body)
        // As a transport does that fails in the middle, and tries again.
        var chunks = body.makeAsyncIterator()
        _ = try await chunks.next()
        let sent = try await String(collecting: body, upTo: 1000)
        #expect(sent == "{\"number\":12}")
        return (HTTPResponse(status: .created), nil)
      }
      let bodies = try records(store).compactMap { $0.text("http.request.body.content") }
      #expect(bodies.count == 2 && bodies.last == "{\"number\":12}")
    }

    @Test("an operation of a server that throws has failed")
    func server() async throws {
      let store = try LogStore(directory: folder.path, name: "server")
      let middleware = HTTPLogMiddleware(log(store, .server))
      let inside = store.logger(label: "inside")
      let request = HTTPRequest(method: .get, scheme: "https", authority: "h", path: "/a")
      await #expect(throws: NoAnswer.self) {
        _ = try await middleware.intercept(
          request, body: nil, metadata: .init(), operationID: "getA"
        ) { _, _, _ in throw NoAnswer() }
      }
      let (response, _) = try await middleware.intercept(
        request, body: nil, metadata: .init(), operationID: "getA"
      ) { _, _, _ in
        inside.info("found nothing")
        return (HTTPResponse(status: .notFound), nil)
      }
      #expect(response.status == .notFound)
      let all = try records(store)
      let failed = all.compactMap { record -> Bool? in
        if case .end(_, _, let failed) = record.span?.event { failed } else { nil }
      }
      #expect(failed == [true, false] && all[0].text("url.full") == "https://h/a")
      // What an operation logs belongs to its exchange.
      let said = all.first { $0.message == "found nothing" }
      #expect(said?.spanNumber != nil && said?.spanNumber == all.last?.spanNumber)
    }

    @Test("of a server whose operation is a client's, the failure is what neither has wrapped")
    func gateway() async throws {
      let store = try LogStore(directory: folder.path, name: "gateway")
      let middleware = HTTPLogMiddleware(log(store, .server))
      let request = HTTPRequest(method: .get, scheme: "https", authority: "h", path: "/a")
      await #expect(throws: ServerError.self) {
        _ = try await middleware.intercept(
          request, body: nil, metadata: .init(), operationID: "getA"
        ) { request, _, metadata in
          var inner = request
          inner.headerFields[try #require(HTTPField.Name("x-customer"))] = "Ann"
          let error = ClientError(
            operationID: "getB", operationInput: "customer Ann", request: inner,
            causeDescription: "", underlyingError: NoAnswer())
          throw ServerError(
            operationID: "getA", request: request, requestBody: nil, requestMetadata: metadata,
            causeDescription: "", underlyingError: error)
        }
      }
      let end = try #require(try records(store).last)
      #expect(end.text("error.type") == "NoAnswer" && end.text("error.message") == "NoAnswer()")
    }
  }
#endif
