import Foundation
import MMLog
import MMLogDestinations
import MMLogReader
import MMLogShipping
import TestSupport
import Testing

/// The configurations in docs/SHIPPING.md.
@Suite("What the documentation shows of destinations") struct GuideTests {
  /// A receiver for a configuration, and the parts of the configuration that the test replaces.
  private struct Setup {
    /// Texts of the block and their replacements: hosts, ports, paths.
    var changes: [(String, String)]
    /// The ids of the records that have arrived; for archives, their file names.
    var arrived: () async throws -> [String]
    /// Objects that have to live as long as the setup.
    var servers: [AnyObject] = []
  }

  private let folder = TemporaryDirectory()
  private let authority: TestAuthority

  init() throws { authority = try TestAuthority() }

  private struct Line: Decodable { let log_record_uid: String }

  private func ids(_ lines: String) throws -> [String] {
    try lines.split(separator: "\n").map {
      try JSONDecoder().decode(Line.self, from: Data($0.utf8)).log_record_uid
    }
  }

  @Test(
    "each configuration sends to its receiver what a service has logged",
    arguments: Guide.configurations.map(\.title))
  func configuration(title: String) async throws {
    let block = try #require(Guide.configurations.first { $0.title == title }?.text)
    guard let setup = try await setup(title) else { return }
    var text = block
    for (old, new) in setup.changes + [("/var/log/orders", folder("logs"))] {
      try #require(text.contains(old), "'\(title)' has no '\(old)' any more")
      text = text.replacing(old, with: new)
    }
    // A path or a host that the test does not replace would not be tested.
    #expect(!text.contains("/etc/") && !text.contains("example.com"), "\(text)")
    let store = try LogStore(directory: folder("logs"), name: "orders")
    for index in 0..<100 { store.logger(label: "orders").info("line \(index)") }
    try await store.close()
    let program = try ChildProcess(
      ChildProcess.path(of: "mmlog-ship"),
      ["--once", "--config", folder.put("ship.conf", text)], output: folder("said"))
    #expect(program.wait() == .success, "\(title): \(program.complaints)")
    let arrived = try await setup.arrived()
    if title.contains("whole archives") {
      #expect(try arrived == folder.names("logs").filter { $0.hasSuffix(".mmlog") })
    } else {
      #expect(
        arrived
          == LogReader(paths: [folder("logs")], after: LogReader.Cursor()).compactMap {
            if case .record(let record) = $0 { record.id.map { "\($0)" } } else { nil }
          }, "\(title)")
    }
    withExtendedLifetime(setup.servers) {}
  }

  /// - Returns: Nil if the receiver is not available. Then the function prints that.
  private func setup(_ title: String) async throws -> Setup? {
    switch title {
    case "OTLP: OpenTelemetry": return try otlp()
    case "ClickHouse": return try await clickHouse()
    case "Any HTTP endpoint": return try lines()
    case "Any command": return command()
    case "S3: whole archives": return try await s3()
    case "PUT: whole archives": return try put()
    case "Kafka": return try kafka()
    case "Elasticsearch and OpenSearch": return try elasticsearch()
    case "Loki": return try loki()
    default: throw Failure("'\(title)' has no receiver in this test")
    }
  }

  private func skip(_ what: String) -> Setup? {
    print("SKIPPED  \(what)")
    return nil
  }

  private func otlp() throws -> Setup {
    let server = try TestReceiver()
    return Setup(
      changes: [("localhost:4318", "127.0.0.1:\(server.port)")],
      arrived: { try server.requests.flatMap { OTLPIDs.all(in: $0.body) } })
  }

  private func clickHouse() async throws -> Setup? {
    guard ClickHouseEngine.isThere else { return skip("ClickHouse: Tools/setup --receivers") }
    let password = folder.put("password", "hunter2\n")
    let server = try TestServer("clickhouse.py", ["default", password])
    let run = { (statement: String) in
      try ChildProcess.run(
        "curl",
        ["-sSf", "-u", "default:hunter2", "--data-binary", statement, server.url],
        output: server.folder("answer"))
      return Folder.text(server.folder("answer"))
    }
    // Makes the table as the section says.
    try ChildProcess.run(
      ChildProcess.path(of: "mmlog-ship"), ["schema", "clickhouse"], output: folder("schema"))
    _ = try run(Folder.text(folder("schema")))
    return Setup(
      changes: [
        ("localhost:8123", "127.0.0.1:\(server.port)"),
        ("/etc/mmlog/clickhouse-password", password),
      ],
      arrived: {
        try run("SELECT RecordId FROM logs ORDER BY Timestamp, RecordId").split(separator: "\n")
          .map(String.init)
      })
  }

  private func lines() throws -> Setup {
    let server = try TestReceiver()
    return Setup(
      changes: [
        ("localhost:8080", "127.0.0.1:\(server.port)"),
        ("/etc/mmlog/token", folder.put("token", "hunter2\n")),
      ],
      arrived: {
        let requests = try server.requests
        #expect(requests.allSatisfy { $0.headers["authorization"] == "Bearer hunter2" })
        return try requests.flatMap { try ids($0.text) }
      })
  }

  private func command() -> Setup {
    let path = folder.put(
      "store-logs",
      """
      #!/bin/sh
      [ "$*" = '--table app' ] || exit 65
      cat >>'\(folder("stored"))'
      """)
    chmod(path, 0o700)
    return Setup(
      changes: [("/usr/local/bin/store-logs", path)],
      arrived: { try ids(Folder.text(folder("stored"))) })
  }

  private func s3() async throws -> Setup? {
    guard S3Server.isThere else { return skip("S3: \(S3Server.missing)") }
    let server = try await S3Server(authority.options())
    var settings = server.settings
    settings.trustedCertificates = authority("ca.pem")
    let client = S3Server.Client(settings, "https://127.0.0.1:\(server.server.port)")
    _ = try await client.send("PUT", "/logs")
    return Setup(
      changes: [
        ("/etc/mmlog/s3-keys", server.keys.path),
        ("minio.example.com:9000", "127.0.0.1:\(server.server.port)"),
        ("/etc/mmlog/minio-ca.pem", authority("ca.pem")),
      ],
      arrived: {
        let list = try await client.send("GET", "/logs?list-type=2&prefix=production%2Forders%2F")
        return list.text.matches(of: /<Key>[^<]*\/([^<\/]*)<\/Key>/).map { String($0.1) }
      }, servers: [server.server])
  }

  private func put() throws -> Setup {
    let tokens = folder.put("tokens", "orders hunter2hunter2hunter2\n")
    chmod(tokens, 0o600)
    let receive = try ChildProcess(
      ChildProcess.path(of: "mmlog-receive"),
      [
        "-d", folder("received"), "--listen", "127.0.0.1:0", "--keep-free", "0", "--timeout",
        "86400", "--tokens", tokens, "--tls-certificate", authority("server.pem"), "--tls-key",
        authority("server.key"),
      ], errors: folder("errors"))
    try receive.wait { receive.complaints.contains("listening on ") }
    let port = try #require(receive.complaints.firstMatch(of: /listening on \S+:(\d+)/)).1
    return Setup(
      changes: [
        ("logs.example.com:7514", "127.0.0.1:\(port)"),
        ("/etc/mmlog/token", folder.put("token", "hunter2hunter2hunter2\n")),
        ("/etc/mmlog/receive-ca.pem", authority("ca.pem")),
      ],
      arrived: {
        let hosts = try folder.names("received/orders")
        return try hosts.flatMap { try folder.names("received/orders/\($0)") }
      }, servers: [receive])
  }

  private func kafka() throws -> Setup {
    let cluster = try KafkaCluster(topic: "logs", partitions: 4)
    let server = try TestServer(
      "kafka.py",
      [cluster.port, "SCRAM-SHA-512", folder.put("users", "mmlog:hunter2")] + authority.options())
    return Setup(
      changes: [
        ("broker1:9092,broker2:9092", "127.0.0.1:\(server.port)"),
        ("/etc/mmlog/kafka-ca.pem", authority("ca.pem")),
        ("/etc/mmlog/kafka-password", folder.put("password", "hunter2\n")),
      ],
      arrived: { try cluster.read("logs", 100).map { $0.3["mmlog-id"] ?? "" } },
      servers: [server])
  }

  private func elasticsearch() throws -> Setup {
    let server = try TestServer("stub.py", ["elasticsearch"] + authority.options())
    return Setup(
      changes: [
        ("localhost:9200", "127.0.0.1:\(server.port)"),
        ("/etc/mmlog/search-ca.pem", authority("ca.pem")),
        ("/etc/mmlog/search-api-key", folder.put("key", "ApiKey aHVudGVyMg==\n")),
      ], arrived: { try ids(Folder.text(server.folder("stored"))) })
  }

  private func loki() throws -> Setup {
    let server = try TestServer("stub.py", ["loki"])
    return Setup(
      changes: [("localhost:3100", "127.0.0.1:\(server.port)")],
      arrived: { try ids(Folder.text(server.folder("stored"))) })
  }
}
