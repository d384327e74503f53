package import MMLogFormat
import MMLogSystem

/// One JSON object on a line for each record (RFC 8259), for programs. It is valid, whatever was
/// logged.
///
/// Names are those of OpenTelemetry: the fields of its log records in OTLP, and its semantic
/// conventions with `_` in place of dots, as Prometheus and Loki write them, too. Such names need
/// no quotes in jq or SQL.
///
/// | key | value |
/// | - | - |
/// | `timestamp` | RFC 3339 with nine digits of a second, in the zone chosen |
/// | `time_unix_nano` | the same in nanoseconds since 1970 |
/// | `severity_text` | `trace` … `critical` |
/// | `severity_number` | 1, 5, 9, 10, 13, 17, 21 |
/// | `scope_name` | the logger's label |
/// | `body` | the message with its arguments in it; U+FFFD for what is not UTF-8 |
/// | `body_base64` | its bytes, only if they are not UTF-8 |
/// | `attributes` | named arguments, then metadata, by name; a name that is there again gets `#2`, `#3` … |
/// | `code_file_path`, `code_line_number`, `code_function_name` | the log statement; left out if there is none |
/// | `trace_id`, `trace_flags` | the trace that it belongs to, in 32 hexadecimal digits, and the trace's flags |
/// | `span_id` | the span that it begins, ends or belongs to: its number, in 16 hexadecimal digits; left out if it began in another session |
/// | `span_event` | `begin` or `end` |
/// | `span_name` | where it begins or ends: the message of its beginning with `{}` or `{name}` for each argument; left out if it is not known |
/// | `parent_span_id` | where it begins: what it is a part of, if that is known |
/// | `start_time_unix_nano`, `duration_nano` | where it ends: when it began, and how long it took, in nanoseconds |
/// | `span_failed` | where it ends: `true`, only if what it stands for failed |
/// | `thread_ordinal`, `thread_id`, `thread_name` | the thread; no name if it had none |
/// | `service_name` | the store's name |
/// | `process_name`, `process_pid`, `host_name` | the process and its machine |
/// | `session_id` | whose record it is |
/// | `resource` | the session's fields, by name; left out if it has none |
/// | `log_record_uid` | the record's name, which no other has; left out if it is in no archive yet |
/// | `cut`, `flight`, `unterminated` | `true`, only if so |
///
/// Values of attributes: integers are numbers if 64 signed bits hold them and strings otherwise,
/// since other programs refuse larger ones; floating point is a number, or `"NaN"`, `"Infinity"`,
/// `"-Infinity"`; bytes are `{"base64":"…"}`; redacted values are `"<private>"` and hashed ones
/// `"<hash:…>"`; nil is `null`.
public struct JSONFormatter: LogFormatter {
  private var timestamp: TimeFormatter
  private var threads = ObjectTexts<LogReader.Thread>()
  private var sessions = ObjectTexts<LogReader.Session>()
  private var frames = RecordIDText()

  /// Makes a formatter that shows times in a zone.
  public init(zone: LogTimeZone = .local) { timestamp = TimeFormatter(zone) }

