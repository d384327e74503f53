import MMLogFormat
import MMLogReader
package import MMLogShipping
import MMLogSystem

/// Sends records to a table of ClickHouse; ``ClickHouseSchema`` makes it. Rows go over HTTP in the
/// format `RowBinary`. A batch is one insert with the batch's id as `insert_deduplication_token`,
/// so that the server drops a batch that it has.
package final class ClickHouseDestination: LogDestination {
  private let receiver: Receiver
  private let url: String
  private let table: String
  private let deduplicates: Bool
  private let formatter: LockedValue<Formatter>

  private struct Formatter: @unchecked Sendable {
    // Proof: touched under the lock alone.
    var rows: RowBinaryFormatter
  }

  /// Names a table.
  ///
  /// - Parameters:
  ///   - url: The server, such as `https://clickhouse:8443`. Its query may have settings.
  ///   - table: The table's name, with the database before it if that is not the default one.
  ///   - deduplicates: Whether tokens are sent. Servers before 22.2 do not know tokens.
  ///   - hasJSON: Whether the columns of attributes are texts with JSON, not maps.
  package init(
    url: String, table: String = "logs", deduplicates: Bool = true, hasJSON: Bool = false,
    settings: HTTPSettings = HTTPSettings()
  ) {
    (self.url, self.table, self.deduplicates) = (url, table, deduplicates)
    formatter = LockedValue(Formatter(rows: RowBinaryFormatter(hasJSON: hasJSON)))
    receiver = Receiver(settings)
  }

  package func send(_ batch: LogBatch) async throws -> LogBatch.Answer {
    let insert =
      "INSERT INTO \(ClickHouseSchema.quoted(table)) (\(ClickHouseSchema.columns)) "
      + "FORMAT RowBinary"
    var query = [("query", insert), ("wait_end_of_query", "1")]
    if deduplicates {
      query += [
        ("insert_deduplication_token", batch.id), ("insert_deduplicate", "1"),
        // If the server collected rows for later, it would acknowledge them before it has stored
        // them.
        ("async_insert", "0"),
      ]
    }
    let target = url.adding(query: query)
    let headers = [(name: "Content-Type", value: "application/octet-stream")]
    let response = try await receiver.post(encode(batch), to: target, headers: headers)
    try Self.check(response, target)
    return .accepted
  }

  package func check() async throws {
    let statement =
      "SELECT \(ClickHouseSchema.columns) FROM \(ClickHouseSchema.quoted(table)) LIMIT 0"
    let target = url.adding(query: [("query", statement)])
    try Self.check(try await receiver.send(HTTPRequest("GET", target)), target)
  }

  private func encode(_ batch: LogBatch) -> TextBuffer {
    var output = TextBuffer(capacity: 1 << 16)
    formatter.withLock { formatter in
      for gap in GapRecord.all(of: batch) {
        formatter.rows.append(gap, batch.session, to: &output)
      }
      batch.forEach { formatter.rows.append($0, to: &output) }
    }
    return output
  }

  /// Old servers answer 500 to every error: the code of ClickHouse says which error it is.
  private static func check(_ response: HTTPResponse, _ url: String) throws(DeliveryError) {
    let code =
      response.header("x-clickhouse-exception-code").flatMap(Int.init)
      ?? exceptionCode(response.text)
    // A failure after the headers comes in the body, with status 200.
    let sentence = "\(url.withoutQuery) answers \(response.status): \(response.text.excerpt)"
    if response.isSuccess, code == nil {
      // A success has no body for the requests that are sent here.
      if response.body.isEmpty { return }
      throw .unavailable("\(sentence); something else than ClickHouse seems to answer")
    }
    switch code {
    // Errors in the rows: CANNOT_PARSE_…, CANNOT_READ_ALL_DATA, INCORRECT_DATA, TOO_LARGE_…,
    // TYPE_MISMATCH, VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE, violated constraints.
    case 6, 26, 27, 32, 33, 38, 41, 53, 69, 72, 117, 128, 131, 321, 349, 469:
      throw .refused(sentence)
    // TOO_MANY_PARTS of a batch whose times are in too many partitions: half of the batch is in
    // fewer.
    case 252 where response.text.contains("partitions for single INSERT block"):
      throw .refused(sentence)
    // Errors of the table, its columns, the settings, the user.
    case 10, 16, 20, 36, 47, 48, 50, 60, 62, 81, 115, 164, 192, 193, 194, 291, 497, 516:
      throw .blocked("\(sentence); 'mmlog-ship schema' prints the statement that makes the table")
    // Errors of memory, parts, disks, keepers, timeouts.
    case .some: throw .unavailable(sentence)
    case nil: throw response.error(from: url)
    }
  }

  /// The number in `Code: 60, e.displayText() = …`, or in `Code: 60. DB::Exception: …`.
  private static func exceptionCode(_ text: String) -> Int? {
    guard text.hasPrefix("Code: ") else { return nil }
    return Int(text.dropFirst(6).prefix { $0.isNumber })
  }
}

extension String {
  /// Adds parameters to the query of a URL, encoded.
  func adding(query: [(String, String)]) -> String {
    let parameters = query.map { "\($0.percentEncoded)=\($1.percentEncoded)" }
    return self + (contains("?") ? "&" : "?") + parameters.joined(separator: "&")
  }
}
