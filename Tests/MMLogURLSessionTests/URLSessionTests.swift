import Foundation
import FoundationNetworking
import MMLog
import MMLogFormat
import MMLogHTTP
import MMLogReader
import MMLogURLSession
import Synchronization
import TestSupport
import Testing

@Suite("Exchanges of URLSession") struct URLSessionTests {
  private let folder = TemporaryDirectory()

  private func server() throws -> LocalServer {
    try LocalServer { path, body in
      let (status, type, text) =
        path.hasPrefix("/missing")
        ? ("404 Not Found", "text/plain", "nothing")
        : ("200 OK", "application/json", "{\"token\":\"5ecre7\",\"size\":\(body.utf8.count)}")
      if path.hasPrefix("/silent") { return nil }
      if path.hasPrefix("/empty") {
        return "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
      }
      return "HTTP/1.1 \(status)\r\nContent-Type: \(type)\r\nSet-Cookie: a=5ecre7\r\n"
        + "Content-Length: \(text.utf8.count)\r\nConnection: close\r\n\r\n\(text)"
    }
  }

  private func records(_ store: LogStore) throws -> [LogReader.Record] {
    try store.close()
    return LogReader.records(in: folder)
  }

  @Test("requests, answers and failures are recorded, and no secret of theirs is")
  func exchanges() async throws {
    let server = try server()
    defer { server.stop() }
    let store = try LogStore(directory: folder.path, name: "client")
    let log = store.logger(label: "http")
    log.level = .trace
    let http = HTTPLog(log)
    let session = URLSession(configuration: .ephemeral)
    func request(_ path: String) throws -> URLRequest {
      URLRequest(url: try #require(URL(string: "http://127.0.0.1:\(server.port)\(path)")))
    }
    var get = try request("/ok?api_key=5ecre7&page=2")
    get.setValue("Bearer 5ecre7", forHTTPHeaderField: "Authorization")
    let (data, response) = try await session.data(for: get, log: http)
    #expect(String(decoding: data, as: UTF8.self) == "{\"token\":\"5ecre7\",\"size\":0}")
    #expect((response as? HTTPURLResponse)?.statusCode == 200)
    var put = try request("/ok")
    put.httpMethod = "PUT"
    put.setValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
    let form = Data("user=ann&password=5ecre7".utf8)
    let uploaded = try await session.upload(for: put, from: form, log: http)
    #expect(String(decoding: uploaded.0, as: UTF8.self).hasSuffix("\"size\":24}"))
    _ = try await session.data(for: request("/missing"), log: http)
    await #expect(throws: URLError.self) {
      _ = try await session.data(for: request("/silent?sid=5ecre7"), log: http)
    }
    let all = try records(store)
    let ends = all.filter { if case .end = $0.span?.event { true } else { false } }
    #expect(ends.map { $0.text("http.response.status_code") } == ["200", "200", "404", nil])
    let failed = ends.map {
      if case .end(_, _, let failed) = $0.span?.event { failed } else { false }
    }
    #expect(failed == [false, false, true, true])
    #expect(all[0].text("url.full")?.hasSuffix("/ok?api_key=REDACTED&page=2") == true)
    #expect(all[0].text("http.request.header.authorization") == "REDACTED")
    #expect(ends[0].text("http.response.header.set-cookie") == "REDACTED")
    #expect(ends[0].text("http.response.body.size") == "27")
    let bodies = all.compactMap {
      $0.text("http.request.body.content") ?? $0.text("http.response.body.content")
    }
    #expect(
      bodies == [
        "{\"token\":\"REDACTED\",\"size\":0}", "user=ann&password=REDACTED",
        "{\"token\":\"REDACTED\",\"size\":24}",
      ])
    #expect(ends[3].text("error.type") != nil)
    // Each exchange begins and ends at the statement of its caller.
    for end in ends {
      let begin = all.first { $0.spanNumber == end.spanNumber }
      #expect(end.file == #fileID && begin?.file == #fileID && end.line == begin?.line)
    }
    #expect(!all.contains { $0.message.contains("5ecre7") })
    #expect(all.allSatisfy { $0.label == "http" && $0.spanNumber != nil })
  }

  @Test("an empty body is none") func emptyBody() async throws {
    let server = try server()
    defer { server.stop() }
    let store = try LogStore(directory: folder.path, name: "client")
    let log = store.logger(label: "http")
    log.level = .trace
    let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/empty"))
    var request = URLRequest(url: url)
    request.httpMethod = "PUT"
    _ = try await URLSession(configuration: .ephemeral).upload(
      for: request, from: Data(), log: HTTPLog(log))
    let all = try records(store)
    #expect(all.count == 2 && all.last?.text("http.response.body.size") == "0")
  }

  @Test("a task with a completion handler is recorded before the handler is called")
  func completionHandler() async throws {
    let server = try server()
    defer { server.stop() }
    let store = try LogStore(directory: folder.path, name: "client")
    var options = HTTPLog.Options()
    options.request.insert(.taskDescription)
    let http = HTTPLog(store.logger(label: "http"), options: options)
    let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/ok"))
    let size = await withCheckedContinuation { continuation in
      let task = URLSession.shared.dataTask(
        with: URLRequest(url: url), log: http, task: "all orders"
      ) { data, _, _ in continuation.resume(returning: data?.count) }
      #expect(task.taskDescription == "all orders")
      task.resume()
    }
    let all = try records(store)
    #expect(size == 27 && all.count == 2)
    #expect(all[0].text("http.task") == "all orders")
    #expect(all[1].text("http.response.body.size") == "27")
  }
}
