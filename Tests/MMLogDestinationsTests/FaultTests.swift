import Foundation
import MMLog
import MMLogDestinations
import MMLogReader
import MMLogShipping
import MMLogStorage
import TestSupport
import Testing

/// What can happen between a shipper and its receiver. `faults.py` makes each fault once, for each
/// kind of destination over HTTP. After that, every record has to be at the receiver, and only once
/// if the receiver can drop repeats.
@Suite("Faults between a shipper and its receiver") struct FaultTests {
  /// A shipper that soon tries again.
  private static var quick: Shipper.Configuration {
    var configuration = Shipper.Configuration()
    configuration.retry = .forever(first: .milliseconds(1), longest: .milliseconds(5))
    configuration.blockedPause = .milliseconds(10)
    configuration.scanInterval = .milliseconds(5)
    configuration.age = .zero
    configuration.maximumRecords = 20
    return configuration
  }

  private static var http: HTTPSettings {
    var settings = HTTPSettings()
    // The fault `never` lasts this long.
    settings.timeout = .seconds(5)
    return settings
  }

  /// Checks that the proxy has made each fault.
  private func expectAll(_ proxy: TestServer, except missing: Set<String> = []) {
    let all: Set = [
      "301", "302", "307", "308", "400", "401", "403", "404", "405", "408", "409", "413", "418",
      "422", "425", "429", "500", "501", "502", "503", "504", "507", "520", "529", "close", "cut",
      "lost", "half", "never", "late", "slow", "twice", "lie", "clock",
    ]
    #expect(Set(proxy.lines("faults")) == all.subtracting(missing))
  }

  /// Ships records of a store to a receiver behind faults.
  ///
  /// - Returns: The ids of the logged records.
  private func ship(
    _ kind: String, to receiver: String, _ destination: (String) -> any LogDestination
  ) async throws -> [String] {
    let proxy = try TestServer("faults.py", [receiver, kind, "7"])
    let folder = TemporaryDirectory()
    let store = try LogStore(directory: folder.path, name: "orders")
    let log = store.logger(label: "orders")
    for index in 0..<1500 { log.info("line \(index)") }
    try await store.close()
    let shipper = try Shipper(
      of: folder.path, as: "test", to: destination(proxy.url), configuration: Self.quick)
    #expect(try await shipper.shipAll())
    expectAll(proxy)
    let balance = try Reconciliation(of: folder.path, consumer: "test")
    #expect(balance.problems == [], "\(kind)")
    return LogReader(paths: [folder.path], after: LogReader.Cursor()).compactMap {
      if case .record(let record) = $0 { record.id.map { "\($0)" } } else { nil }
    }
  }

  private struct Line: Decodable { let log_record_uid: String }

  @Test("lines of JSON are all there, some more than once")
  func lines() async throws {
    let receiver = try TestReceiver()
    let ids = try await ship("lines", to: receiver.url) {
      LinesDestination(url: $0, settings: Self.http)
    }
    let there = try receiver.requests.flatMap { request in
      try request.text.split(separator: "\n").map {
        try JSONDecoder().decode(Line.self, from: Data($0.utf8)).log_record_uid
      }
    }
    #expect(Set(there) == Set(ids) && ids.count == 1500)
    // Batches have names: a receiver that drops the second batch of a name has each record once.
    var names: Set<String> = []
    let once = try receiver.requests.filter {
      names.insert($0.headers["idempotency-key"] ?? "").inserted
    }
    #expect(once.reduce(0) { $0 + $1.text.split(separator: "\n").count } == 1500)
  }

  @Test("OTLP is all there, some of it more than once")
  func otlp() async throws {
    let receiver = try TestReceiver()
    let ids = try await ship("otlp", to: receiver.url) {
      OTLPDestination(url: $0, settings: Self.http)
    }
    let there = try receiver.requests.flatMap { OTLPIDs.all(in: $0.body) }
    #expect(Set(there) == Set(ids))
  }

  @Test(
    "ClickHouse's engine has each record once",
    .enabled(if: ClickHouseEngine.isThere, ClickHouseEngine.missing))
  func clickHouse() async throws {
    let receiver = try ClickHouseEngine()
    _ = try await receiver.query(ClickHouseSchema.statement(table: "logs"))
    let ids = try await ship("clickhouse", to: receiver.url) {
      ClickHouseDestination(url: $0, settings: Self.http)
    }
    let there = try await receiver.query("SELECT RecordId FROM logs ORDER BY RecordId")
    #expect(there.split(separator: "\n").map(String.init) == ids.sorted())
  }

  @Test(
    "the stand-ins of Elasticsearch and Loki have each record once",
    arguments: ["elasticsearch", "loki"])
  func stubs(kind: String) async throws {
    let receiver = try TestServer("stub.py", [kind])
    let ids = try await ship(kind, to: receiver.url) {
      if kind == "loki" { return LokiDestination(url: $0, settings: Self.http) }
      return ElasticsearchDestination(url: $0, settings: Self.http)
    }
    let there = try receiver.notes("stored", as: Line.self).map(\.log_record_uid)
    #expect(there.sorted() == ids.sorted())
  }

