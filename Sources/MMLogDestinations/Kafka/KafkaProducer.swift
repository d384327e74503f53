import CRDKafka
import MMLogShipping
import MMLogSystem

/// A producer of librdkafka with one topic.
///
/// Proof of `@unchecked Sendable`: librdkafka's handle may be used by any thread, and a batch's
/// reports are written by the thread that sends it.
final class KafkaProducer: @unchecked Sendable {
  private let handle: OpaquePointer
  private let configuration: KafkaDestination.Configuration

  /// What librdkafka has reported about brokers; it does so before it gives up a message.
  private let brokerErrors = BrokerErrors()

  /// - Throws: ``DeliveryError/blocked(_:)`` for a property that librdkafka does not take.
  init(_ configuration: KafkaDestination.Configuration) throws {
    self.configuration = configuration
    let properties = KafkaProperties()
    try properties.set("bootstrap.servers", configuration.brokers)
    try properties.set("client.id", "mmlog-ship")
    try properties.set("enable.idempotence", "true")
    // Java's clients use this partitioner: then all clients put the same key into the same
    // partition.
    try properties.set("partitioner", "murmur2_random")
    try properties.set("linger.ms", "5")
    try properties.set("compression.codec", "lz4")
    let timeout = max(1000, configuration.timeout.nanoseconds / 1_000_000)
    try properties.set("message.timeout.ms", "\(timeout)")
    try properties.set("queue.buffering.max.messages", "1000000")
    try properties.set("log_level", "2")
    for (name, value) in configuration.properties { try properties.set(name, value) }
    for (name, secret) in configuration.secrets {
      let value: String
      do { value = try secret.read() } catch { throw DeliveryError.blocked("\(error)") }
      brokerErrors.secrets.append(value)
      try properties.set(name, value, shown: "librdkafka does not take what '\(secret)' has")
    }
    properties.report(to: brokerErrors)
    handle = try properties.makeProducer()
  }

  deinit {
    // Messages that were not delivered have been reported as such, and another producer sends them.
    rd_kafka_purge(handle, RD_KAFKA_PURGE_F_QUEUE_ | RD_KAFKA_PURGE_F_INFLIGHT_)
    rd_kafka_flush(handle, 1000)
    rd_kafka_destroy(handle)
  }

  /// Sends messages, and waits until brokers have all of them.
  ///
  /// - Returns: The messages that are refused individually.
  func send(
    _ messages: [KafkaMessage], isCanceled: () -> Bool
  ) throws -> [(index: Int, reason: String)] {
    // Errors that came while nothing was sent may no longer hold.
    rd_kafka_poll(handle, 0)
    brokerErrors.forget()
    let reports = messages.map { _ in MessageReport() }
    // librdkafka refers to the report on each message that it has taken until the message is
    // delivered or given up, or the producer was purged.
    var taken = 0
    defer { purge(reports[..<taken]) }
    for (message, report) in zip(messages, reports) {
      try produce(message, report, isCanceled)
      taken += 1
    }
    while reports.contains(where: { $0.result == nil }) {
      if isCanceled() { throw CancellationError() }
      _ = rd_kafka_flush(handle, 100)
      // Delivered messages stay delivered, whatever a broker says afterwards.
      if reports.contains(where: { $0.result == nil }) { try throwIfHopeless() }
    }
    return try results(reports)
  }

  /// Finds out whether the topic exists.
  func check() throws {
    guard let topic = rd_kafka_topic_new(handle, configuration.topic, nil) else {
      throw error(rd_kafka_last_error())
    }
    defer { rd_kafka_topic_destroy(topic) }
    var metadata: UnsafePointer<rd_kafka_metadata>?
    let code = rd_kafka_metadata(handle, 0, topic, &metadata, 10_000)
    rd_kafka_poll(handle, 0)
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR, let metadata else { throw error(code) }
    defer { rd_kafka_metadata_destroy(metadata) }
    let topicCode = metadata.pointee.topic_cnt > 0 ? metadata.pointee.topics[0].err : code
    guard topicCode == RD_KAFKA_RESP_ERR_NO_ERROR else { throw error(topicCode) }
  }

  private func produce(
    _ message: KafkaMessage, _ report: MessageReport, _ isCanceled: () -> Bool
  ) throws {
    while true {
      let code = message.value.withUnsafeBytes { value in
        mmlog_kafka_produce(
          handle, configuration.topic, message.key, value.baseAddress, value.count, message.id,
          message.batch, Unmanaged.passUnretained(report).toOpaque())
      }
      switch code {
      case RD_KAFKA_RESP_ERR_NO_ERROR: return
      case RD_KAFKA_RESP_ERR__QUEUE_FULL:
        if isCanceled() { throw CancellationError() }
        rd_kafka_poll(handle, 100)
        try throwIfHopeless()
      default: return report.note(code, isOwn: true)
      }
    }
  }

