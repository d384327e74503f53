import Foundation
import Glibc
import MMLog
import MMLogHTTP
import MMLogReader
import TestSupport
import Testing

/// Processes that die, exit and fork inside an exchange.
@Suite("Exchanges in flight") struct DyingExchangeTests {
  /// Begins an exchange with secrets in all places, whose body is a flight record.
  private static func begin(_ path: String) throws -> (LogStore, HTTPLog.Exchange) {
    var configuration = LogStore.Configuration()
    (configuration.level, configuration.archiveLevel) = (.trace, .info)
    let store = try LogStore(directory: path, name: "http", configuration: configuration)
    let http = HTTPLog(store.logger(label: "http"))
    http.begin(method: "GET", url: "/ended").end(status: 200)
    let exchange = http.begin(
      method: "PUT", url: "https://ann:5ecre7@h/?token=5ecre7",
      headers: ["Cookie": "5ecre7", "x": "sid=5ecre7"])
    exchange.record(
      body: Array("{\"password\":\"5ecre7\",\"n\":1}".utf8), of: .request,
      contentType: "application/json")
    return (store, exchange)
  }

  private static func reopen(_ path: String) throws {
    try LogStore(directory: path, name: "http").close()
  }

  private static func contains(_ path: String, _ text: String) throws -> Bool {
    try Folder.names(path).contains {
      try Data(contentsOf: URL(filePath: "\(path)/\($0)")).range(of: Data(text.utf8)) != nil
    }
  }

  @Test("a killed process leaves what was in flight, with its body, and no secret")
  func killed() async throws {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = folder.path as String] in
      let begun = try Self.begin(path)
      kill(getpid(), SIGKILL)
      withExtendedLifetime(begun) {}
    }
    #expect(try Self.contains(folder.path, "REDACTED"))
    #expect(try !Self.contains(folder.path, "5ecre7"))
    // The next store recovers it into an archive.
    for round in 0..<2 {
      let all = LogReader.records(in: folder)
      let begun = try #require(all.first { $0.text("http.request.method") == "PUT" })
      #expect(!all.contains { $0.hasFailed != nil && $0.spanNumber == begun.spanNumber })
      let body = all.first { $0.text("http.request.body.content") != nil }
      #expect(body?.text("http.request.body.content") == #"{"password":"REDACTED","n":1}"#)
      #expect(body?.spanNumber == begun.spanNumber, "\(round)")
      try Self.reopen(folder.path)
    }
    #expect(try !Self.contains(folder.path, "5ecre7"))
  }

  @Test("a process that exits inside an exchange leaves it in flight")
  func exited() async throws {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .exitCode(3)) { [path = folder.path as String] in
      let begun = try Self.begin(path)
      exit(withExtendedLifetime(begun) { 3 })
    }
    let all = LogReader.records(in: folder)
    #expect(all.compactMap(\.hasFailed) == [false])
    #expect(all.contains { $0.text("http.request.method") == "PUT" })
  }

  @Test(
    "a fork's child may end its parent's exchange, as the parent may",
    .disabled(if: hasThreadSanitizer, "it supports no threads in a fork's child"))
  func forked() async throws {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .success) { [path = folder.path as String] in
      let (store, exchange) = try Self.begin(path)
      let child = fork()
      require(child >= 0)
      exchange.end(status: child == 0 ? 500 : 201)
      try store.close()
      if child == 0 { _exit(0) }
      var status: CInt = 0
      require(waitpid(child, &status, 0) == child && status == 0, "\(status)")
    }
    let all = LogReader.records(in: folder)
    let ends = all.filter { $0.hasFailed != nil }
    #expect(
      Set(ends.compactMap { $0.number("http.response.status_code") }) == [200, 201, 500])
    let own = ends.filter { $0.number("http.response.status_code") == 201 }
    let begun = all.first { $0.text("http.request.method") == "PUT" }
    #expect(own.map(\.spanNumber) == [begun?.spanNumber])
    let child = ends.filter { $0.number("http.response.status_code") == 500 }
    #expect(child.map(\.spanNumber) == [nil])
  }
}
