import MMLogFormat
import MMLogReader
package import MMLogShipping

/// Grafana Loki, by its push API in JSON. Entries are lines of JSON, as ``JSONFormatter`` has them,
/// for `| json`; the labels of their stream are `service_name` and `host_name`.
///
/// Loki drops an entry that is there already: the same time and line in the same stream.
package final class LokiDestination: LogDestination {
  private let receiver: Receiver
  private let base: String
  private let labels: [(name: String, value: String)]

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

  package func send(_ batch: LogBatch) async throws -> LogBatch.Answer {
    let url = "\(base)/loki/api/v1/push"
    let headers = [(name: "Content-Type", value: "application/json")]
    let response = try await receiver.post(encode(batch), to: url, headers: headers)
    guard response.isSuccess else { throw response.error(from: url) }
    return .accepted
  }

  package func check() async throws {
    let url = "\(base)/ready"
    let response = try await receiver.send(HTTPRequest("GET", url))
    guard response.isSuccess else { throw response.error(from: url) }
  }

  private func encode(_ batch: LogBatch) -> TextBuffer {
    var output = TextBuffer(capacity: 1 << 16)
    let identity = batch.session.identity
    var stream = JSONObject()
    stream.add("service_name", identity.storeName)
    stream.add("host_name", identity.hostName)
    for (name, value) in labels { stream.add(name, value) }
    output.append(#"{"streams":[{"stream":"#)
    output.append(text: stream.text)
    output.append(#","values":["#)
    var line = TextBuffer()
    let start = output.count
    for gap in GapRecord.all(of: batch) {
      BatchLines.append(gap, batch, &line)
      output.append(entry: &line, gap.time, start)
    }
    var formatter = JSONFormatter(zone: .utc)
    batch.forEach { record in
      formatter.append(record, to: &line)
      output.append(entry: &line, record.time, start)
    }
    output.append("]}]}")
    return output
  }
}

extension TextBuffer {
  /// Appends an entry of a list that begins at `start`, and empties the line.
  fileprivate mutating func append(entry line: inout TextBuffer, _ time: Timestamp, _ start: Int) {
    append(count == start ? "[\"" : ",[\"")
    append(text: "\(time.nanosecondsSince1970)")
    append("\",")
    // Without the line end.
    append(json: line.withUnsafeBytes { String(decoding: $0.dropLast(), as: UTF8.self) })
    append("]")
    line.removeAll(keeping: 1 << 16)
  }
}
