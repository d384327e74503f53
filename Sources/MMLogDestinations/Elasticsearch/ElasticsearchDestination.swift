import MMLogFormat
import MMLogJSON
import MMLogReader
package import MMLogShipping

/// An index or a data stream of Elasticsearch or OpenSearch, by the bulk API.
///
/// A document is a record as ``JSONFormatter`` writes it, with `@timestamp` for `timestamp`. Its
/// `_id` is the record's id: the server answers 409 to a document that it has, which is as good as
/// 201.
package final class ElasticsearchDestination: LogDestination {
  private let receiver: Receiver
  private let base: String
  private let url: String

  /// Names an index.
  ///
  /// - Parameters:
  ///   - url: The server, such as `https://search:9200`.
  ///   - index: An index, an alias or a data stream.
  package init(
    url: String, index: String = "logs-mmlog-default", settings: HTTPSettings = HTTPSettings()
  ) {
    base = url.hasSuffix("/") ? String(url.dropLast()) : url
    self.url =
      "\(base)/\(index.percentEncoded)/_bulk?filter_path=errors,items.*.status,items.*.error"
    receiver = Receiver(settings)
  }

  package func send(_ batch: LogBatch) async throws -> LogBatch.Answer {
    let headers = [(name: "Content-Type", value: "application/x-ndjson")]
    let gaps = GapRecord.all(of: batch)
    // The server answers for each document that it refuses: a smaller batch gets a smaller answer.
    let response = try await receiver.post(
      encode(batch, gaps), to: url, headers: headers, tooLarge: DeliveryError.tooLarge)
    guard response.isSuccess else { throw response.error(from: url) }
    guard let tree = JSONTree(response.body) else {
      throw DeliveryError.unavailable("\(url.withoutQuery) answers something else than JSON")
    }
    guard case .bool(let hasErrors) = tree["errors"] else {
      throw DeliveryError.unavailable(
        "\(url.withoutQuery) answers something else than a bulk request gets: "
          + response.text.excerpt)
    }
    // Without errors, nothing in the items matters.
    if !hasErrors { return .accepted }
    return try answer(tree["items"]?.elements ?? [], gaps.count, batch)
  }

  package func check() async throws {
    let response = try await receiver.send(HTTPRequest("GET", base + "/"))
    guard response.isSuccess else { throw response.error(from: base) }
  }

  private func encode(_ batch: LogBatch, _ gaps: [GapRecord]) -> TextBuffer {
    var output = TextBuffer(capacity: 1 << 16)
    var line = TextBuffer()
    var ids = RecordIDText()
    var formatter = JSONFormatter(zone: .utc)
    for gap in gaps {
      BatchLines.append(gap, batch, &line)
      output.append(document: &line) { $0.append(text: gap.id) }
    }
    batch.forEach { record in
      formatter.append(record, to: &line)
      output.append(document: &line) { ids.append(idOf: record, to: &$0) }
    }
    return output
  }

  private func answer(
    _ items: [JSONTree], _ gapCount: Int, _ batch: LogBatch
  ) throws -> LogBatch.Answer {
    guard items.count == gapCount + batch.count else {
      throw DeliveryError.unavailable(
        "\(url.withoutQuery) answers for \(items.count) of \(gapCount + batch.count) records")
    }
    if let reason = Self.indexError(items) {
      throw DeliveryError.blocked("\(url.withoutQuery): \(reason); check the index")
    }
    var answer = LogBatch.Answer()
    for (index, item) in items.enumerated() {
      guard let result = item["create"], let status = result["status"]?.integer else {
        throw DeliveryError.unavailable("\(url.withoutQuery) answers without a status")
      }
      let reason = "\(status): \(result["error"]?.reason ?? "")".excerpt
      switch status {
      case 200..<300, 409: continue
      // When the batch is sent again, the server knows by their ids the documents that it has
      // taken.
      case 408, 429, 500...: throw DeliveryError.unavailable("\(url.withoutQuery): \(reason)")
      case 401, 403, 404: throw DeliveryError.blocked("\(url.withoutQuery): \(reason)")
      default:
        if index < gapCount {
          answer.gapRefusal = answer.gapRefusal ?? reason
        } else {
          answer.refused.append(.init(index: index - gapCount, reason: reason))
        }
      }
    }
    return answer
  }
}

extension ElasticsearchDestination {
  /// Returns why the index takes no document at all, although the server answers 400 to each one,
  /// as if the document were to blame. Nil if documents are to blame.
  private static func indexError(_ items: [JSONTree]) -> String? {
    let errors = items.compactMap { item -> (type: String, own: String, reason: String)? in
      guard let result = item["create"], result["status"]?.integer == 400,
        let error = result["error"], let type = error["type"]?.string
      else { return nil }
      return (type, error["reason"]?.string ?? "", "400: \(error.reason)".excerpt)
    }
    let known = errors.first { type, own, _ in
      if ["index_closed_exception", "validation_exception"].contains(type) { return true }
      // Other reasons may quote a document, behind their beginning.
      return type == "illegal_argument_exception"
        && aboutIndex.contains { own.utf8.starts(with: $0.utf8) }
    }
    if let known { return known.reason }
    guard let first = errors.first, items.count > 1, errors.count == items.count,
      errors.allSatisfy({ $0.type == first.type }),
      !aboutDocuments.contains(where: first.type.contains)
    else { return nil }
    return first.reason
  }

  /// How the reasons of an index begin that takes nothing, such as one that is full, or whose
  /// pipeline is gone. Single documents get errors of that type, too.
  private static let aboutIndex = [
    "no write index", "this action would add", "Validation Failed: 1: this action would add",
    "pipeline with id [", "Number of documents in the index can't exceed",
  ]

  /// Parts of the names of error types that all documents of a batch may well have, because of
  /// their content.
  private static let aboutDocuments = ["pars", "mapp", "illegal_argument"]
}

extension JSONTree {
  /// An error of Elasticsearch as `type: reason (reason of the cause)`.
  fileprivate var reason: String {
    let own = [self["type"]?.string, self["reason"]?.string].compactMap(\.self)
      .joined(separator: ": ")
    guard let cause = self["caused_by"]?["reason"]?.string else { return own }
    return "\(own) (\(cause))"
  }
}

extension TextBuffer {
  /// Appends an action and a line of JSON, and empties the line.
  fileprivate mutating func append(
    document line: inout TextBuffer, _ id: (inout TextBuffer) -> Void
  ) {
    append(#"{"create":{"_id":""#)
    id(&self)
    append("\"}}\n{\"@")
    // This skips `{"`: the first name is `timestamp`.
    line.withUnsafeBytes { append(UnsafeRawBufferPointer(rebasing: $0.dropFirst(2))) }
    line.removeAll(keeping: 1 << 16)
  }
}
