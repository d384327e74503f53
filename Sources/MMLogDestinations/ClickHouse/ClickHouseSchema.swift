/// The table for logs. It has the columns that OpenTelemetry's exporter for ClickHouse has for
/// logs, so that tools for that exporter can read it, and one more for the record's id.
package enum ClickHouseSchema {
  /// The columns in the order in which rows have them.
  static let columns =
    "Timestamp, TraceId, SpanId, TraceFlags, SeverityText, SeverityNumber, ServiceName, "
    + "ResourceAttributes, ScopeName, Body, LogAttributes, RecordId"

  /// The statement that makes the table, unless it exists.
  ///
  /// The table keeps the tokens of its last 10,000 inserts (`non_replicated_deduplication_window`),
  /// and drops a batch that comes again. A replicated table does so by itself.
  ///
  /// - Parameters:
  ///   - table: The table's name, with the database before it if that is not the default one.
  ///   - days: For how many days rows are kept, from the time of the record on; nil: forever. The
  ///     table drops records that are already older when they arrive.
  package static func statement(table: String, days: Int? = 30) -> String {
    let retention = days.map { "\nTTL \(end(days: $0))" } ?? ""
    return """
      CREATE TABLE IF NOT EXISTS \(quoted(table))
      (
          Timestamp DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
          TraceId String CODEC(ZSTD(1)),
          SpanId String CODEC(ZSTD(1)),
          TraceFlags UInt8,
          SeverityText LowCardinality(String),
          SeverityNumber UInt8,
          ServiceName LowCardinality(String),
          ResourceAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),
          ScopeName LowCardinality(String),
          Body String CODEC(ZSTD(1)),
          LogAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),
          RecordId String CODEC(ZSTD(1)),
          INDEX TraceIdIndex TraceId TYPE bloom_filter(0.001) GRANULARITY 1,
          INDEX BodyIndex lower(Body) TYPE tokenbf_v1(32768, 3, 0) GRANULARITY 8
      )
      ENGINE = MergeTree
      PARTITION BY toDate32(Timestamp)
      ORDER BY (ServiceName, SeverityNumber, Timestamp)\(retention)
      SETTINGS non_replicated_deduplication_window = 10000, ttl_only_drop_parts = 1;

      """
  }

  /// The time at which a row goes. Servers before 25.7 take no DateTime64 there. A DateTime ends in
  /// 2106: a later time would become one long ago, and the row would go at once. Zero would stand
  /// for no time.
  private static func end(days: Int) -> String {
    func time(_ day: String) -> String { "toDateTime64('\(day) 00:00:00', 9, 'UTC')" }
    let end = "greatest(Timestamp + toIntervalDay(\(days)), \(time("1970-01-02")))"
    return "toDateTime(least(\(end), \(time("2106-01-01"))))"
  }

  /// A name as SQL has it: each part between backquotes.
  static func quoted(_ name: String) -> String {
    name.split(separator: ".", maxSplits: 1).map { part in
      let escaped = part.replacing("\\", with: "\\\\").replacing("`", with: "\\`")
      return "`\(escaped)`"
    }.joined(separator: ".")
  }
}
