import CRDKafka
import MMLogShipping
import MMLogSystem

/// A producer of librdkafka with one topic.
///
/// Proof of `@unchecked Sendable`: librdkafka's handle may be used by any thread, and a batch's
/// deliveries are noted by the thread that sends it.
final class KafkaProducer: @unchecked Sendable {
  private let handle: OpaquePointer
  private let configuration: KafkaDestination.Configuration

  /// What librdkafka has reported about brokers; it does so before it gives up a message.
  private let complaints = Complaints()

  /// - Throws: ``DeliveryError/blocked(_:)`` for a property that librdkafka does not take.
  init(_ configuration: KafkaDestination.Configuration) throws {
    self.configuration = configuration
    let properties = rd_kafka_conf_new()
    var error = [CChar](repeating: 0, count: 512)
    func set(_ name: String, _ value: String, shown: String? = nil) throws {
      guard rd_kafka_conf_set(properties, name, value, &error, error.count) == RD_KAFKA_CONF_OK
      else {
        let words = shown ?? Self.text(error)
        rd_kafka_conf_destroy(properties)
        throw DeliveryError.blocked("the property '\(name)' of librdkafka: \(words)")
      }
    }
    try set("bootstrap.servers", configuration.brokers)
    try set("client.id", "mmlog-ship")
    try set("enable.idempotence", "true")
    // Java's clients use this partitioner: then all clients put the same key into the same
    // partition.
    try set("partitioner", "murmur2_random")
    try set("linger.ms", "5")
    try set("compression.codec", "lz4")
    try set("message.timeout.ms", "\(max(1000, configuration.timeout.nanoseconds / 1_000_000))")
    try set("queue.buffering.max.messages", "1000000")
    try set("log_level", "2")
    for (name, value) in configuration.properties { try set(name, value) }
    for (name, secret) in configuration.secrets {
      let value: String
      do { value = try secret.read() } catch {
        rd_kafka_conf_destroy(properties)
        throw DeliveryError.blocked("\(error)")
      }
      complaints.secrets.append(value)
      try set(name, value, shown: "librdkafka does not take what '\(secret)' has")
    }
    rd_kafka_conf_set_opaque(properties, Unmanaged.passUnretained(complaints).toOpaque())
    rd_kafka_conf_set_error_cb(properties) { _, code, reason, context in
      guard let reason, let context else { return }
      Unmanaged<Complaints>.fromOpaque(context).takeUnretainedValue()
        .note(rd_kafka_resp_err_t(code), String(cString: reason))
    }
    rd_kafka_conf_set_dr_msg_cb(properties) { _, message, complaints in
      guard let message, let context = message.pointee._private else { return }
      Unmanaged<Delivery>.fromOpaque(context).takeUnretainedValue().note(message.pointee.err)
      guard message.pointee.err == RD_KAFKA_RESP_ERR_NO_ERROR, let complaints else { return }
      Unmanaged<Complaints>.fromOpaque(complaints).takeUnretainedValue().noteDelivery()
    }
    guard let handle = rd_kafka_new(RD_KAFKA_PRODUCER, properties, &error, error.count) else {
      rd_kafka_conf_destroy(properties)
      throw DeliveryError.blocked("librdkafka: \(Self.text(error))")
    }
    self.handle = handle
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
    // Complaints that came while nothing was sent may no longer hold.
    rd_kafka_poll(handle, 0)
    complaints.forget()
    let deliveries = messages.map { _ in Delivery() }
    // librdkafka refers to the delivery of each message that it has taken until its report has
    // come, or the producer was purged.
    var taken = 0
    defer { purge(deliveries[..<taken]) }
    for (message, delivery) in zip(messages, deliveries) {
      try produce(message, delivery, isCanceled)
      taken += 1
    }
    while deliveries.contains(where: { $0.result == nil }) {
      if isCanceled() { throw CancellationError() }
      _ = rd_kafka_flush(handle, 100)
      // Delivered messages stay delivered, whatever a broker says afterwards.
      if deliveries.contains(where: { $0.result == nil }) { try throwIfHopeless() }
    }
    return try results(deliveries)
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
    _ message: KafkaMessage, _ delivery: Delivery, _ isCanceled: () -> Bool
  ) throws {
    while true {
      let code = message.value.withUnsafeBytes { value in
        mmlog_kafka_produce(
          handle, configuration.topic, message.key, value.baseAddress, value.count, message.id,
          message.batch, Unmanaged.passUnretained(delivery).toOpaque())
      }
      switch code {
      case RD_KAFKA_RESP_ERR_NO_ERROR: return
      case RD_KAFKA_RESP_ERR__QUEUE_FULL:
        if isCanceled() { throw CancellationError() }
        rd_kafka_poll(handle, 100)
        try throwIfHopeless()
      default: return delivery.note(code, isOwn: true)
      }
    }
  }

