import CRDKafka
import Foundation
import MMLog
@testable import MMLogDestinations
import MMLogReader
import MMLogShipping
import TestSupport
import Testing

@Suite("Kafka, by librdkafka's mock cluster") struct KafkaTests {
  @Test("a session's records are in order in one partition, each with its id and its batch's")
  func order() async throws {
    let cluster = try KafkaCluster(topic: "logs", partitions: 4)
    let made = try TestBatch { log, _ in for index in 0..<2000 { log.info("line \(index)") } }
    let destination = KafkaDestination(.init(brokers: cluster.brokers, topic: "logs"))
    let answer = try await destination.send(made.batch)
    #expect(answer.refused.isEmpty)
    let found = try cluster.read("logs", 2000)
    #expect(found.map { $0.3["mmlog-id"] } == made.ids)
    #expect(Set(found.map(\.0)).count == 1)
    #expect(Set(found.map(\.1)) == [made.batch.session.id.description])
    #expect(Set(found.map { $0.3["mmlog-batch"] }) == [made.batch.id])
    #expect(found.first?.2.contains(#""body":"line 0""#) == true)
  }

  @Test("what a mock cluster does with a batch that comes again: it keeps both")
  func repeats() async throws {
    let cluster = try KafkaCluster(topic: "logs", partitions: 4)
    let made = try TestBatch()
    for _ in 0..<2 {
      _ = try await KafkaDestination(.init(brokers: cluster.brokers, topic: "logs"))
        .send(made.batch)
    }
    #expect(try cluster.read("logs", 2).map { $0.3["mmlog-id"] } == [made.ids[0], made.ids[0]])
  }

