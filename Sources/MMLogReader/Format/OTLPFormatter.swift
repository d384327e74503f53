import MMLogFormat
import MMLogSystem

/// OpenTelemetry log records: lines of OTLP in JSON, each an `ExportLogsServiceRequest` with up to
/// ``maximum`` records of one session, as the collector's file receiver reads them, and as they may
/// be posted to `/v1/logs`.
///
/// The session is the resource (`service.name`, `service.instance.id`, `process.pid`,
/// `process.executable.name`, `host.name`, and its fields). The label is the scope's name. The
/// named arguments and metadata are attributes, beside `code.file.path`, `code.line.number`,
/// `code.function.name`, `thread.id`, `thread.name`. A field whose name another attribute of the
/// record or the resource has gets `#2`, `#3` … In a body or string, U+FFFD stands for bytes that
/// are not UTF-8; `log.record.original` then has the body's bytes in base64. Numbers that 64 bits
/// do not hold are strings. A record that belongs to a span or a trace has `traceId`, `spanId` and
/// `flags`: those of the trace that it was logged in, or else of a trace of its own for each span
/// that is not a part of another. A record that begins or ends a span has the attributes
/// `span.event` (`begin`, `end`), `span.name`, `span.parent_id`, `span.start_time_unix_nano` and
/// `span.duration_nano`. A record that ends a span that failed has `otel.status_code` (`ERROR`).
public struct OTLPFormatter: LogFormatter {
  /// The maximum number of records in a line.
  public static let maximum = 512

  /// The size of a line in bytes after which the next line begins; a record may exceed it.
  private static let longest = 1 << 20

