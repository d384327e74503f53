import Foundation
import MMLog
import MMLogDestinations
import MMLogReader
import MMLogShipping
import TestSupport
import Testing

@Suite("ClickHouse") struct ClickHouseTests {
  /// Debian's server is old: it has neither maps nor tokens, but the same protocol.
  private final class Server {
    /// The path of the server: MMLOG_CLICKHOUSE, or where a package installs it.
    static let path =
      ProcessInfo.processInfo.environment["MMLOG_CLICKHOUSE"] ?? Program.path("clickhouse-server")

    let folder = TemporaryDirectory()
    private let server: ChildProcess
    let url: String
    private let client = HTTPClient(HTTPSettings())

    init() async throws {
      let held = try HeldPort()
      defer { withExtendedLifetime(held) {} }
      url = "http://127.0.0.1:\(held.number)"
      let configuration = """
        <yandex><logger><level>warning</level><console>1</console></logger>
        <http_port>\(held.number)</http_port><listen_host>127.0.0.1</listen_host>
        <path>\(folder.path)/data/</path><tmp_path>\(folder.path)/tmp/</tmp_path>
        <users_config>\(folder.path)/users.xml</users_config>
        <default_profile>default</default_profile><default_database>default</default_database>
        <mark_cache_size>104857600</mark_cache_size></yandex>
        """
      let users = """
        <yandex><profiles><default/></profiles><quotas><default/></quotas><users><default>
        <password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile>
        <quota>default</quota></default></users></yandex>
        """
      for (name, text) in [("config.xml", configuration), ("users.xml", users)] {
        try Data(text.utf8).write(to: URL(filePath: "\(folder.path)/\(name)"))
      }
      server = try ChildProcess(
        Self.path ?? "", ["--config-file", "\(folder.path)/config.xml"],
        output: "\(folder.path)/output")
      while true {
        guard server.isRunning else { throw Failure("no server: \(server.complaints)") }
        if (try? await query("SELECT 1")) == "1\n" { return }
        try await Task.sleep(for: .milliseconds(50))
      }
    }

    func query(_ statement: String) async throws -> String {
      let answer = try await client.send(
        HTTPRequest("POST", url, body: .bytes(Array(statement.utf8))))
      guard answer.isSuccess else { throw Failure(answer.text) }
      return answer.text
    }

    /// Makes a table with types that the server has. They accept the same bytes as the schema's
    /// types.
    func makeTable(_ name: String) async throws {
      _ = try await query(
        """
        CREATE TABLE \(name) (Timestamp Int64, TraceId String, SpanId String, TraceFlags UInt8,
        SeverityText String, SeverityNumber UInt8, ServiceName String,
        ResourceAttributes String, ScopeName String, Body String, LogAttributes String,
        RecordId String)
        ENGINE = MergeTree PARTITION BY tuple() ORDER BY Timestamp
        """)
    }
  }

