import MMLogFormat
import MMLogSystem

/// A table with a line for each record, and a line of names before them: CSV (RFC 4180) or
/// tab-separated values, for spreadsheets and databases.
///
/// Columns have the names of ``JSONFormatter``; `attributes` is the same JSON object as there. In
/// CSV, every text stands between quotes, quotes in it are doubled, and lines end with CR and LF.
/// In both kinds, control characters and bytes that are not UTF-8 are escaped as in text, so that
/// each record is one line.
///
/// Spreadsheets take a text for a formula if it begins with `=`, `+`, `-`, `@`, or one of these in
/// full width, with quotes or without. If others than you can log, ask for `isFormulaSafe`: then
/// such a text has `'` before it. OWASP calls the problem CSV injection. Tabs and line ends, which
/// are dangerous there, too, are escaped in any case.
public struct TableFormatter: LogFormatter {
  /// What is between the columns.
  public enum Kind: Sendable {
    /// RFC 4180.
    case csv
    /// A tab, and no quotes: no value contains a tab or a line end.
    case tsv
  }

  private let cells: Cells
  private var timestamp: TimeFormatter
  private var threads = ObjectTexts<LogReader.Thread>()
  private var sessions = ObjectTexts<LogReader.Session>()

  /// Makes a formatter.
  ///
  /// - Parameters:
  ///   - kind: What is between the columns.
  ///   - zone: The zone that times are shown in.
  ///   - isFormulaSafe: Whether a text that a spreadsheet would take for a formula gets `'` before
  ///     it; default: no, because programs want what was logged.
  public init(_ kind: Kind, zone: LogTimeZone = .local, isFormulaSafe: Bool = false) {
    cells = Cells(kind: kind, isFormulaSafe: isFormulaSafe)
    timestamp = TimeFormatter(zone)
  }

  private static let columns = [
    "timestamp", "time_unix_nano", "severity_text", "severity_number", "scope_name", "body",
    "attributes",
    "code_file_path", "code_line_number", "code_function_name", "thread_ordinal", "thread_id",
    "thread_name", "service_name", "process_name", "process_pid", "host_name", "session_id",
    "flight", "span_id", "span_event", "parent_span_id", "start_time_unix_nano", "duration_nano",
    "span_name", "span_failed", "trace_id",
  ]

  /// Appends the names of the columns.
  public mutating func begin(_ output: inout TextBuffer) {
    for (index, name) in Self.columns.enumerated() {
      if index > 0 { cells.appendSeparator(to: &output) }
      output.append(text: name)
    }
    cells.appendLineEnd(to: &output)
  }

  /// Appends the record's line.
  public mutating func append(_ record: LogReader.Record, to output: inout TextBuffer) {
    timestamp.append(record.time, to: &output)
    cells.appendSeparator(to: &output)
    output.append(decimal: record.time.nanosecondsSince1970)
    cells.appendSeparator(to: &output)
    output.append(text: record.level.description)
    cells.appendSeparator(to: &output)
    output.append(decimal: UInt64(record.level.severityNumber))
    cells.appendText(&output) { record.content.appendLabel($1, to: &$0) }
    cells.appendText(&output) { record.content.appendMessage($1, to: &$0) }
    cells.appendAttributes(record.content, to: &output)
    cells.appendPlace(record.content, to: &output)
    threads.append(record.thread, to: &output) { [cells] in cells.append(record.thread, to: &$0) }
    sessions.append(record.session, to: &output) { [cells] in cells.append(record.session, to: &$0)
    }
    cells.appendSeparator(to: &output)
    if record.isFlight { output.append("true") }
    cells.appendContext(of: record, to: &output)
    cells.appendLineEnd(to: &output)
  }
}

extension TableFormatter {
  /// Appends a text as a cell has it.
  @inline(__always)
  static func appendCell(
    _ kind: Kind, _ isFormulaSafe: Bool, to output: inout TextBuffer,
    _ body: (inout TextBuffer, TextForm) -> Void
  ) {
    if kind == .csv { output.append(UInt8(ascii: "\"")) }
    let start = output.count
    body(&output, kind == .csv ? .csv : .plain)
    if isFormulaSafe, output.withBytes(from: start, { UnsafeRawBufferPointer($0).beginsFormula }) {
      output.insert(UInt8(ascii: "'"), count: 1, at: start)
    }
    if kind == .csv { output.append(UInt8(ascii: "\"")) }
  }
}

