import MMLogFormat
public import MMLogReader
import MMLogSystem

/// What fills a log: records and bytes by level, label, call site and time.
///
/// Bytes are the sizes of records before an archive compresses them: the sizes that a ring holds,
/// and by which parts of an archive can be compared.
///
/// Memory is bounded: there are at most 50,000 labels, 50,000 call sites and 20,000 spans of time,
/// and the texts of labels and call sites have limits. For one thread at a time.
public struct LogStatistics {
  private var timestamp: TimeFormatter
  private var total = RecordCounts()
  private var levels = [RecordCounts](repeating: RecordCounts(), count: Level.allCases.count)
  private var labels: [Bytewise: RecordCounts] = [:]
  private var labelBytes = TextBudget(16 << 20)
  private var sites = CallSiteCounts()
  private var minutes = TimeBuckets(maximum: 20_000, minimum: 60_000_000_000)
  private var times: ClosedRange<Timestamp>?
  private let filter: LogReader.Filter
  private var sessions: Set<SessionID> = []
  private var lastSession: LogReader.Session?
  private var spans = OpenSpans()
  private var columns = Int.max
  private var longestSpan: (duration: Duration, message: String)?

  /// The number of labels, call sites and spans of time that are shown.
  static let rows = 20

  /// Makes empty statistics.
  public init(zone: LogTimeZone = .local) { self.init(zone: zone, of: LogReader.Filter()) }

  /// Makes empty statistics.
  ///
  /// - Parameter filter: The filter of the reader. Its sessions count if they are within its time.
  package init(zone: LogTimeZone, of filter: LogReader.Filter) {
    timestamp = TimeFormatter(zone)
    self.filter = filter
  }

  /// Adds what a reader gave.
  public mutating func add(_ item: LogReader.Item) {
    switch item {
    case .record(let record): add(record)
    case .sessionStarted(let session): add(session, until: session.identity.startTime)
    case .sessionEnded(let session, let ending, let last):
      add(session, until: ending.time(lastRecord: last))
    default: return
    }
  }

  private mutating func add(_ session: LogReader.Session, until end: Timestamp) {
    if session.isWithin(filter, until: end) { sessions.insert(session.id) }
  }

  private mutating func add(_ record: LogReader.Record) {
    total.add(record)
    if lastSession !== record.session {
      lastSession = record.session
      sessions.insert(record.session.id)
    }
    levels[Int(record.level.rawValue)].add(record)
    let label = Bytewise(record.label)
    let hasRoom =
      labels[label] != nil
      || labels.count < CallSiteCounts.maximum && labelBytes.take(label.text.utf8.count)
    labels[hasRoom ? label : Bytewise(tooMany), default: RecordCounts()].add(record)
    sites.add(record)
    minutes.add(record.time, record.level)
    if let span = record.span { add(span, record) }
    let (minimum, maximum) = (times?.lowerBound ?? record.time, times?.upperBound ?? record.time)
    times = min(minimum, record.time)...max(maximum, record.time)
  }

  private mutating func add(_ span: LogReader.Span, _ record: LogReader.Record) {
    guard let ended = spans.add(record), case .end(_, let duration, _) = span.event else { return }
    if let longestSpan, duration <= longestSpan.duration { return }
    longestSpan = (duration, ended.message)
  }

  // MARK: - As text

  /// Appends tables for people, the greatest first.
  ///
  /// - Parameters:
  ///   - output: The buffer that the tables are appended to.
  ///   - columns: The maximum width of lines; longer names are cut. Default: no limit.
  public mutating func appendText(to output: inout TextBuffer, columns: Int = .max) {
    self.columns = columns
    appendSummary(&output)
    let levels = zip(Level.allCases, levels).filter { $0.1.records > 0 }.reversed()
    appendTable("LEVEL", levels.map { ($0.description, $1) }, &output)
    appendTable(
      "LABEL", labels.map { ($0.text.isEmpty ? "(none)" : $0.text, $1) }.sortedByBytes, &output)
    let sites = sites.entries.map { entry in
      (entry.file.isEmpty ? "(none)" : "\(entry.file):\(entry.line)", entry)
    }
    appendTable(
      "CALL SITE",
      sites.map { ("\($0)  \($1.template)", $1.counts) }.sortedByBytes, &output)
    appendBusiest(&output)
  }

  private mutating func appendSummary(_ output: inout TextBuffer) {
    appendLine(
      "\(grouped(total.records)) \(total.records == 1 ? "record" : "records"), "
        + "\(inBytes(total.bytes)) before compression, "
        + (sessions.count == 1 ? "1 session" : "\(sessions.count) sessions"), &output)
    if let times {
      let first = timestamp.text(of: times.lowerBound)
      appendLine("\(first) to \(timestamp.text(of: times.upperBound))", &output)
    }
    if spans.begun > 0 { appendSpans(&output) }
  }

  private func appendSpans(_ output: inout TextBuffer) {
    let (begun, ended) = (grouped(UInt64(spans.begun)), grouped(UInt64(spans.ended)))
    var line = TextBuffer(capacity: 128)
    line.append(text: "\(begun) spans begun, \(ended) ended")
    if let longestSpan {
      line.append(", the longest after ")
      line.append(duration: longestSpan.duration)
      line.append(": ")
      line.append(longestSpan.message, .plain)
    }
    appendLine(line.text(), &output)
  }

  private func appendLine(_ line: String, _ output: inout TextBuffer) {
    output.append(line: line, within: columns)
  }