  @Test(
    "a real server has each record with its values, and says what is wrong with a table",
    .enabled(if: Server.path != nil, "no clickhouse-server here: Tools/setup --receivers")
  )
  func rows() async throws {
    let server = try await Server()
    let destination = ClickHouseDestination(
      url: server.url, table: "default.logs", deduplicates: false, hasJSON: true)
    let missing = await #expect(throws: DeliveryError.self) { try await destination.check() }
    #expect(missing?.remedy == .waitForAction)
    try await server.makeTable("logs")
    try await destination.check()
    let long = String(repeating: "0123456789", count: 30)
    let gap = TestBatch.gap
    let made = try TestBatch(gaps: [gap]) { log, _ in
      for index in 0..<1000 { log.info("line \(index, name: "number") é") }
      log.error("\(long, name: "text")", metadata: ["list": .array([.int(1), .int(2)])])
      let span = log.begin("span")
      span.end("over", failed: true)
    }
    _ = try await destination.send(made.batch)
    let ids = try await server.query(
      "SELECT RecordId FROM logs WHERE ScopeName = 'orders.matching' ORDER BY Timestamp, RecordId")
    #expect(Set(ids.split(separator: "\n").map(String.init)) == Set(made.ids))
    let row = try await server.query(
      """
      SELECT Timestamp, SeverityText, SeverityNumber, ServiceName, Body,
      visitParamExtractInt(LogAttributes, 'number'),
      visitParamExtractString(ResourceAttributes, 'service.version')
      FROM logs WHERE RecordId = '\(made.ids[7])'
      """)
    #expect(
      row == "\(made.records[7].time.nanosecondsSince1970)\tinfo\t9\torders\tline 7 é\t7\t1.2\n")
    let values = try await server.query(
      "SELECT LogAttributes FROM logs WHERE RecordId = '\(made.ids[1000])'")
    #expect(values.contains("\"text\":\"\(long)\"") && values.contains("\"list\":[1,2]"))
    let gaps = try await server.query(
      "SELECT Body, SeverityText FROM logs WHERE ScopeName = 'mmlog.ship'")
    #expect(gaps == "records are missing: \(gap)\twarning\n")
    let spans = try await server.query(
      "SELECT uniq(TraceId), uniq(SpanId), count() FROM logs WHERE TraceId != ''")
    #expect(spans == "1\t1\t2\n")
    // The server lacks a setting. That blocks sending, and the error names the setting.
    let token = await #expect(throws: DeliveryError.self) {
      _ = try await ClickHouseDestination(url: server.url).send(made.batch)
    }
    #expect(token?.remedy == .waitForAction)
    #expect(token?.message.contains("insert_deduplication_token") == true)
  }

  @Test("the schema's limit of days has a type that servers from 22.2 on take")
  func retention() {
    let limited = ClickHouseSchema.statement(table: "logs", days: 7)
    #expect(limited.contains("\nTTL toDateTime(least("), "\(limited)")
    #expect(limited.contains("Timestamp + toIntervalDay(7)"), "\(limited)")
    #expect(!ClickHouseSchema.statement(table: "logs", days: nil).contains("\nTTL"))
  }

  @Test(
    "a time beyond those of old types of dates is in its partition, and stays",
    .enabled(if: ClickHouseEngine.isThere, ClickHouseEngine.missing))
  func farTimes() async throws {
    let server = try ClickHouseEngine()
    for (table, days) in [("kept", nil), ("limited", 30)] as [(String, Int?)] {
      _ = try await server.query(ClickHouseSchema.statement(table: table, days: days))
      for time in ["1960-02-03 00:00:00", "2110-02-03 00:00:00", "2200-02-03 00:00:00"] {
        _ = try await server.query("INSERT INTO \(table) (Timestamp) VALUES ('\(time)')")
      }
      _ = try await server.query("OPTIMIZE TABLE \(table) FINAL")
      let found = try await server.query(
        "SELECT toYear(Timestamp), _partition_id FROM \(table) ORDER BY Timestamp")
      // A partition's id is its day since 1970.
      #expect(found == (days == nil ? "1960\t-3620\n" : "") + "2110\t51167\n2200\t84039\n")
    }
  }

  @Test(
    "today's engine stores a batch that comes again once, in the table of the schema",
    .enabled(if: ClickHouseEngine.isThere, ClickHouseEngine.missing))
  func deduplication() async throws {
    let server = try ClickHouseEngine()
    let missing = await #expect(throws: DeliveryError.self) {
      try await ClickHouseDestination(url: server.url).check()
    }
    #expect(missing?.remedy == .waitForAction, "\(missing as Any)")
    _ = try await server.query(ClickHouseSchema.statement(table: "logs"))
    try await ClickHouseDestination(url: server.url).check()
    let made = try TestBatch(gaps: [TestBatch.gap]) { log, _ in
      for index in 0..<500 { log.info("line \(index, name: "number")") }
      log.begin("span").end("over")
    }
    // Each destination is a new one, as after a crash.
    for _ in 0..<3 { _ = try await ClickHouseDestination(url: server.url).send(made.batch) }
    #expect(
      try await server.query("SELECT count(), uniq(RecordId) FROM logs")
        == "\(made.ids.count + 1)\t\(made.ids.count + 1)\n")
    let row = try await server.query(
      """
      SELECT toUnixTimestamp64Nano(Timestamp), Body, LogAttributes['number'],
      ResourceAttributes['service.version'] FROM logs WHERE RecordId = '\(made.ids[7])'
      """)
    #expect(row == "\(made.records[7].time.nanosecondsSince1970)\tline 7\t7\t1.2\n")
    // The same rows under another id are another batch: only the token counts.
    let other = LogBatch(
      id: String(made.batch.id.reversed()), session: made.batch.session,
      records: made.batch.records)
    _ = try await ClickHouseDestination(url: server.url).send(other)
    #expect(try await server.query("SELECT count() FROM logs") == "\(2 * made.ids.count + 1)\n")
    // A table without a deduplication window keeps repeats.
    let statement = ClickHouseSchema.statement(table: "forgetful")
      .replacing("non_replicated_deduplication_window = 10000, ", with: "")
    _ = try await server.query(statement)
    for _ in 0..<2 {
      _ = try await ClickHouseDestination(url: server.url, table: "forgetful").send(made.batch)
    }
    let kept = try await server.query("SELECT count() FROM forgetful")
    #expect(kept == "\(2 * (made.ids.count + 1))\n")
  }

  @Test("maps have as many pairs as they say, each a text with its length")
  func maps() async throws {
    let receiver = try TestReceiver()
    let long = String(repeating: "0123456789", count: 30)
    let made = try TestBatch { log, _ in
      log.info(
        "\(7, name: "number") \(long, name: "text")",
        metadata: ["list": .array([.int(1)]), "thread.id": "mine"])
    }
    _ = try await ClickHouseDestination(url: receiver.url).send(made.batch)
    var rest = Array(try #require(try receiver.requests.first).body)[...]
    func number() -> Int {
      var (value, shift) = (0, 0)
      while let byte = rest.popFirst() {
        value |= Int(byte & 0x7F) << shift
        if byte < 0x80 { break }
        shift += 7
      }
      return value
    }
    func text() -> String {
      let count = number()
      defer { rest = rest.dropFirst(count) }
      return String(decoding: rest.prefix(count), as: UTF8.self)
    }
    func map() -> [String: String] {
      let pairs = (0..<number()).map { _ in (text(), text()) }
      #expect(Set(pairs.map(\.0)).count == pairs.count, "\(pairs)")
      return Dictionary(pairs, uniquingKeysWith: { first, _ in first })
    }
    rest = rest.dropFirst(8)
    #expect(text() == "" && text() == "" && rest.popFirst() == 0)
    #expect(text() == "info" && rest.popFirst() == 9 && text() == "orders")
    #expect(map()["service.version"] == "1.2")
    #expect(text() == "orders.matching" && text() == "7 \(long)")
    let attributes = map()
    #expect(
      attributes["number"] == "7" && attributes["text"] == long && attributes["list"] == "[1]")
    #expect(attributes["code.line.number"] != nil && attributes["thread.id"] != nil)
    #expect(attributes["thread.id#2"] == "mine")
    #expect(text() == made.ids[0] && rest.isEmpty)
  }

  @Test("each insert has the batch's id as its token, and an exception its remedy")
  func tokens() async throws {
    let made = try TestBatch()
    let answers: [(Int, String, DeliveryError.Remedy?)] = [
      (200, "", nil), (500, "Code: 252. DB::Exception: Too many parts", .tryAgain(after: nil)),
      (
        500,
        "Code: 252. DB::Exception: Too many partitions for single INSERT block (more than 100)",
        .halve
      ),
      (500, "Code: 27, e.displayText() = DB::Exception: Cannot parse", .halve),
      (404, "Code: 60. DB::Exception: Table does not exist", .waitForAction),
      (200, "Code: 241. DB::Exception: Memory limit exceeded", .tryAgain(after: nil)),
      (503, "", .tryAgain(after: nil)),
    ]
    let server = try TestReceiver(
      answers.map { PlannedAnswer(status: $0.0, body: Data($0.1.utf8)) })
    let destination = ClickHouseDestination(url: server.url, table: "a.`b`")
    for (status, text, remedy) in answers {
      do {
        _ = try await destination.send(made.batch)
        #expect(remedy == nil)
      } catch let error as DeliveryError {
        #expect(error.remedy == remedy, "\(status) \(text)")
      }
    }
    let path = try #require(try server.requests.first?.path)
    #expect(path.contains("insert_deduplication_token=\(made.batch.id)"))
    #expect(path.contains("INSERT%20INTO%20%60a%60.%60%5C%60b%5C%60%60"))
  }
}
