import MMLogFormat
package import MMLogShipping
import MMLogSystem

/// Sends lines of JSON to any server that takes them by POST: Vector, Fluent Bit, Logstash, your
/// own.
///
/// Each request has the batch's id in the header `Idempotency-Key`, by which a server can drop a
/// batch that it has already. Any status 2xx says that the server has the batch.
package final class LinesDestination: LogDestination {
  private let receiver: Receiver
  private let url: String

  /// Names a server by the URL to which lines are posted.
  package init(url: String, settings: HTTPSettings = HTTPSettings()) {
    self.url = url
    receiver = Receiver(settings)
  }

  package func send(_ batch: LogBatch) async throws -> LogBatch.Answer {
    var lines = BatchLines()
    try await post(lines.encode(batch), [("Idempotency-Key", batch.id)])
    return .accepted
  }

  package func check() async throws {
    do { try await post(TextBuffer(), []) } catch let error as DeliveryError {
      // A server that takes batches may refuse a request without a line.
      if error.remedy != .halve { throw error }
    }
  }

  private func post(
    _ body: consuming TextBuffer, _ headers: [(name: String, value: String)]
  ) async throws {
    let type = [(name: "Content-Type", value: "application/x-ndjson")]
    let response = try await receiver.post(body, to: url, headers: type + headers)
    guard response.isSuccess else { throw response.error(from: url) }
  }
}