  private func appendTable(
    _ title: String, _ rows: [(name: String, counts: RecordCounts)], _ output: inout TextBuffer
  ) {
    output.append("\n")
    appendRow(["RECORDS", "%", "BYTES", "%"], title, &output)
    for (name, counts) in rows.prefix(Self.rows) {
      let cells = [
        grouped(counts.records), percent(counts.records, of: total.records), inBytes(counts.bytes),
        percent(counts.bytes, of: total.bytes),
      ]
      appendRow(cells, name, &output)
    }
    if rows.count > Self.rows {
      output.append(text: "  and \(rows.count - Self.rows) more\n")
    }
  }

  private mutating func appendBusiest(_ output: inout TextBuffer) {
    minutes.settle()
    let all = minutes.sorted.map { ($0.start, $0.counts.total) }.sorted { $0.1 > $1.1 }
    output.append("\n")
    let title =
      minutes.width == 60_000_000_000 ? "MINUTE" : "EVERY \(minutes.width / 60_000_000_000) MINUTES"
    appendRow(["RECORDS", "%", "", ""], title, &output)
    for (start, records) in all.prefix(Self.rows) {
      appendRow(
        [grouped(records), percent(records, of: total.records), "", ""],
        timestamp.text(of: start, digits: 0), &output)
    }
    if all.count > Self.rows { output.append(text: "  and \(all.count - Self.rows) more\n") }
  }

  private func appendRow(_ cells: [String], _ name: String, _ output: inout TextBuffer) {
    let widths = columns < Self.narrow ? Self.widths.prefix(2) : Self.widths[...]
    var line = TextBuffer(capacity: 128)
    for (cell, width) in zip(cells, widths) {
      line.append(UInt8(ascii: " "), count: max(1, width - cell.utf8.count))
      line.append(text: cell)
    }
    output.append(cells: line.text(), name, within: columns)
  }

  /// On lines that are shorter than this, bytes are left out.
  private static let narrow = 60

  private static let widths = [11, 6, 10, 6]

  // MARK: - As JSON

  /// Appends one JSON object, for programs: everything, in no order.
  public mutating func appendJSON(to output: inout TextBuffer) {
    minutes.settle()
    output.append(#"{"total":"#)
    append(total, &output)
    output.append(text: #","sessions":\#(sessions.count),"spans":{"begun":\#(spans.begun),"#)
    output.append(text: #""ended":\#(spans.ended),"longest_nano":"#)
    output.append(text: longestSpan.map { "\($0.duration.nanoseconds)" } ?? "null")
    output.append(#"},"by_level":"#)
    let levels = zip(Level.allCases, levels).filter { $0.1.records > 0 }
    appendObject(levels.map { ($0.description, $1) }, &output)
    output.append(#","by_label":"#)
    appendObject(labels.sorted { $0.key < $1.key }.map { ($0.key.text, $0.value) }, &output)
    output.append(#","by_call_site":["#)
    for (index, entry) in sites.entries.enumerated() {
      output.append(index == 0 ? #"{"code_file_path":"# : #",{"code_file_path":"#)
      output.append(json: entry.file)
      output.append(text: #","code_line_number":\#(entry.line),"template":"#)
      output.append(json: entry.template)
      output.append(#","counts":"#)
      append(entry.counts, &output)
      output.append("}")
    }
    appendTimes(&output)
  }

  private mutating func appendTimes(_ output: inout TextBuffer) {
    output.append(text: #"],"seconds_each":\#(minutes.width / 1_000_000_000),"by_time":["#)
    for (index, (start, counts)) in minutes.sorted.enumerated() {
      output.append(index == 0 ? #"{"start":""# : #",{"start":""#)
      timestamp.append(start, to: &output)
      output.append(text: #"","records":\#(counts.total)}"#)
    }
    output.append("]}\n")
  }

  private func appendObject(_ rows: [(String, RecordCounts)], _ output: inout TextBuffer) {
    output.append("{")
    for (index, (name, counts)) in rows.enumerated() {
      if index > 0 { output.append(",") }
      output.append(json: name)
      output.append(":")
      append(counts, &output)
    }
    output.append("}")
  }

  private func append(_ counts: RecordCounts, _ output: inout TextBuffer) {
    output.append(text: #"{"records":\#(counts.records),"bytes":\#(counts.bytes)}"#)
  }
}

extension [(String, RecordCounts)] {
  fileprivate var sortedByBytes: [(name: String, counts: RecordCounts)] {
    sorted { ($0.1.bytes, $1.0) > ($1.1.bytes, $0.0) }.map { ($0.0, $0.1) }
  }
}

/// `1,234,567`
func grouped(_ number: UInt64) -> String {
  let digits = Array(String(number))
  var text = ""
  for (index, digit) in digits.enumerated() {
    if index > 0, (digits.count - index) % 3 == 0 { text += "," }
    text.append(digit)
  }
  return text
}

/// `1.5 MB`, in powers of a thousand.
func inBytes(_ number: UInt64) -> String {
  var (tenths, unit) = (number.multipliedReportingOverflow(by: 10).partialValue, "B")
  if number < 1000 { return "\(number) B" }
  for next in ["kB", "MB", "GB", "TB"] where tenths >= 10_000 {
    tenths = (tenths + 500) / 1000
    unit = next
  }
  return "\(tenths / 10).\(tenths % 10) \(unit)"
}

private func percent(_ part: UInt64, of whole: UInt64) -> String {
  if whole == 0 { return "0.0" }
  let tenths = Int((Double(part) / Double(whole) * 1000).rounded())
  return "\(tenths / 10).\(tenths % 10)"
}