  private var sessions = ObjectTexts<LogReader.Session>()
  private var threads = ObjectTexts<LogReader.Thread>()
  private var frames = RecordIDText()
  private var parents = SpanParents()
  /// The session and the label of the line that is being written.
  private var open: (session: LogReader.Session, label: PreparedText)?
  private var count = 0
  private var bytes = 0
  private static let levels = Level.allCases.map { level in
    Array(#"","severityNumber":\#(level.severityNumber),"severityText":"\#(level)","body":{"#.utf8)
  }

  /// Makes a formatter.
  public init() {}

  /// Appends the record, in the line that is open or in a new one.
  public mutating func append(_ record: LogReader.Record, to output: inout TextBuffer) {
    let start = output.count
    if count == Self.maximum || bytes >= Self.longest || open?.session !== record.session {
      pause(&output)
    }
    if open == nil {
      output.append(#"{"resourceLogs":[{"resource":"#)
      sessions.append(record.session, to: &output) { Self.append(record.session, to: &$0) }
      output.append(#","scopeLogs":["#)
      beginScope(record, &output)
    } else if let open, open.label !== record.content.label {
      output.append("]},")
      beginScope(record, &output)
    } else {
      output.append(UInt8(ascii: ","))
    }
    appendRecord(record, to: &output)
    count += 1
    bytes += output.count - start
  }

  /// Ends the line that is open.
  public mutating func pause(_ output: inout TextBuffer) {
    if open != nil { output.append("]}]}]}\n") }
    open = nil
    (count, bytes) = (0, 0)
  }

  private mutating func beginScope(_ record: LogReader.Record, _ output: inout TextBuffer) {
    open = (record.session, record.content.label)
    output.append(#"{"scope":{"name":""#)
    record.content.appendLabel(.json, to: &output)
    output.append(#""},"logRecords":["#)
  }

  private mutating func appendRecord(_ record: LogReader.Record, to output: inout TextBuffer) {
    output.append(#"{"timeUnixNano":""#)
    // The protocol has no time before 1970; 0 says that the time is not known.
    output.append(decimal: UInt64(max(0, record.time.nanosecondsSince1970)))
    output.append(Self.levels[Int(record.level.rawValue)])
    output.append(#""stringValue":""#)
    let isUTF8 = record.content.appendMessage(.json, to: &output)
    output.append(#""},"attributes":["#)
    threads.append(record.thread, to: &output) { Self.append(record.thread, to: &$0) }
    appendFields(record, to: &output)
    appendPlace(record.content, to: &output)
    if let span = record.span { Self.append(span, to: &output) }
    if record.owner.frame != nil {
      output.append(#",{"key":"log.record.uid","value":{"stringValue":""#)
      frames.append(idOf: record, to: &output)
      output.append(#""}}"#)
    }
    if record.time.nanosecondsSince1970 < 0 {
      output.append(#",{"key":"mmlog.time","value":{"stringValue":""#)
      output.append(text: record.time.description)
      output.append(#""}}"#)
    }
    if !isUTF8 {
      output.append(#",{"key":"log.record.original","value":{"bytesValue":""#)
      output.append(messageBase64: record)
      output.append(#""}}"#)
    }
    output.append("]")
    if record.content.hasContext { appendContext(record, to: &output) }
    output.append("}")
  }

  private mutating func appendContext(_ record: LogReader.Record, to output: inout TextBuffer) {
    parents.add(record)
    let (span, trace) = (record.spanNumber, record.trace)
    let words = trace?.words ?? span.map { parents.trace(of: $0, record.session) }
    guard let words else { return }
    output.append(#","traceId":""#)
    output.append(text: words.0.allHexDigits + words.1.allHexDigits)
    output.append(#"","spanId":""#)
    output.append(text: LogReader.Span.text(of: span ?? trace?.spanID ?? 0))
    output.append(UInt8(ascii: "\""))
    guard let flags = trace?.flags else { return }
    output.append(#","flags":"#)
    output.append(decimal: UInt64(flags))
  }

  private static func append(_ span: LogReader.Span, to output: inout TextBuffer) {
    func append(_ key: StaticString, _ number: Int64) {
      output.append(#",{"key":""#)
      output.append(key)
      output.append(#"","value":{"intValue":""#)
      output.append(decimal: number)
      output.append(#""}}"#)
    }
    func append(_ key: StaticString, _ text: String) {
      output.append(",")
      output.append(attribute: key, text)
    }
    append("span.event", "\(span.event.name)")
    if let name = span.name { append("span.name", name) }
    switch span.event {
    case .begin(let parent):
      if let parent { append("span.parent_id", LogReader.Span.text(of: parent)) }
    case .end(let start, let duration, let failed):
      if failed { append("otel.status_code", "ERROR") }
      append("span.start_time_unix_nano", start.nanosecondsSince1970)
      append("span.duration_nano", duration.nanoseconds)
    }
  }

  private func appendFields(_ record: LogReader.Record, to output: inout TextBuffer) {
    record.forEachAttribute(.json) { (name, value, reader) throws(FormatError) in
      output.append(#",{"key":""#)
      name.append(.json, to: &output)
      output.append(#"","value":"#)
      try output.append(anyValue: value, from: &reader)
      output.append(UInt8(ascii: "}"))
    }
  }

  private func appendPlace(_ content: RecordContent, to output: inout TextBuffer) {
    guard content.hasPlace else { return }
    output.append(#",{"key":"code.file.path","value":{"stringValue":""#)
    content.appendFile(.json, to: &output)
    output.append(#""}},{"key":"code.line.number","value":{"intValue":""#)
    content.appendLine(to: &output)
    output.append(#""}},{"key":"code.function.name","value":{"stringValue":""#)
    content.appendFunction(.json, to: &output)
    output.append(#""}}"#)
  }

  private static func append(_ thread: LogReader.Thread, to output: inout TextBuffer) {
    output.append(#"{"key":"thread.id","value":{"intValue":""#)
    output.append(decimal: UInt64(thread.id))
    output.append(#""}}"#)
    guard !thread.name.isEmpty else { return }
    output.append(",")
    output.append(attribute: "thread.name", thread.name)
  }

  private static func append(_ session: LogReader.Session, to output: inout TextBuffer) {
    output.append(#"{"attributes":["#)
    output.append(attribute: "service.name", session.identity.storeName)
    output.append(",")
    output.append(attribute: "service.instance.id", session.id.description)
    output.append(
      text: #",{"key":"process.pid","value":{"intValue":"\#(session.identity.processID)"}},"#)
    output.append(attribute: "process.executable.name", session.identity.processName)
    output.append(",")
    output.append(attribute: "host.name", session.identity.hostName)
    session.forEachAttribute { (name, value, reader) throws(FormatError) in
      output.append(#",{"key":"#)
      output.append(json: name)
      output.append(#","value":"#)
      try output.append(anyValue: value, from: &reader)
      output.append("}")
    }
    output.append("]}")
  }
}

extension TextBuffer {
  fileprivate mutating func append(attribute key: StaticString, _ value: String) {
    append(#"{"key":""#)
    append(key)
    append(#"","value":{"stringValue":"#)
    append(json: value)
    append("}}")
  }

  /// Appends a value as OTLP's `AnyValue`.
  fileprivate mutating func append(
    anyValue value: ValueView, from reader: inout WordReader, depth: Int = 0
  ) throws(FormatError) {
    switch value {
    case .int(let value): append(intValue: value)
    case .uint(let value) where value <= UInt64(Int64.max): append(intValue: Int64(value))
    case .double(let value): append(doubleValue: value)
    case .float(let value): append(doubleValue: Double(value))
    case .bool(let value): append(value ? #"{"boolValue":true}"# : #"{"boolValue":false}"#)
    case .bytes(let bytes):
      append(#"{"bytesValue":""#)
      append(base64: bytes)
      append(#""}"#)
    case .null: append("{}")
    case .array(let count):
      try reader.checkDepth(depth)
      append(#"{"arrayValue":{"values":["#)
      for index in 0..<count {
        if index > 0 { append(UInt8(ascii: ",")) }
        try append(anyValue: reader.taggedView(), from: &reader, depth: depth + 1)
      }
      append("]}}")
    case .dictionary(let count):
      try append(keyValues: count, from: &reader, depth: depth)
    case .string, .uint, .int128, .uint128, .redacted, .hash, .sealed:
      append(#"{"stringValue":""#)
      try append(value, .json, from: &reader)
      append(#""}"#)
    }
  }

  private mutating func append(
    keyValues count: Int, from reader: inout WordReader, depth: Int
  ) throws(FormatError) {
    try reader.checkDepth(depth)
    append(#"{"kvlistValue":{"values":["#)
    var names = UniqueNames()
    for index in 0..<count {
      if index > 0 { append(UInt8(ascii: ",")) }
      append(#"{"key":"#)
      append(json: names.unique(String(decoding: try reader.string(), as: UTF8.self)))
      append(#","value":"#)
      try append(anyValue: reader.taggedView(), from: &reader, depth: depth + 1)
      append(UInt8(ascii: "}"))
    }
    append("]}}")
  }

  private mutating func append(intValue value: Int64) {
    append(#"{"intValue":""#)
    append(decimal: value)
    append(#""}"#)
  }

  /// For values that JSON has no number for, the JSON of protocol buffers has three names in
  /// quotes.
  private mutating func append(doubleValue value: Double) {
    append(#"{"doubleValue":"#)
    append(jsonNumber: value)
    append(UInt8(ascii: "}"))
  }
}
