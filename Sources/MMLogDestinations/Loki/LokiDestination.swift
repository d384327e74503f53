import MMLogFormat
import MMLogReader
package import MMLogShipping
import MMLogSystem

/// Sends records to Grafana Loki by its push API in JSON. Entries are lines of JSON as
/// ``JSONFormatter`` writes them, for `| json`. The labels of their stream are `service_name`,
/// `host_name` and `service_instance_id`, which is the session. Each session has a stream of its
/// own: sessions are not shipped in the order of their times, and Loki refuses an entry that is
/// much older than the newest of its stream.
///
/// Loki drops an entry that it has already: the same time and line in the same stream.
package final class LokiDestination: LogDestination {
  private let receiver: Receiver
  private let base: String
  private let labels: [(name: String, value: String)]
  /// The batch that was sent in part, and how many of its pushes were taken.
  private let taken = LockedValue<(id: String, count: Int, pushes: Int)?>(nil)

  /// The labels that each stream has.
  static let ownLabels = ["service_name", "host_name", "service_instance_id"]

  /// Names a server.
  ///
  /// - Parameters:
  ///   - url: The server, such as `http://loki:3100`. For several tenants, set the header
  ///     `X-Scope-OrgID` in `settings`.
  ///   - labels: More labels of the streams.
  package init(
    url: String, labels: [(name: String, value: String)] = [],
    settings: HTTPSettings = HTTPSettings()
  ) {
    base = url.hasSuffix("/") ? String(url.dropLast()) : url
    self.labels = labels
    receiver = Receiver(settings)
  }

  /// Sends a batch in as many pushes as it takes. If a push fails and the batch is sent again, it
  /// goes on with that push. Loki would drop the entries before, but its rate limit counts them: a
  /// batch that is larger than the limit would never come to its end.
  package func send(_ batch: LogBatch) async throws -> LogBatch.Answer {
    let url = "\(base)/loki/api/v1/push"
    let known = taken.withLock { $0 }
    let isKnown = known?.id == batch.id && known?.count == batch.count
    let first = isKnown ? known?.pushes ?? 0 : 0
    for (index, push) in pushes(of: batch, to: url).enumerated().dropFirst(first) {
      let response = try await receiver.send(push)
      guard response.isSuccess else { throw Self.error(response, url) }
      taken.withLock { $0 = (batch.id, batch.count, index + 1) }
    }
    taken.withLock { $0 = nil }
    return .accepted
  }

  package func check() async throws {
    let url = "\(base)/ready"
    let response = try await receiver.send(HTTPRequest("GET", url))
    guard response.isSuccess else { throw response.error(from: url) }
  }

  /// Labels are the same in all batches of a session: halving a batch would put every record aside.
  private static func error(_ response: HTTPResponse, _ url: String) -> DeliveryError {
    let error = response.error(from: url)
    let words = response.text.lowercased()
    guard response.status == 400, aboutLabels.contains(where: words.contains) else { return error }
    return .blocked("\(error.message); check stream-label, and the server's limits of labels")
  }

  private static let aboutLabels = [
    "error parsing labels", "label name", "label value too long", "one label pair is required",
  ]

  private func pushes(of batch: LogBatch, to url: String) -> [HTTPRequest] {
    let identity = batch.session.identity
    var stream = JSONObject()
    let own = [identity.storeName, identity.hostName, batch.session.id.description]
    for (name, value) in zip(Self.ownLabels, own) { stream.add(name, value) }
    for (name, value) in labels { stream.add(name, value) }
    var pushes = LokiPushes(of: stream.text, to: url, receiver)
    for gap in GapRecord.all(of: batch) {
      BatchLines.append(gap, batch, &pushes.line)
      pushes.add(gap.time)
    }
    var formatter = JSONFormatter(zone: .utc)
    batch.forEach { record in
      formatter.append(record, to: &pushes.line)
      pushes.add(record.time)
    }
    return pushes.finish()
  }
}

/// The pushes of a batch. By default, Loki's distributors hand no more than 4 MiB at once to its
/// ingesters, and a batch as lines of JSON may be several times the size of its text.
private struct LokiPushes: ~Copyable {
  private let head: String
  private let url: String
  private let receiver: Receiver
  private var body = TextBuffer(capacity: 1 << 16)
  private var finished: [HTTPRequest] = []
  /// The next entry's line, with its line end.
  var line = TextBuffer()

  /// A push with so many bytes gets no more entries.
  private static let maximum = 1 << 20

  init(of stream: String, to url: String, _ receiver: Receiver) {
    head = #"{"streams":[{"stream":"# + stream + #","values":["#
    (self.url, self.receiver) = (url, receiver)
  }

  /// Adds an entry with ``line``.
  mutating func add(_ time: Timestamp) {
    if body.isEmpty { body.append(text: head) } else { body.append(",") }
    body.append("[\"")
    body.append(text: "\(time.nanosecondsSince1970)")
    body.append("\",")
    // Without the line end.
    body.append(json: line.withUnsafeBytes { String(decoding: $0.dropLast(), as: UTF8.self) })
    body.append("]")
    line.removeAll(keeping: 1 << 16)
    if body.count >= Self.maximum { close() }
  }

  private mutating func close() {
    if body.isEmpty { return }
    body.append("]}]}")
    let headers = [(name: "Content-Type", value: "application/json")]
    finished.append(receiver.request(body, to: url, headers: headers))
    body.removeAll(keeping: 2 << 20)
  }

  /// Ends the last push, and returns all pushes.
  mutating func finish() -> [HTTPRequest] {
    close()
    return finished
  }
}