  // MARK: - Whole archives

  /// Ships archives to a receiver behind faults.
  ///
  /// - Returns: The names and the bytes of the archives.
  private func ship(
    _ kind: String, to receiver: String, _ destination: (String) -> any ArchiveDestination
  ) async throws -> [String: [UInt8]] {
    let proxy = try TestServer("faults.py", [receiver, kind, "8"])
    let folder = TemporaryDirectory()
    var archives: [String: [UInt8]] = [:]
    for session in 1...40 as ClosedRange<UInt64> {
      let name = TestLog.sealedName(session: session)
      archives[name] = TestLog.sealed(session: session)
      folder.put(name, archives[name] ?? [])
    }
    var configuration = ArchiveShipper.Configuration()
    configuration.retry = Self.quick.retry
    configuration.blockedPause = Self.quick.blockedPause
    let shipper = try ArchiveShipper(
      of: folder.path, to: destination(proxy.url), configuration: configuration)
    #expect(try await shipper.shipAll() == 40)
    expectAll(proxy, except: kind == "put" ? ["400", "409", "413", "422"] : ["400", "413", "422"])
    let states = try Catalog(of: folder.path, store: nil).scan().map(\.state)
    #expect(states.allSatisfy { $0.isUploaded && $0.receipt?.contains("crc32c=") == true })
    return archives
  }

  @Test(
    "S3 has each archive, whole, in one piece or in parts",
    .enabled(if: S3Server.isThere, S3Server.missing), arguments: [64 << 20, 0])
  func s3(multipartSize: Int) async throws {
    let server = try await S3Server()
    let archives = try await ship("s3", to: server.server.url) {
      var settings = server.settings
      settings.timeout = Self.http.timeout
      return S3Destination(
        bucket: "\($0)/logs", multipartSize: multipartSize, settings: settings)
    }
    for (name, bytes) in archives {
      let stored = try await server.send("GET", "\(server.bucket)/orders/tokyo/\(name)")
      #expect(stored.isSuccess && stored.body == bytes, "\(name)")
    }
  }

  @Test("mmlog-receive has each archive, whole")
  func put() async throws {
    let folder = TemporaryDirectory()
    let receive = try ChildProcess(
      ChildProcess.path(of: "mmlog-receive"),
      [
        "-d", folder("received"), "--listen", "127.0.0.1:0", "--keep-free", "0", "--timeout",
        "86400",
      ], errors: folder("errors"))
    try receive.wait { receive.complaints.contains("listening on ") }
    let url = try #require(receive.complaints.firstMatch(of: /listening on (\S+)/)).1
    let archives = try await ship("put", to: String(url)) {
      PutDestination(url: "\($0)/archives", settings: Self.http)
    }
    for (name, bytes) in archives {
      #expect(try folder.bytes("received/orders/tokyo/\(name)") == bytes, "\(name)")
    }
  }

  // MARK: - Other than HTTP

  @Test("a command that fails in each way has every record, in batches with names")
  func command() async throws {
    let folder = TemporaryDirectory()
    let script = folder.put(
      "store",
      """
      cd '\(folder.path)'
      echo >>calls
      case $(wc -l <calls) in
        2) exit 1;;
        4) head -c 100 >/dev/null; exit 0;;
        6) kill -KILL $$;;
        8) cat >lost; cat lost >>stored; exit 75;;
        10) sleep 600;;
        12) exit 127;;
        14) cat >twice; cat twice twice >>stored; exit 0;;
        16) cat >/dev/null; exit 65;;
        18) exec <&-; sleep 0.1; exit 0;;
        *) cat >batch; cat batch >>stored;;
      esac
      """)
    let logs = TemporaryDirectory()
    let store = try LogStore(directory: logs.path, name: "orders")
    let log = store.logger(label: "orders")
    for index in 0..<500 { log.info("line \(index)") }
    try await store.close()
    let destination = CommandDestination(command: "sh '\(script)'", timeout: .seconds(30))
    let shipper = try Shipper(
      of: logs.path, as: "test", to: destination, configuration: Self.quick)
    #expect(try await shipper.shipAll())
    let there = try Folder.text(folder("stored")).split(separator: "\n").map {
      try JSONDecoder().decode(Line.self, from: Data($0.utf8)).log_record_uid
    }
    #expect(Set(there).count == 500)
    #expect(Folder.text(folder("calls")).utf8.count > 18)
    #expect(try Reconciliation(of: logs.path, consumer: "test").problems == [])
  }
}

/// The ids of the records in OTLP requests.
enum OTLPIDs {
  /// An attribute consists of its name, the field and length of a value, and the field and length
  /// of the value's text.
  static func all(in body: Data) -> [String] {
    let name = Data("log.record.uid".utf8)
    var (ids, rest) = ([String](), body[...])
    while let found = rest.range(of: name) {
      let value = rest[found.upperBound...].dropFirst(3)
      if let count = value.first {
        ids.append(String(decoding: value.dropFirst().prefix(Int(count)), as: UTF8.self))
      }
      rest = rest[found.upperBound...]
    }
    return ids
  }
}