  /// Appends the record's object and a line end.
  public mutating func append(_ record: LogReader.Record, to output: inout TextBuffer) {
    output.append(#"{"timestamp":""#)
    timestamp.append(record.time, to: &output)
    output.append(#"","time_unix_nano":"#)
    output.append(decimal: record.time.nanosecondsSince1970)
    output.append(#","severity_text":""#)
    output.append(Self.severity(record.level))
    output.append(#","scope_name":""#)
    record.content.appendLabel(.json, to: &output)
    output.append(#"","body":""#)
    let isUTF8 = record.content.appendMessage(.json, to: &output)
    output.append(UInt8(ascii: "\""))
    if !isUTF8 {
      output.append(#","body_base64":""#)
      output.append(messageBase64: record)
      output.append(UInt8(ascii: "\""))
    }
    output.append(#","attributes":"#)
    output.append(attributes: record.content)
    appendPlace(record.content, to: &output)
    if record.content.hasContext { Self.appendContext(record, to: &output) }
    threads.append(record.thread, to: &output) { Self.append(record.thread, to: &$0) }
    sessions.append(record.session, to: &output) { Self.append(record.session, to: &$0) }
    if record.owner.frame != nil {
      output.append(#","log_record_uid":""#)
      frames.append(idOf: record, to: &output)
      output.append(UInt8(ascii: "\""))
    }
    if record.isCut { output.append(#","cut":true"#) }
    if record.isFlight { output.append(#","flight":true"#) }
    if record.isUnterminated { output.append(#","unterminated":true"#) }
    output.append("}\n")
  }

  /// Level and number. It is a StaticString, because no reference is counted for such a string.
  private static func severity(_ level: Level) -> StaticString {
    switch level {
    case .trace: #"trace","severity_number":1"#
    case .debug: #"debug","severity_number":5"#
    case .info: #"info","severity_number":9"#
    case .notice: #"notice","severity_number":10"#
    case .warning: #"warning","severity_number":13"#
    case .error: #"error","severity_number":17"#
    case .critical, .off: #"critical","severity_number":21"#
    }
  }

  private func appendPlace(_ content: RecordContent, to output: inout TextBuffer) {
    guard content.hasPlace else { return }
    output.append(#","code_file_path":""#)
    content.appendFile(.json, to: &output)
    output.append(#"","code_line_number":"#)
    content.appendLine(to: &output)
    output.append(#","code_function_name":""#)
    content.appendFunction(.json, to: &output)
    output.append(UInt8(ascii: "\""))
  }

  private static func appendContext(_ record: LogReader.Record, to output: inout TextBuffer) {
    if let trace = record.trace {
      output.append(#","trace_id":""#)
      output.append(text: trace.traceID)
      output.append(#"","trace_flags":"#)
      output.append(decimal: UInt64(trace.flags))
    }
    if let number = record.spanNumber {
      output.append(#","span_id":""#)
      output.append(text: LogReader.Span.text(of: number))
      output.append(UInt8(ascii: "\""))
    }
    if let span = record.span { append(span, to: &output) }
  }

  private static func append(_ span: LogReader.Span, to output: inout TextBuffer) {
    output.append(#","span_event":""#)
    output.append(span.event.name)
    output.append(UInt8(ascii: "\""))
    if let name = span.name {
      output.append(#","span_name":"#)
      output.append(json: name)
    }
    switch span.event {
    case .begin(let parent?):
      output.append(#","parent_span_id":""#)
      output.append(text: LogReader.Span.text(of: parent))
      output.append(UInt8(ascii: "\""))
    case .begin(nil): return
    case .end(let start, let duration, let failed):
      output.append(#","start_time_unix_nano":"#)
      output.append(decimal: start.nanosecondsSince1970)
      output.append(#","duration_nano":"#)
      output.append(decimal: duration.nanoseconds)
      if failed { output.append(#","span_failed":true"#) }
    }
  }

  private static func append(_ thread: LogReader.Thread, to output: inout TextBuffer) {
    output.append(#","thread_ordinal":"#)
    output.append(decimal: UInt64(thread.ordinal))
    output.append(#","thread_id":"#)
    output.append(decimal: UInt64(thread.id))
    guard !thread.name.isEmpty else { return }
    output.append(#","thread_name":"#)
    output.append(json: thread.name)
  }

  static func append(_ session: LogReader.Session, to output: inout TextBuffer) {
    output.append(#","service_name":"#)
    output.append(json: session.identity.storeName)
    output.append(#","process_name":"#)
    output.append(json: session.identity.processName)
    output.append(#","process_pid":"#)
    output.append(text: "\(session.identity.processID)")
    output.append(#","host_name":"#)
    output.append(json: session.identity.hostName)
    output.append(#","session_id":"#)
    output.append(json: session.id.description)
    var isFirst = true
    session.forEachField { (name, value, reader) throws(FormatError) in
      output.append(isFirst ? #","resource":{"# : ",")
      isFirst = false
      output.append(json: name)
      output.append(UInt8(ascii: ":"))
      try output.append(json: value, from: &reader)
    }
    if !isFirst { output.append("}") }
  }
}

extension LogReader.Session {
  /// Calls `body` with each of the session's fields; see
  /// ``SessionFields/forEachUnique(besides:_:)``.
  package func forEachField(
    _ body: (String, ValueView, inout WordReader) throws(FormatError) -> Void
  ) {
    fieldsInWords.forEachUnique(body)
  }

  /// The session's fields for people: `name=value`, a space before each.
  package var fieldText: String { fieldsInWords.texts.map { " \($0)" }.joined() }
}

extension SessionFields {
  /// Calls `body` with each field. `body` must take or pass over the elements of a container. No
  /// name comes twice, and none is one of the `known` names: such a name gets `#2`, `#3` …
  func forEachUnique(
    besides known: UniqueNames = UniqueNames(),
    _ body: (String, ValueView, inout WordReader) throws(FormatError) -> Void
  ) {
    var names = known
    // The fields have been walked over before: nothing is thrown.
    try? forEach { (name, value, reader) throws(FormatError) in
      try body(names.unique(String(decoding: name, as: UTF8.self)), value, &reader)
    }
  }

  /// Each field for people: `name=value`.
  package var texts: [String] {
    var texts: [String] = []
    forEachUnique { (name, value, reader) throws(FormatError) in
      var output = TextBuffer()
      output.appendQuoting { $0.append(name, .quoted) }
      output.append(UInt8(ascii: "="))
      try output.append(quoting: value, from: &reader)
      texts.append(output.text())
    }
    return texts
  }

  /// All fields as an object.
  package var json: JSONObject {
    var object = JSONObject()
    forEachUnique { (name, value, reader) throws(FormatError) in
      var output = TextBuffer()
      try output.append(json: value, from: &reader)
      object.add(name, json: output.text())
    }
    return object
  }
}

extension TextBuffer {
  /// Appends the message's bytes in base64.
  mutating func append(messageBase64 record: LogReader.Record) {
    var message = TextBuffer()
    record.content.appendMessage(.raw, to: &message)
    message.withUnsafeBytes { append(base64: $0) }
  }

  /// Appends the named arguments and the metadata as a JSON object.
  package mutating func append(attributes content: RecordContent) {
    append(UInt8(ascii: "{"))
    var isFirst = true
    content.forEachField(.json) { (name, value, reader) throws(FormatError) in
      append(isFirst ? "\"" : ",\"")
      isFirst = false
      name.append(.json, to: &self)
      append("\":")
      try append(json: value, from: &reader)
    }
    append(UInt8(ascii: "}"))
  }
}
