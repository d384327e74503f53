import MMLogFormat
import MMLogReader
import MMLogShipping

/// A batch as lines of JSON: each line is a record as ``JSONFormatter`` writes it, or a gap.
struct BatchLines {
  private var formatter = JSONFormatter(zone: .utc)

  mutating func encode(_ batch: LogBatch) -> TextBuffer {
    var output = TextBuffer(capacity: 1 << 16)
    for gap in GapRecord.all(of: batch) { Self.append(gap, batch, &output) }
    for records in batch.records { formatter.append(records, to: &output) }
    formatter.end(&output)
    return output
  }

  /// Appends a gap as a line.
  static func append(_ gap: GapRecord, _ batch: LogBatch, _ output: inout TextBuffer) {
    var line = JSONObject()
    line.add("timestamp", gap.time.description)
    line.add("time_unix_nano", gap.time.nanosecondsSince1970)
    line.add("severity_text", "\(Level.warning)")
    line.add("severity_number", Level.warning.severityNumber)
    line.add("scope_name", "\(GapRecord.label)")
    line.add("body", gap.text)
    line.add("attributes", json: gap.jsonAttributes)
    line.add(batch.session)
    line.add("log_record_uid", gap.id)
    output.append(text: line.text)
    output.append("\n")
  }
}