  private func results(_ reports: [MessageReport]) throws -> [(index: Int, reason: String)] {
    var refused: [(index: Int, reason: String)] = []
    for (index, report) in reports.enumerated() {
      let code = report.result ?? RD_KAFKA_RESP_ERR__FAIL
      let words = String(cString: rd_kafka_err2str(code))
      switch code {
      case RD_KAFKA_RESP_ERR_NO_ERROR: continue
      case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, RD_KAFKA_RESP_ERR_INVALID_RECORD,
        RD_KAFKA_RESP_ERR_INVALID_MSG:
        // A broker refuses all messages of a request because of one, or because of their total
        // size.
        if report.isOwn || reports.count == 1 {
          refused.append((index, words))
        } else if code == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE {
          throw DeliveryError.tooLarge(sentence(words))
        } else {
          throw DeliveryError.refused(sentence(words))
        }
      default: throw error(code)
      }
    }
    return refused
  }

  /// Throws if the messages would only wait for their timeout: after a fatal error, or if brokers
  /// do not accept this client.
  private func throwIfHopeless() throws {
    var text = [CChar](repeating: 0, count: 512)
    let code = rd_kafka_fatal_error(handle, &text, text.count)
    if code != RD_KAFKA_RESP_ERR_NO_ERROR {
      throw DeliveryError.unavailable("Kafka: \(text.string)")
    }
    if brokerErrors.isRefusal { throw error(RD_KAFKA_RESP_ERR__AUTHENTICATION) }
  }

  /// Makes librdkafka forget messages that are not delivered yet.
  private func purge(_ reports: ArraySlice<MessageReport>) {
    guard reports.contains(where: { $0.result == nil }) else { return }
    rd_kafka_purge(handle, RD_KAFKA_PURGE_F_QUEUE_ | RD_KAFKA_PURGE_F_INFLIGHT_)
    while reports.contains(where: { $0.result == nil }) { _ = rd_kafka_flush(handle, 100) }
  }

  private func sentence(_ words: String) -> String {
    "Kafka at \(configuration.brokers), topic '\(configuration.topic)': \(words)"
  }

  private func error(_ code: rd_kafka_resp_err_t) -> DeliveryError {
    let sentence = sentence(brokerErrors.last ?? String(cString: rd_kafka_err2str(code)))
    if brokerErrors.isRefusal { return .blocked("\(sentence); check its properties") }
    switch code {
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC,
      RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED,
      RD_KAFKA_RESP_ERR__AUTHENTICATION, RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED,
      RD_KAFKA_RESP_ERR__SSL:
      return .blocked(sentence)
    default: return .unavailable(sentence)
    }
  }
}

// Macros that Swift does not import with their values.
private let RD_KAFKA_PURGE_F_QUEUE_: CInt = 1
private let RD_KAFKA_PURGE_F_INFLIGHT_: CInt = 2

/// What librdkafka reports about brokers. Only the producer's owner uses it, while the owner polls
/// the producer.
final class BrokerErrors {
  private(set) var last: String?
  /// Whether a broker has not accepted this client, or this client not the broker.
  private var isAnyRefusal = false
  private var areAllDown = false
  private var hasDelivered = false
  /// What no error may show.
  var secrets: [String] = []

  /// Whether brokers do not accept this client, or this client not them. After messages were
  /// delivered, a single broker that is being restarted may say the same: that is no refusal as
  /// long as other brokers are up.
  var isRefusal: Bool { isAnyRefusal && (areAllDown || !hasDelivered) }

  /// Forgets the errors.
  func forget() { (last, isAnyRefusal, areAllDown) = (nil, false, false) }

  /// Notes that a broker has taken a message.
  func noteDelivery() {
    forget()
    hasDelivered = true
  }

  func note(_ code: rd_kafka_resp_err_t, _ reason: String) {
    let refusals = [
      RD_KAFKA_RESP_ERR__AUTHENTICATION, RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED,
      RD_KAFKA_RESP_ERR__SSL,
    ]
    if code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, isAnyRefusal { areAllDown = true }
    // A broker that does not accept this client's certificate sends a TLS alert.
    if refusals.contains(code) || reason.contains(" alert ") {
      isAnyRefusal = true
    } else if isAnyRefusal || code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN {
      // The report that all brokers are down says less than one about a single broker.
      if last != nil { return }
    }
    last = reason.hiding(secrets).excerpt
  }
}

/// What has become of a message.
final class MessageReport {
  private(set) var result: rd_kafka_resp_err_t?
  /// Whether the producer itself refused this single message, before a broker saw it.
  private(set) var isOwn = false

  func note(_ code: rd_kafka_resp_err_t, isOwn: Bool = false) {
    (result, self.isOwn) = (code, isOwn)
  }
}