  @Test(
    "settings of TLS and SASL reach the broker, and what it refuses is said at once, without secrets",
    arguments: ["PLAIN", "SCRAM-SHA-512"])
  func login(mechanism: String) async throws {
    let cluster = try KafkaCluster(topic: "logs", partitions: 1)
    let (authority, other) = (try TestAuthority(), try TestAuthority())
    let folder = TemporaryDirectory()
    let broker = try TestServer(
      "kafka.py",
      [cluster.port, mechanism, folder.put("users", "mmlog:hunter2")]
        + authority.options(verifiesClients: true), in: folder)
    let made = try TestBatch { log, _ in for index in 0..<100 { log.info("line \(index)") } }
    var right = KafkaDestination.Configuration(brokers: "127.0.0.1:\(broker.port)", topic: "logs")
    right.properties = [
      ("security.protocol", "SASL_SSL"), ("sasl.mechanism", mechanism),
      ("sasl.username", "mmlog"), ("ssl.ca.location", authority("ca.pem")),
      ("ssl.certificate.location", authority("client.pem")),
      ("ssl.key.location", authority("client.key")),
    ]
    right.secrets = [("sasl.password", Secret(path: folder.put("password", "hunter2\n")))]
    let destination = KafkaDestination(right)
    try await destination.check()
    _ = try await destination.send(made.batch)
    #expect(try cluster.read("logs", 100).map { $0.3["mmlog-id"] } == made.ids)
    #expect(Set(broker.lines("logins")) == ["mmlog"])

    let wrong: [(String, String, (inout KafkaDestination.Configuration) -> Void)] = [
      (
        "another password", "Authentication failed",
        {
          $0.secrets = [("sasl.password", Secret(path: folder.put("other", "hunter3")))]
        }
      ),
      ("another user", "Authentication failed", { $0.properties[2].value = "somebody" }),
      ("a broker of another authority", "SSL", { $0.properties[3].value = other("ca.pem") }),
      (
        "a mechanism that the broker has not", "mechanism",
        { $0.properties[1].value = mechanism == "PLAIN" ? "SCRAM-SHA-256" : "PLAIN" }
      ),
      ("no certificate of the client", "SSL", { $0.properties.removeLast(2) }),
      ("a file that is not there", "ssl.ca.location", { $0.properties[3].value = "/nowhere" }),
    ]
    for (name, words, change) in wrong {
      var configuration = right
      change(&configuration)
      let destination = KafkaDestination(configuration)
      let error = await #expect(throws: DeliveryError.self) {
        _ = try await destination.send(made.batch)
      }
      #expect(error?.remedy == .waitForAction, "\(name): \(error as Any)")
      #expect(error?.message.contains(words) == true, "\(name): \(error as Any)")
      #expect(error?.message.contains("hunter") == false, "\(name)")
    }
    #expect(try cluster.read("logs", 100).count == 100)
  }

  @Test("that a broker refuses this client counts until one takes a message, and then of all alone")
  func refusalsOfOneBroker() {
    let errors = BrokerErrors()
    errors.note(RD_KAFKA_RESP_ERR__SSL, "broker 1: handshake failed")
    #expect(errors.isRefusal)
    errors.noteDelivery()
    #expect(!errors.isRefusal && errors.last == nil)
    // First, broker 1 is restarted, and then all brokers are.
    errors.note(RD_KAFKA_RESP_ERR__SSL, "broker 1: handshake failed")
    #expect(!errors.isRefusal)
    errors.note(RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, "2/2 brokers are down")
    #expect(errors.isRefusal && errors.last == "broker 1: handshake failed")
    errors.forget()
    #expect(!errors.isRefusal && errors.last == nil)
  }

  @Test("what a broker refuses of many records is not put aside before it is alone")
  func refusals() async throws {
    let cluster = try KafkaCluster(topic: "logs", partitions: 1)
    let many = try TestBatch { log, _ in for index in 0..<100 { log.info("line \(index)") } }
    let one = try TestBatch()
    for (code, remedy) in [
      (RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, DeliveryError.Remedy.makeSmaller),
      (RD_KAFKA_RESP_ERR_INVALID_RECORD, .halve),
      (RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, .waitForAction),
    ] {
      let destination = KafkaDestination(.init(brokers: cluster.brokers, topic: "logs"))
      cluster.fail([code])
      let error = await #expect(throws: DeliveryError.self) {
        _ = try await destination.send(many.batch)
      }
      #expect(error?.remedy == remedy, "\(error as Any)")
      if remedy == .waitForAction { continue }
      cluster.fail([code])
      #expect(try await destination.send(one.batch).refused.map(\.index) == [0])
    }
  }

  @Test("a broker that fails in each way, and is away for a while, has every record after that")
  func faults() async {
    // librdkafka ends the process if it cannot bind the broker's port again. A child of another
    // test keeps the listening socket until it runs its program. So this test has a process of its
    // own, which has no children.
    await #expect(processExitsWith: .success) {
      let cluster = try KafkaCluster(topic: "logs", partitions: 4)
      let folder = TemporaryDirectory()
      let store = try LogStore(directory: folder.path, name: "orders")
      let log = store.logger(label: "orders")
      for index in 0..<1000 { log.info("line \(index)") }
      try await store.close()
      cluster.fail([
        RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT,
        RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, RD_KAFKA_RESP_ERR_NO_ERROR,
        RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED,
        RD_KAFKA_RESP_ERR_NO_ERROR, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE,
        RD_KAFKA_RESP_ERR_INVALID_RECORD, RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION,
        RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, RD_KAFKA_RESP_ERR__TRANSPORT,
      ])
      var configuration = Shipper.Configuration()
      configuration.retry = .forever(first: .milliseconds(1), longest: .milliseconds(5))
      configuration.blockedPause = .milliseconds(10)
      configuration.maximumRecords = 50
      var settings = KafkaDestination.Configuration(brokers: cluster.brokers, topic: "logs")
      settings.timeout = .seconds(2)
      let shipper = try Shipper(
        of: folder.path, as: "test", to: KafkaDestination(settings), configuration: configuration)
      cluster.setDown()
      async let all = shipper.shipAll()
      while shipper.statistics.retried == 0 { try await Task.sleep(for: .milliseconds(5)) }
      cluster.setUp()
      #expect(try await all)
      let ids = LogReader(paths: [folder.path], after: LogReader.Cursor()).compactMap {
        if case .record(let record) = $0 { record.id.map { "\($0)" } } else { nil }
      }
      // Some records may be there twice.
      let found = try cluster.read("logs") { Set($0.map { $0.3["mmlog-id"] }).count >= ids.count }
      #expect(Set(found.compactMap { $0.3["mmlog-id"] }) == Set(ids) && ids.count == 1000)
      #expect(try Reconciliation(of: folder.path, consumer: "test").problems == [])
    }
  }

  @Test("sending ends when it is canceled while librdkafka's queue is full")
  func canceledWithFullQueue() async throws {
    let made = try TestBatch { log, _ in for index in 0..<18 { log.info("line \(index)") } }
    var nowhere = KafkaDestination.Configuration(brokers: "127.0.0.1:1", topic: "logs")
    nowhere.properties = [("queue.buffering.max.messages", "5")]
    let destination = KafkaDestination(nowhere)
    let task = Task { try await destination.send(made.batch) }
    task.cancel()
    await #expect(throws: CancellationError.self) { _ = try await task.value }
  }

  @Test("a login that brokers refuse is noticed while librdkafka's queue is full")
  func refusedWithFullQueue() async throws {
    let cluster = try KafkaCluster(topic: "logs", partitions: 1)
    let folder = TemporaryDirectory()
    let authority = try TestAuthority()
    let users = folder.put("users", "mmlog:hunter2")
    let broker = try TestServer(
      "kafka.py", [cluster.port, "PLAIN", users] + authority.options(), in: folder)
    let made = try TestBatch { log, _ in for index in 0..<18 { log.info("line \(index)") } }
    var wrong = KafkaDestination.Configuration(
      brokers: "127.0.0.1:\(broker.port)", topic: "logs")
    wrong.properties = [
      ("security.protocol", "SASL_SSL"), ("sasl.mechanism", "PLAIN"), ("sasl.username", "mmlog"),
      ("ssl.ca.location", authority("ca.pem")), ("queue.buffering.max.messages", "5"),
    ]
    wrong.secrets = [("sasl.password", Secret(path: folder.put("password", "hunter3")))]
    wrong.timeout = .seconds(86_400)
    let error = await #expect(throws: DeliveryError.self) {
      _ = try await KafkaDestination(wrong).send(made.batch)
    }
    #expect(error?.remedy == .waitForAction, "\(error as Any)")
  }

  @Test("nobody there, a property that there is not, and a record that is too large are errors")
  func errors() async throws {
    let made = try TestBatch()
    var nowhere = KafkaDestination.Configuration(brokers: "127.0.0.1:1", topic: "logs")
    nowhere.timeout = .seconds(1)
    let unreachable = await #expect(throws: DeliveryError.self) {
      _ = try await KafkaDestination(nowhere).send(made.batch)
    }
    #expect(unreachable?.remedy == .tryAgain(after: nil), "\(String(describing: unreachable))")
    nowhere.properties = [("no.such.property", "1")]
    let unknown = await #expect(throws: DeliveryError.self) {
      _ = try await KafkaDestination(nowhere).send(made.batch)
    }
    #expect(unknown?.remedy == .waitForAction)
    let cluster = try KafkaCluster(topic: "logs", partitions: 1)
    let large = try TestBatch { log, _ in
      log.info("small")
      log.info("\(String(repeating: "x", count: 2_000_000))")
    }
    let answer = try await KafkaDestination(.init(brokers: cluster.brokers, topic: "logs"))
      .send(large.batch)
    #expect(answer.refused.map(\.index) == [1])
  }
}

