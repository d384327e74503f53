import CRDKafka
import MMLogShipping

/// Properties of librdkafka, until a producer is made of them.
struct KafkaProperties: ~Copyable {
  private let handle: OpaquePointer? = rd_kafka_conf_new()

  deinit { rd_kafka_conf_destroy(handle) }

  /// - Parameter shown: What an error says in place of librdkafka's words, which have the value.
  func set(_ name: String, _ value: String, shown: String? = nil) throws {
    var error = [CChar](repeating: 0, count: 512)
    guard rd_kafka_conf_set(handle, name, value, &error, error.count) == RD_KAFKA_CONF_OK else {
      throw DeliveryError.blocked(
        "the property '\(name)' of librdkafka: \(shown ?? error.string)")
    }
  }

  /// Reports what brokers say to `errors`, and what becomes of a message to its ``MessageReport``.
  func report(to errors: BrokerErrors) {
    rd_kafka_conf_set_opaque(handle, Unmanaged.passUnretained(errors).toOpaque())
    rd_kafka_conf_set_error_cb(handle) { _, code, reason, context in
      guard let reason, let context else { return }
      Unmanaged<BrokerErrors>.fromOpaque(context).takeUnretainedValue()
        .note(rd_kafka_resp_err_t(code), String(cString: reason))
    }
    rd_kafka_conf_set_dr_msg_cb(handle) { _, message, errors in
      guard let message, let context = message.pointee._private else { return }
      Unmanaged<MessageReport>.fromOpaque(context).takeUnretainedValue().note(message.pointee.err)
      guard message.pointee.err == RD_KAFKA_RESP_ERR_NO_ERROR, let errors else { return }
      Unmanaged<BrokerErrors>.fromOpaque(errors).takeUnretainedValue().noteDelivery()
    }
  }

  /// Makes a producer, which owns the properties from then on.
  consuming func makeProducer() throws -> OpaquePointer {
    var error = [CChar](repeating: 0, count: 512)
    guard let producer = rd_kafka_new(RD_KAFKA_PRODUCER, handle, &error, error.count) else {
      _ = consume self
      throw DeliveryError.blocked("librdkafka: \(error.string)")
    }
    discard self
    return producer
  }
}

extension [CChar] {
  /// The text before the first zero.
  var string: String {
    String(decoding: prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
