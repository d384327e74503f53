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
  /// What Loki has of the batch that was sent in part.
  private let taken = LockedValue<Progress?>(nil)

  private struct Progress {
    let id: String
    let count: Int
    /// How many of the batch's pushes were taken.
    var pushes = 0
    /// What was refused of these.
    var answer = LogBatch.Answer()
  }

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
    var progress = Progress(id: batch.id, count: batch.count)
    if let known = taken.withLock({ $0 }), known.id == batch.id, known.count == batch.count {
      progress = known
    }
    for push in pushes(of: batch).dropFirst(progress.pushes) {
      try await send(push, of: batch, &progress.answer)
      progress.pushes += 1
      taken.withLock { [progress] in $0 = progress }
    }
    taken.withLock { $0 = nil }
    return progress.answer
  }

  /// Sends a push. Loki stores what it takes of a push, and says of the rest how old an entry may
  /// be at most: older ones are refused, and the others are sent again without them. Halving would
  /// take two requests for each old entry, and a service may have logged for months.
  private func send(
    _ push: LokiPush, of batch: LogBatch, _ answer: inout LogBatch.Answer
  ) async throws {
    var (left, new) = (LokiPush?.some(push), answer)
    while let push = left {
      let response = try await receiver.send(push.request)
      if response.isSuccess { break }
      let error = Self.error(response, url)
      guard let oldest = response.oldestAcceptable,
        new.refuse(push, of: batch, before: oldest)
      else { throw error }
      left = pushes(of: batch, push.entries, since: oldest).first
    }
    answer = new
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

  private var url: String { "\(base)/loki/api/v1/push" }

  /// Returns the pushes of a batch, or of some of its entries: its gaps, and behind them its
  /// records.
  ///
  /// - Parameter oldest: Older entries are left out.
  private func pushes(
    of batch: LogBatch, _ entries: Range<Int> = 0..<(.max), since oldest: Timestamp? = nil
  ) -> [LokiPush] {
    let identity = batch.session.identity
    var stream = JSONObject()
    let own = [identity.storeName, identity.hostName, batch.session.id.description]
    for (name, value) in zip(Self.ownLabels, own) { stream.add(name, value) }
    for (name, value) in labels { stream.add(name, value) }
    var pushes = LokiPushes(of: stream.text, to: url, receiver, since: oldest)
    var index = 0
    func add(_ time: Timestamp, _ line: (inout TextBuffer) -> Void) {
      defer { index += 1 }
      guard entries.contains(index), oldest.map({ time >= $0 }) ?? true else { return }
      line(&pushes.line)
      pushes.add(index, time)
    }
    for gap in GapRecord.all(of: batch) { add(gap.time) { BatchLines.append(gap, batch, &$0) } }
    var formatter = JSONFormatter(zone: .utc)
    batch.forEach { record in add(record.time) { formatter.append(record, to: &$0) } }
    return pushes.finish()
  }
}

extension LogBatch.Answer {
  /// Adds those entries of a push that are older than Loki takes.
  ///
  /// - Returns: Whether there are any.
  fileprivate mutating func refuse(
    _ push: LokiPush, of batch: LogBatch, before oldest: Timestamp
  ) -> Bool {
    let reason = "too old for Loki, which takes nothing before \(oldest)"
    var (index, isAny) = (0, false)
    let gaps = GapRecord.all(of: batch)
    for gap in gaps {
      if push.has(index, gap.time), gap.time < oldest { (gapRefusal, isAny) = (reason, true) }
      index += 1
    }
    batch.forEach { record in
      if push.has(index, record.time), record.time < oldest {
        refused.append(.init(index: index - gaps.count, reason: reason))
        isAny = true
      }
      index += 1
    }
    return isAny
  }
}

extension HTTPResponse {
  /// The oldest time that Loki takes, if it says that an entry is older: such as `has timestamp too
  /// old: 2026-04-08T04:34:44Z, oldest acceptable timestamp is: 2026-05-14T03:07:18Z`.
  fileprivate var oldestAcceptable: Timestamp? {
    let bytes = text.utf8
    guard status == 400, let reason = bytes.firstRange(of: "timestamp too old".utf8),
      let words = bytes[reason.upperBound...]
        .firstRange(of: "oldest acceptable timestamp is: ".utf8)
    else { return nil }
    let time = bytes[words.upperBound...].prefix { byte in
      48...57 ~= byte || "TZ:.+-".utf8.contains(byte)
    }
    return timeArgument(String(Substring(time)), zone: .utc, now: .now)
  }
}

/// Entries of a batch that are sent at once.
private struct LokiPush {
  let request: HTTPRequest
  /// The first and the last one of the batch's gaps and records that are in it.
  let entries: Range<Int>
  /// Entries between these that are older were left out; nil: none were.
  let oldest: Timestamp?

  func has(_ index: Int, _ time: Timestamp) -> Bool {
    entries.contains(index) && oldest.map { time >= $0 } ?? true
  }
}

/// The pushes of a batch. By default, Loki's distributors hand no more than 4 MiB at once to its
/// ingesters, and a batch as lines of JSON may be several times the size of its text.
private struct LokiPushes: ~Copyable {
  private let head: String
  private let url: String
  private let receiver: Receiver
  private let oldest: Timestamp?
  private var body = TextBuffer(capacity: 1 << 16)
  /// The entries in the body.
  private var entries = 0..<0
  private var finished: [LokiPush] = []
  /// The next entry's line, with its line end.
  var line = TextBuffer()

  /// A push with this many bytes gets no more entries.
  private static let maximum = 1 << 20

  init(of stream: String, to url: String, _ receiver: Receiver, since oldest: Timestamp?) {
    head = #"{"streams":[{"stream":"# + stream + #","values":["#
    (self.url, self.receiver, self.oldest) = (url, receiver, oldest)
  }

  /// Adds an entry with ``line``.
  mutating func add(_ index: Int, _ time: Timestamp) {
    if body.isEmpty { body.append(text: head) } else { body.append(",") }
    entries = (entries.isEmpty ? index : entries.lowerBound)..<index + 1
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
    let request = receiver.request(body, to: url, headers: headers)
    finished.append(LokiPush(request: request, entries: entries, oldest: oldest))
    body.removeAll(keeping: 2 << 20)
    entries = 0..<0
  }

  /// Ends the last push, and returns all pushes.
  mutating func finish() -> [LokiPush] {
    close()
    return finished
  }
}
