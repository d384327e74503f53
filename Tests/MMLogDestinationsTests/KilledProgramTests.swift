import Foundation
import MMLog
import MMLogDestinations
import MMLogReader
import MMLogShipping
import MMLogStorage
import TestSupport
import Testing

/// `mmlog-ship` itself, which the tests kill again and again while it sends to each receiver.
@Suite("mmlog-ship that is killed") struct KilledProgramTests {
  private let folder = TemporaryDirectory()
  private struct Line: Decodable { let log_record_uid: String }

  /// Kills `mmlog-ship` during requests to a receiver. Then runs it once to its end.
  ///
  /// - Parameters:
  ///   - url: The destination.
  ///   - settings: More lines of the configuration.
  /// - Returns: How often the program was killed.
  private func ship(to url: String, _ settings: String = "", seed: UInt64) throws -> Int {
    // The proxy counts the requests.
    let proxy = try TestServer("proxy.py")
    let configuration = folder.put(
      "ship.conf",
      """
      [destination receiver]
      url = \(url)
      proxy = \(proxy.url)
      retry-limit = 1
      \(settings)
      [directory \(folder("logs"))]
      to = receiver
      """)
    let arguments = ["--once", "--config", configuration]
    var (random, kills) = (SeededGenerator(seed: seed), 0)
    for _ in 0..<12 {
      // While the proxy holds a request, the program still runs, however late this thread kills it.
      let count = proxy.lines("requests").count + Int.random(in: 1...4, using: &random)
      let held = Bool.random(using: &random) ? "request" : "answer"
      proxy.folder.put("hold", "\(count) \(held)")
      let pause = Int.random(in: 0...2000, using: &random)
      let program = try ChildProcess(
        ChildProcess.path(of: "mmlog-ship"), arguments, output: folder("said"))
      while program.isRunning, proxy.lines("requests").count < count { usleep(100) }
      for _ in 0..<pause { sched_yield() }
      if program.isRunning { kills += 1 }
      program.kill()
      program.wait()
    }
    proxy.folder.put("hold", "")
    let program = try ChildProcess(
      ChildProcess.path(of: "mmlog-ship"), arguments, output: folder("said"))
    #expect(program.wait() == .success, "\(program.complaints)")
    return kills
  }

  /// Logs records, and returns their ids.
  private func log() async throws -> [String] {
    let store = try LogStore(directory: folder("logs"), name: "orders")
    let log = store.logger(label: "orders")
    for index in 0..<2000 { log.info("line \(index)") }
    try await store.close()
    return LogReader(paths: [folder("logs")], after: LogReader.Cursor()).compactMap {
      if case .record(let record) = $0 { record.id.map { "\($0)" } } else { nil }
    }
  }

  private func expectBalance() throws {
    let balance = try Reconciliation(of: folder("logs"), consumer: "receiver")
    #expect(balance.problems == [])
  }

  @Test(
    "ClickHouse's engine has each record once",
    .enabled(if: ClickHouseEngine.isThere, ClickHouseEngine.missing))
  func clickHouse() async throws {
    let ids = try await log()
    let server = try ClickHouseEngine()
    _ = try await server.query(ClickHouseSchema.statement(table: "logs"))
    let kills = try ship(to: "clickhouse+\(server.url)", "batch-records = 50", seed: 1)
    #expect(kills > 0)
    let there = try await server.query(
      "SELECT RecordId FROM logs ORDER BY Timestamp, RecordId")
    #expect(there.split(separator: "\n").map(String.init).sorted() == ids.sorted())
    try expectBalance()
  }

  @Test(
    "the stand-ins of Elasticsearch and Loki have each record once",
    arguments: ["elasticsearch", "loki"])
  func stubs(kind: String) async throws {
    let ids = try await log()
    let server = try TestServer("stub.py", [kind])
    let kills = try ship(to: "\(kind)+\(server.url)", "batch-records = 50", seed: 2)
    #expect(kills > 0)
    let there = try server.notes("stored", as: Line.self).map(\.log_record_uid)
    // Documents that the Elasticsearch stub refused at first are behind the others.
    #expect(kind == "loki" ? there == ids : there.sorted() == ids.sorted())
    try expectBalance()
  }

  @Test("a receiver of lines that drops a name that it has, has each record once, in order")
  func lines() async throws {
    let ids = try await log()
    let server = try TestReceiver()
    let kills = try ship(to: server.url, "batch-records = 50", seed: 3)
    #expect(kills > 0)
    var names: Set<String> = []
    let there = try server.requests.filter {
      names.insert($0.headers["idempotency-key"] ?? "").inserted
    }.flatMap { request in
      try request.text.split(separator: "\n").map {
        try JSONDecoder().decode(Line.self, from: Data($0.utf8)).log_record_uid
      }
    }
    #expect(there == ids)
    try expectBalance()
  }

  @Test(
    "S3 has each archive, and nothing else",
    .enabled(if: S3Server.isThere, S3Server.missing))
  func s3() async throws {
    let server = try await S3Server()
    try Folder.make(folder("logs"))
    for session in 1...40 as ClosedRange<UInt64> {
      let name = TestLog.sealedName(session: session)
      folder.put("logs/\(name)", TestLog.sealed(session: session))
    }
    let kills = try ship(
      to: "s3://logs/all",
      "endpoint = \(server.server.url)\ncredentials-file = \(server.keys.path)", seed: 4)
    #expect(kills > 0)
    for session in 1...40 as ClosedRange<UInt64> {
      let name = TestLog.sealedName(session: session)
      let stored = try await server.send("GET", "\(server.bucket)/all/orders/tokyo/\(name)")
      #expect(stored.body == TestLog.sealed(session: session), "\(name)")
    }
    let archives = try Catalog(of: folder("logs"), store: nil).scan()
    #expect(archives.count == 40)
    for archive in archives {
      #expect(archive.state.isUploaded && archive.state.receipt != nil, "\(archive.state)")
    }
  }
}
