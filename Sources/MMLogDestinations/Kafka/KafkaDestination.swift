import MMLogFormat
import MMLogReader
package import MMLogShipping
import MMLogSystem

/// Sends records to a topic of Kafka, by librdkafka's idempotent producer. A message is a record as
/// ``JSONFormatter`` writes it. Its key is the session, so that a session's records stay in order
/// in one partition. The headers `mmlog-id` and `mmlog-batch` have the ids of the record and of the
/// batch.
///
/// Brokers drop messages that the producer itself sends again. They do not drop messages that are
/// sent again after a restart: consumers can, by `mmlog-id`.
package final class KafkaDestination: LogDestination {
  /// How brokers are reached.
  package struct Configuration: Sendable {
    /// `HOST:PORT`, with commas between them.
    package var brokers: String
    /// The topic. This does not create it.
    package var topic: String
    /// Properties of librdkafka, such as `security.protocol`.
    package var properties: [(name: String, value: String)] = []
    /// Properties whose values are secrets, such as `sasl.password`.
    package var secrets: [(name: String, value: Secret)] = []
    /// How long brokers may take for a batch. Default: 60 s.
    package var timeout: Duration = .seconds(60)

    /// A topic at brokers without encryption and credentials.
    package init(brokers: String, topic: String) { (self.brokers, self.topic) = (brokers, topic) }
  }

  private let configuration: Configuration
  private let producer = LockedValue<KafkaProducer?>(nil)

  /// Names a topic.
  package init(_ configuration: Configuration) { self.configuration = configuration }

  package func send(_ batch: LogBatch) async throws -> LogBatch.Answer {
    let messages = Self.messages(of: batch)
    let gapCount = batch.gaps.count
    return try await onOwnThread("mmlog-kafka") { [self] isCanceled in
      let producer = try openProducer()
      do {
        let refused = try producer.send(messages, isCanceled: isCanceled)
        var answer = LogBatch.Answer(
          refused: refused.filter { $0.index >= gapCount }.map {
            .init(index: $0.index - gapCount, reason: $0.reason)
          })
        answer.gapRefusal = refused.first { $0.index < gapCount }?.reason
        return answer
      } catch {
        // A batch that has not been acknowledged is sent again as a whole, so this producer must
        // not send the rest of it later.
        self.producer.withLock { $0 = nil }
        throw error
      }
    }
  }

  package func check() async throws {
    try await onOwnThread("mmlog-kafka") { [self] _ in try openProducer().check() }
  }

  private func openProducer() throws -> KafkaProducer {
    try producer.withLock { producer in
      if let producer { return producer }
      let new = try KafkaProducer(configuration)
      producer = new
      return new
    }
  }

  private static func messages(of batch: LogBatch) -> [KafkaMessage] {
    var line = TextBuffer()
    var messages: [KafkaMessage] = []
    messages.reserveCapacity(batch.count + batch.gaps.count)
    let session = batch.session.id.description
    func add(_ id: String) {
      // Without the line end.
      let value = line.withUnsafeBytes { Array($0.dropLast()) }
      messages.append(KafkaMessage(key: session, value: value, id: id, batch: batch.id))
      line.removeAll(keeping: 1 << 16)
    }
    for gap in GapRecord.all(of: batch) {
      BatchLines.append(gap, batch, &line)
      add(gap.id)
    }
    var formatter = JSONFormatter(zone: .utc)
    batch.forEach { record in
      formatter.append(record, to: &line)
      add(record.id.map { "\($0)" } ?? "")
    }
    return messages
  }
}

/// What is sent to a topic.
struct KafkaMessage: Sendable {
  let key: String
  let value: [UInt8]
  let id: String
  let batch: String
}