/// What the cells of a table consist of.
private struct Cells {
  let kind: TableFormatter.Kind
  let isFormulaSafe: Bool

  func appendAttributes(_ content: RecordContent, to output: inout TextBuffer) {
    guard content.hasFields else { return appendText(&output) { output, _ in output.append("{}") } }
    var json = TextBuffer()
    json.append(attributes: content)
    appendText(&output) { output, _ in
      // After JSON's own escapes, only quotes are left to be escaped.
      json.withUnsafeBytes { _ = output.append($0, kind == .csv ? .csv : .plain) }
    }
  }

  func appendPlace(_ content: RecordContent, to output: inout TextBuffer) {
    appendText(&output) { content.appendFile($1, to: &$0) }
    appendSeparator(to: &output)
    if content.hasPlace { content.appendLine(to: &output) }
    appendText(&output) { content.appendFunction($1, to: &$0) }
  }

  func append(_ thread: LogReader.Thread, to output: inout TextBuffer) {
    appendSeparator(to: &output)
    output.append(decimal: UInt64(thread.ordinal))
    appendSeparator(to: &output)
    output.append(decimal: UInt64(thread.id))
    appendText(&output) { $0.append(thread.name, $1) }
  }

  func append(_ session: LogReader.Session, to output: inout TextBuffer) {
    appendText(&output) { $0.append(session.identity.storeName, $1) }
    appendText(&output) { $0.append(session.identity.processName, $1) }
    appendSeparator(to: &output)
    output.append(text: "\(session.identity.processID)")
    appendText(&output) { $0.append(session.identity.hostName, $1) }
    appendText(&output) { output, _ in output.append(text: session.id.description) }
  }

  /// Appends span and trace; most records have neither.
  func appendContext(of record: LogReader.Record, to output: inout TextBuffer) {
    guard record.content.hasContext else {
      return output.append(kind == .csv ? ",,,,,,,," : "\t\t\t\t\t\t\t\t")
    }
    append(span: record.spanNumber, to: &output)
    append(record.span, to: &output)
    guard let trace = record.trace else { return appendSeparator(to: &output) }
    appendText(&output) { output, _ in output.append(text: trace.traceID) }
  }

  private func append(_ span: LogReader.Span?, to output: inout TextBuffer) {
    guard let span else { return output.append(kind == .csv ? ",,,,,," : "\t\t\t\t\t\t") }
    appendText(&output) { output, _ in output.append(span.event.name) }
    append(span: span.event.parent, to: &output)
    append(span.event.start?.nanosecondsSince1970, to: &output)
    append(span.event.duration?.nanoseconds, to: &output)
    appendText(&output) { output, form in if let name = span.name { output.append(name, form) } }
    appendText(&output) { output, _ in if span.event.failed == true { output.append("true") } }
  }

  private func append(span number: UInt64?, to output: inout TextBuffer) {
    guard let number else { return appendSeparator(to: &output) }
    appendText(&output) { output, _ in output.append(text: LogReader.Span.text(of: number)) }
  }

  private func append(_ number: Int64?, to output: inout TextBuffer) {
    appendSeparator(to: &output)
    if let number { output.append(decimal: number) }
  }

  /// Appends a separator and then a text.
  func appendText(
    _ output: inout TextBuffer, _ body: (inout TextBuffer, TextForm) -> Void
  ) {
    appendSeparator(to: &output)
    TableFormatter.appendCell(kind, isFormulaSafe, to: &output, body)
  }

  func appendSeparator(to output: inout TextBuffer) {
    output.append(UInt8(ascii: kind == .csv ? "," : "\t"))
  }

  func appendLineEnd(to output: inout TextBuffer) {
    output.append(kind == .csv ? "\r\n" : "\n")
  }
}

extension UnsafeRawBufferPointer {
  /// Whether a spreadsheet would take a cell that begins with these bytes for a formula.
  fileprivate var beginsFormula: Bool {
    guard !isEmpty, case .scalar(let scalar, _) = character(at: 0) else { return false }
    switch Unicode.Scalar(scalar) {
    case "=", "+", "-", "@", "\u{FF1D}", "\u{FF0B}", "\u{FF0D}", "\u{FF20}": return true
    default: return false
    }
  }
}