/// A cluster of one broker, in this process.
final class KafkaCluster {
  private let handle: OpaquePointer?
  private let cluster: OpaquePointer?
  let brokers: String

  init(topic: String, partitions: CInt) throws {
    var error = [CChar](repeating: 0, count: 512)
    handle = rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), &error, error.count)
    cluster = rd_kafka_mock_cluster_new(handle, 1)
    guard let cluster, let servers = rd_kafka_mock_cluster_bootstraps(cluster) else {
      throw Failure("no mock cluster")
    }
    brokers = String(cString: servers)
    rd_kafka_mock_topic_create(cluster, topic, partitions, 1)
  }

  /// Makes the next requests to store messages fail with these errors.
  func fail(_ errors: [rd_kafka_resp_err_t]) {
    rd_kafka_mock_push_request_errors_array(cluster, 0, errors.count, errors)
  }

  /// Makes the broker refuse connections until ``setUp()``.
  func setDown() { rd_kafka_mock_broker_set_down(cluster, 1) }

  /// Makes the broker accept connections again.
  func setUp() { rd_kafka_mock_broker_set_up(cluster, 1) }

  /// The broker's port.
  var port: String { brokers.split(separator: ":").last.map(String.init) ?? "" }

  deinit {
    rd_kafka_mock_cluster_destroy(cluster)
    rd_kafka_destroy(handle)
  }

  /// Partition, key, value, headers.
  typealias Message = (Int, String, String, [String: String])

  /// Reads messages from all partitions of a topic until there are `count`.
  func read(_ topic: String, _ count: Int) throws -> [Message] {
    try read(topic) { $0.count >= count }
  }

  /// Reads messages from all partitions of a topic until they are enough.
  func read(_ topic: String, until isEnough: ([Message]) -> Bool) throws -> [Message] {
    var error = [CChar](repeating: 0, count: 512)
    let settings = rd_kafka_conf_new()
    for (name, value) in [
      ("bootstrap.servers", brokers), ("group.id", "test"), ("auto.offset.reset", "earliest"),
    ] {
      rd_kafka_conf_set(settings, name, value, &error, error.count)
    }
    let consumer = rd_kafka_new(RD_KAFKA_CONSUMER, settings, &error, error.count)
    defer {
      rd_kafka_consumer_close(consumer)
      rd_kafka_destroy(consumer)
    }
    let list = rd_kafka_topic_partition_list_new(4)
    for partition in 0..<4 {
      let place = rd_kafka_topic_partition_list_add(list, topic, CInt(partition))
      place?.pointee.offset = -2
    }
    rd_kafka_assign(consumer, list)
    rd_kafka_topic_partition_list_destroy(list)
    var found: [Message] = []
    while !isEnough(found) {
      guard let message = rd_kafka_consumer_poll(consumer, 10_000) else { break }
      defer { rd_kafka_message_destroy(message) }
      guard message.pointee.err == RD_KAFKA_RESP_ERR_NO_ERROR else { continue }
      func text(_ start: UnsafeRawPointer?, _ count: Int) -> String {
        String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
      }
      var headers: [String: String] = [:]
      var all: OpaquePointer?
      if rd_kafka_message_headers(message, &all) == RD_KAFKA_RESP_ERR_NO_ERROR {
        for name in ["mmlog-id", "mmlog-batch"] {
          var (value, size) = (nil as UnsafeRawPointer?, 0)
          if rd_kafka_header_get_last(all, name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR {
            headers[name] = text(value, size)
          }
        }
      }
      found.append(
        (
          Int(message.pointee.partition), text(message.pointee.key, message.pointee.key_len),
          text(message.pointee.payload, message.pointee.len), headers
        ))
    }
    return found
  }
}