  private func results(_ deliveries: [Delivery]) throws -> [(index: Int, reason: String)] {
    var refused: [(index: Int, reason: String)] = []
    for (index, delivery) in deliveries.enumerated() {
      let code = delivery.result ?? RD_KAFKA_RESP_ERR__FAIL
      let words = String(cString: rd_kafka_err2str(code))
      switch code {
      case RD_KAFKA_RESP_ERR_NO_ERROR: continue
      case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, RD_KAFKA_RESP_ERR_INVALID_RECORD,
        RD_KAFKA_RESP_ERR_INVALID_MSG:
        // A broker refuses all messages of a request because of one, or because of their total
        // size.
        if delivery.isOwn || deliveries.count == 1 {
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
      throw DeliveryError.unavailable("Kafka: \(Self.text(text))")
    }
    if complaints.isRefusal { throw error(RD_KAFKA_RESP_ERR__AUTHENTICATION) }
  }

  /// Makes librdkafka forget messages that are not delivered yet.
  private func purge(_ deliveries: ArraySlice<Delivery>) {
    guard deliveries.contains(where: { $0.result == nil }) else { return }
    rd_kafka_purge(handle, RD_KAFKA_PURGE_F_QUEUE_ | RD_KAFKA_PURGE_F_INFLIGHT_)
    while deliveries.contains(where: { $0.result == nil }) { _ = rd_kafka_flush(handle, 100) }
  }

  private func sentence(_ words: String) -> String {
    "Kafka at \(configuration.brokers), topic '\(configuration.topic)': \(words)"
  }

  private func error(_ code: rd_kafka_resp_err_t) -> DeliveryError {
    let sentence = sentence(complaints.last ?? String(cString: rd_kafka_err2str(code)))
    if complaints.isRefusal { return .blocked("\(sentence); check its properties") }
    switch code {
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC,
      RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED,
      RD_KAFKA_RESP_ERR__AUTHENTICATION, RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED,
      RD_KAFKA_RESP_ERR__SSL:
      return .blocked(sentence)
    default: return .unavailable(sentence)
    }
  }

  private static func text(_ bytes: [CChar]) -> String {
    String(decoding: bytes.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}

// Macros that Swift does not import with their values.
private let RD_KAFKA_PURGE_F_QUEUE_: CInt = 1
private let RD_KAFKA_PURGE_F_INFLIGHT_: CInt = 2

/// What librdkafka reports about brokers. Only the producer's owner uses it, while the owner polls
/// the producer.
final class Complaints {
  private(set) var last: String?
  /// Whether a broker has not accepted this client, or this client not the broker.
  private var isAnyRefusal = false
  private var areAllDown = false
  private var hasDelivered = false
  /// What no complaint may show.
  var secrets: [String] = []

  /// Whether brokers do not accept this client, or this client not them. After messages were
  /// delivered, a single broker that is being restarted may say the same: that is no refusal as
  /// long as other brokers are up.
  var isRefusal: Bool { isAnyRefusal && (areAllDown || !hasDelivered) }

  /// Forgets the complaints.
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
private final class Delivery {
  private(set) var result: rd_kafka_resp_err_t?
  /// Whether the producer itself refused this single message, before a broker saw it.
  private(set) var isOwn = false

  func note(_ code: rd_kafka_resp_err_t, isOwn: Bool = false) {
    (result, self.isOwn) = (code, isOwn)
  }
}
