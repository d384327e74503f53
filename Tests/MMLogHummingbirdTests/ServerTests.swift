#if Hummingbird && AsyncHTTPClient && ServiceLifecycle && SwiftLog
  import AsyncHTTPClient
  import Foundation
  import HTTPTypes
  import Hummingbird
  import Logging
  import MMLog
  import MMLogAsyncHTTPClient
  import MMLogFormat
  import MMLogHTTP
  import MMLogHummingbird
  import MMLogReader
  import MMLogServiceLifecycle
  import MMLogStorage
  import MMLogSwiftLog
  import NIOCore
  import NIOHTTP1
  import ServiceLifecycle
  import TestSupport
  import Testing

  /// A real server and a real client, each of which records into a store of its own.
  @Suite("A server of Hummingbird and AsyncHTTPClient") struct ServerTests {
    private let folder = TemporaryDirectory()

    /// Below `archiveLevel`, and captured for exchanges that failed.
    private func openStore(_ name: String) throws -> LogStore {
      var configuration = LogStore.Configuration()
      (configuration.level, configuration.archiveLevel) = (.trace, .info)
      (configuration.captureLevel, configuration.spanCapture) = (nil, SpanCapture())
      configuration.fullRing = .wait(upTo: .seconds(60))
      return try LogStore(directory: folder(name), name: name, configuration: configuration)
    }

    private func log(_ store: LogStore, _ role: HTTPLog.Options.Role) -> HTTPLog {
      var options = HTTPLog.Options()
      options.role = role
      options.headersLevel = .info
      return HTTPLog(store.logger(label: "http"), options: options)
    }

    private struct Broken: Error {}

    private static func router(_ store: LogStore, _ http: HTTPLog) -> Router<BasicRequestContext> {
      let router = Router()
      router.add(middleware: HTTPLogRouterMiddleware(http))
      // By swift-log, and by mmlog.
      let log = Logging.Logger(label: "handler") { MMLogHandler(label: $0, store: store) }
      router.put("echo") { request, _ in
        log.info("echoes")
        store.logger(label: "handler").debug("in the ring alone")
        let headers: HTTPFields = [.contentType: "application/json", .setCookie: "sid=5ecre7"]
        return Response(
          status: .ok, headers: headers, body: ResponseBody(asyncSequence: request.body))
      }
      router.put("refuse") { request, _ in
        let body = try await request.body.collect(upTo: 1 << 20)
        return Response(
          status: .serviceUnavailable, headers: [.contentType: "application/json"],
          body: ResponseBody(byteBuffer: body))
      }
      router.put("moved") { _, _ in
        Response(status: .temporaryRedirect, headers: [.location: "/echo"])
      }
      router.get("missing") { _, _ -> Response in throw HTTPError(.notFound) }
      router.get("broken") { _, _ -> Response in throw Broken() }
      router.get("cut") { _, _ in
        Response(
          status: .ok,
          body: ResponseBody(contentLength: 100) { writer in
            log.info("writes")
            try await writer.write(ByteBuffer(string: "no more"))
            throw Broken()
          })
      }
      router.get("empty") { _, _ in Response(status: .noContent) }
      return router
    }

    /// Runs the server as a group of services, whose last to end is its store.
    private func withServer(_ body: (Int) async throws -> Void) async throws {
      let store = try openStore("server")
      let (ports, port) = AsyncStream.makeStream(of: Int.self)
      let app = Application(
        router: Self.router(store, log(store, .server)),
        configuration: .init(address: .hostname("127.0.0.1", port: 0)),
        onServerRunning: { port.yield($0.localAddress?.port ?? 0) },
        logger: Logging.Logger(label: "app") { _ in SwiftLogNoOpLogHandler() })
      let group = ServiceGroup(
        services: [LogStoreService(store), app],
        logger: Logging.Logger(label: "group") { _ in SwiftLogNoOpLogHandler() })
      try await withThrowingTaskGroup(of: Void.self) { tasks in
        tasks.addTask { try await group.run() }
        var first = ports.makeAsyncIterator()
        try await body(try #require(await first.next()))
        await group.triggerGracefulShutdown()
        try await tasks.waitForAll()
      }
    }

    private func records(_ name: String) -> [LogReader.Record] {
      LogReader(paths: [folder(name)]).compactMap {
        if case .record(let record) = $0 { record } else { nil }
      }
    }

    private func bodies(_ records: [LogReader.Record]) -> [String] {
      records.compactMap {
        $0.text("http.request.body.content") ?? $0.text("http.response.body.content")
      }
    }

    /// How the exchanges ended: failed or not, and the status.
    private func ends(_ records: [LogReader.Record]) -> [String] {
      records.compactMap {
        guard case .end(_, _, let failed) = $0.span?.event else { return nil }
        return "\(failed) \($0.text("http.response.status_code") ?? "-")"
      }
    }

    /// Whether any file of a store has a text in it, compressed or not.
    private func has(_ name: String, _ text: String) throws -> Bool {
      try Folder.names(folder(name)).contains {
        try Data(contentsOf: URL(filePath: folder("\(name)/\($0)"))).range(of: Data(text.utf8))
          != nil
      }
        || records(name).contains {
          $0.message.contains(text) || $0.fields.contains { "\($0.value)".contains(text) }
        }
    }

    private func request(
      _ method: HTTPMethod, _ port: Int, _ path: String, _ body: HTTPClientRequest.Body? = nil
    ) -> HTTPClientRequest {
      var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)/\(path)")
      request.method = method
      request.headers.add(name: "authorization", value: "Bearer 5ecre7")
      if body != nil { request.headers.add(name: "content-type", value: "application/json") }
      request.body = body
      return request
    }

    private static let good = #"{"password":"5ecre7","word":"silver"}"#
    private static let bad = #"{"password":"5ecre7","word":"copper"}"#

    /// In pieces, within the secret.
    private static func chunks(_ text: String) -> AsyncStream<ByteBuffer> {
      let (stream, continuation) = AsyncStream.makeStream(of: ByteBuffer.self)
      for start in stride(from: 0, to: text.utf8.count, by: 5) {
        continuation.yield(ByteBuffer(bytes: Array(text.utf8)[start...].prefix(5)))
      }
      continuation.finish()
      return stream
    }

    @Test(
      "each side has a span of each exchange, bodies of those that failed, and no secret"
    )
    func exchanges() async throws {
      let store = try openStore("client")
      let http = log(store, .client)
      try await withServer { port in
        func answer(
          _ method: HTTPMethod, _ path: String, _ body: HTTPClientRequest.Body? = nil
        ) async throws -> String {
          let response = try await HTTPClient.shared.execute(
            request(method, port, path, body), timeout: .seconds(60), log: http)
          let bytes = try await response.body.collect(upTo: 1 << 20)
          return "\(response.status.code) \(String(buffer: bytes))"
        }
        // Whole bodies, and streams of a known length and of none.
        for text in [Self.good, Self.bad] {
          let path = text == Self.good ? "echo?api_key=5ecre7&page=2" : "refuse?api_key=5ecre7"
          let status = text == Self.good ? 200 : 503
          for body: HTTPClientRequest.Body in [
            .bytes(ByteBuffer(string: text)), .bytes(Array(text.utf8)),
            .stream(Self.chunks(text), length: .known(Int64(text.utf8.count))),
            .stream(Self.chunks(text), length: .unknown),
          ] {
            let answered = try await answer(.PUT, path, body)
            #expect(answered == "\(status) \(text)")
          }
        }
        let missing = try await answer(.GET, "missing")
        let broken = try await answer(.GET, "broken")
        #expect(missing.hasPrefix("404 ") && broken.hasPrefix("500 "))
        await #expect(throws: (any Error).self) { _ = try await answer(.GET, "cut") }
        let empty = try await answer(.GET, "empty")
        #expect(empty == "204 ")
        // In the rings as they are now.
        for name in ["client", "server"] {
          #expect(try Folder.names(folder(name)).contains { $0.hasSuffix(".ring") })
          #expect(try !has(name, "5ecre7"), "\(name)")
        }
      }
      try await store.close()
      let (client, server) = (records("client"), records("server"))
      let answered = ["false 200", "true 503"].flatMap { Array(repeating: $0, count: 4) }
      #expect(ends(client) == answered + ["true 404", "true 500", "true -", "false 204"])
      // A client may go on before the server has noted that it has written all.
      #expect(
        ends(server).sorted()
          == (answered + ["false 404", "true -", "true -", "false 204"]).sorted())
      // Of each one that failed, what was asked and answered, and of no other.
      let redacted = Self.bad.replacing("5ecre7", with: "REDACTED")
      for side in [client, server] {
        let kept = bodies(side).filter { $0.contains("copper") }
        #expect(kept == Array(repeating: redacted, count: 8))
        #expect(!bodies(side).contains { $0.contains("silver") })
        let begun = side.filter { $0.text("url.full") != nil }
        #expect(begun.count == 12)
        #expect(begun[0].text("url.full")?.hasSuffix("/echo?api_key=REDACTED&page=2") == true)
        #expect(begun[0].text("http.request.header.authorization") == "REDACTED")
        let ended = side.filter { $0.text("http.response.status_code") != nil }
        let sizes = ended.compactMap { $0.text("http.response.body.size") }
        #expect(sizes.count { $0 == "\(Self.good.utf8.count)" } == 8, "\(sizes)")
      }
      #expect(begunURL(server)?.hasPrefix("http://127.0.0.1:") == true)
      for name in ["client", "server"] {
        for text in ["5ecre7", "silver", "in the ring alone"] {
          #expect(try !has(name, text), "\(text) of the \(name)")
        }
        #expect(try has(name, "copper"))
      }
      // What a handler logs belongs to its exchange, also while it writes.
      let inside = server.filter { $0.message == "echoes" }
      #expect(inside.count == 4 && inside.first?.spanNumber == server.first?.spanNumber)
      let cut = server.first { $0.text("url.full")?.hasSuffix("/cut") == true }
      let writing = server.first { $0.message == "writes" }
      #expect(writing?.spanNumber != nil && writing?.spanNumber == cut?.spanNumber)
    }

    private func begunURL(_ records: [LogReader.Record]) -> String? {
      records.lazy.compactMap { $0.text("url.full") }.first
    }

    @Test(
      "a response that nobody reads ends its exchange when it is dropped, and a refusal at once")
    func dropped() async throws {
      let store = try openStore("client")
      let http = log(store, .client)
      var free = 0
      try await withServer { port in
        free = port
        let response = try await HTTPClient.shared.execute(
          request(.PUT, port, "echo", .bytes(ByteBuffer(string: Self.good))),
          timeout: .seconds(60), log: http, task: "an echo")
        #expect(response.status == .ok)
      }
      await #expect(throws: (any Error).self) {
        _ = try await HTTPClient.shared.execute(
          request(.GET, free, "gone"), deadline: .now() + .milliseconds(500), log: http)
      }
      try await store.close()
      #expect(ends(records("client")) == ["false 200", "true -"])
    }

    @Test("a redirection is a part of its exchange, and sends a whole body once more")
    func redirection() async throws {
      let store = try openStore("client")
      let http = log(store, .client)
      try await withServer { port in
        for body: HTTPClientRequest.Body in [
          .bytes(ByteBuffer(string: Self.good)), .bytes(Array(Self.good.utf8)),
        ] {
          let response = try await HTTPClient.shared.execute(
            request(.PUT, port, "moved", body), timeout: .seconds(60), log: http)
          #expect(String(buffer: try await response.body.collect(upTo: 1000)) == Self.good)
        }
      }
      try await store.close()
      #expect(ends(records("client")) == ["false 200", "false 200"])
      #expect(
        ends(records("server")).sorted() == ["false 200", "false 200", "false 307", "false 307"])
    }

    @Test("below its level, nothing is recorded, and all passes by as it was")
    func off() async throws {
      let store = try openStore("client")
      let http = log(store, .client)
      store.logger(label: "http").level = .off
      try await withServer { port in
        let response = try await HTTPClient.shared.execute(
          request(.PUT, port, "echo", .bytes(ByteBuffer(string: Self.good))),
          timeout: .seconds(60), log: http)
        #expect(String(buffer: try await response.body.collect(upTo: 1000)) == Self.good)
      }
      try await store.close()
      #expect(records("client").isEmpty)
    }
  }
#endif
