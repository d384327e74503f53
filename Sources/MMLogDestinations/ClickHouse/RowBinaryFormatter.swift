import MMLogFormat
import MMLogReader
import MMLogSystem

/// Rows of ClickHouse's format `RowBinary`, in the columns of ``ClickHouseSchema``.
///
/// A row has the columns without a word between them: numbers in little-endian order; texts with
/// their length before them, as a varint; maps with the number of their pairs, then key and value
/// in turn.
struct RowBinaryFormatter: LogFormatter {
  /// Whether attributes are the text of a JSON object in place of a map.
  let hasJSON: Bool
  private var threads = ObjectTexts<LogReader.Thread>()
  private var sessions = ObjectTexts<LogReader.Session>()
  private var ids = RecordIDText()
  private var parents = SpanParents()

  init(hasJSON: Bool) { self.hasJSON = hasJSON }

  mutating func append(_ record: LogReader.Record, to output: inout TextBuffer) {
    let content = record.content
    output.append(int64: record.time.nanosecondsSince1970)
    if content.hasContext { appendContext(record, to: &output) } else { output.append("\0\0\0") }
    output.append(lengthAnd: record.level.name)
    output.append(UInt8(truncatingIfNeeded: record.level.severityNumber))
    append(record.session, to: &output)
    output.appendText { content.appendLabel(.raw, to: &$0) }
    output.appendText { _ = $0.append(messageOf: content) }
    if hasJSON {
      output.appendText { Self.appendJSON(record, to: &$0) }
    } else {
      appendAttributes(record, to: &output)
    }
    output.appendText { ids.append(idOf: record, to: &$0) }
  }

  /// Appends a gap as a row.
  mutating func append(
    _ gap: GapRecord, _ session: LogReader.Session, to output: inout TextBuffer
  ) {
    output.append(int64: gap.time.nanosecondsSince1970)
    output.append("\0\0\0")
    output.append(lengthAnd: Level.warning.name)
    output.append(UInt8(truncatingIfNeeded: Level.warning.severityNumber))
    append(session, to: &output)
    output.append(lengthAnd: GapRecord.label)
    output.appendText { $0.append(text: gap.text) }
    if hasJSON {
      output.appendText { $0.append(text: gap.jsonAttributes) }
    } else {
      output.append(varint: UInt64(gap.attributes.count))
      for (name, value) in gap.attributes {
        output.appendText { $0.append(text: name) }
        output.appendText { $0.append(text: value.text) }
      }
    }
    output.appendText { $0.append(text: gap.id) }
  }

  /// `TraceId`, `SpanId`, `TraceFlags`.
  private mutating func appendContext(_ record: LogReader.Record, to output: inout TextBuffer) {
    parents.add(record)
    let (span, trace) = (record.spanNumber, record.trace)
    guard let words = trace?.words ?? span.map({ parents.trace(of: $0, record.session) }) else {
      return output.append("\0\0\0")
    }
    output.appendText { $0.append(text: words.0.allHexDigits + words.1.allHexDigits) }
    let number = span ?? trace?.spanID ?? 0
    output.appendText { $0.append(text: LogReader.Span.text(of: number)) }
    output.append(trace?.flags ?? 0)
  }

  /// `ServiceName`, `ResourceAttributes`.
  private mutating func append(_ session: LogReader.Session, to output: inout TextBuffer) {
    let hasJSON = hasJSON
    sessions.append(session, to: &output) { output in
      output.appendText { $0.append(text: session.identity.storeName) }
      if hasJSON {
        output.appendText { $0.append(text: Self.json(of: session)) }
      } else {
        Self.appendMap(of: session, to: &output)
      }
    }
  }

  private static func json(of session: LogReader.Session) -> String {
    var object = JSONObject()
    let identity = session.identity
    object.add("service.instance.id", session.id.description)
    object.add("process.pid", identity.processID)
    object.add("process.executable.name", identity.processName)
    object.add("host.name", identity.hostName)
    session.forEachAttribute { (name, value, reader) throws(FormatError) in
      var text = TextBuffer()
      try text.append(json: value, from: &reader)
      object.add(name, json: text.text())
    }
    return object.text
  }

  private static func appendMap(of session: LogReader.Session, to output: inout TextBuffer) {
    let identity = session.identity
    let start = output.beginText()
    output.append(pair: "service.instance.id", session.id.description)
    output.append(pair: "process.pid", "\(identity.processID)")
    output.append(pair: "process.executable.name", identity.processName)
    output.append(pair: "host.name", identity.hostName)
    var pairs = 4
    session.forEachAttribute { (name, value, reader) throws(FormatError) in
      output.appendText { $0.append(text: name) }
      try output.append(mapValue: value, from: &reader)
      pairs += 1
    }
    output.setCount(pairs, at: start)
  }

  /// `LogAttributes`.
  private mutating func appendAttributes(
    _ record: LogReader.Record, to output: inout TextBuffer
  ) {
    let content = record.content
    let start = output.beginText()
    var pairs = 0
    record.forEachAttribute(.raw) { (name, value, reader) throws(FormatError) in
      output.appendText { name.append(.raw, to: &$0) }
      try output.append(mapValue: value, from: &reader)
      pairs += 1
    }
    threads.append(record.thread, to: &output) { Self.append(record.thread, to: &$0) }
    pairs += record.thread.name.isEmpty ? 1 : 2
    if content.hasPlace {
      output.append(lengthAnd: "code.file.path")
      output.appendText { content.appendFile(.raw, to: &$0) }
      output.append(lengthAnd: "code.line.number")
      output.appendText { $0.append(decimal: content.line) }
      output.append(lengthAnd: "code.function.name")
      output.appendText { content.appendFunction(.raw, to: &$0) }
      pairs += 3
    }
    if content.hasContext, let span = record.span {
      for (name, value) in span.attributes { output.append(pair: name, value) }
      pairs += span.attributes.count
    }
    output.setCount(pairs, at: start)
  }

  /// `LogAttributes`, as the text of an object.
  private static func appendJSON(_ record: LogReader.Record, to output: inout TextBuffer) {
    let content = record.content
    output.append(#"{"thread.id":"#)
    output.append(decimal: UInt64(record.thread.id))
    if !record.thread.name.isEmpty {
      output.append(#","thread.name":"#)
      output.append(json: record.thread.name)
    }
    record.forEachAttribute(.json) { (name, value, reader) throws(FormatError) in
      output.append(",\"")
      name.append(.json, to: &output)
      output.append("\":")
      try output.append(json: value, from: &reader)
    }
    if content.hasPlace {
      output.append(#","code.file.path":""#)
      content.appendFile(.json, to: &output)
      output.append(#"","code.line.number":"#)
      output.append(decimal: content.line)
      output.append(#","code.function.name":""#)
      content.appendFunction(.json, to: &output)
      output.append("\"")
    }
    if content.hasContext, let span = record.span {
      for (name, value) in span.attributes {
        output.append(",\"")
        output.append(name)
        output.append("\":")
        output.append(json: value)
      }
    }
    output.append("}")
  }

  private static func append(_ thread: LogReader.Thread, to output: inout TextBuffer) {
    output.append(pair: "thread.id", "\(thread.id)")
    if !thread.name.isEmpty { output.append(pair: "thread.name", thread.name) }
  }
}

extension LogReader.Span {
  /// What is known of the span, as texts.
  fileprivate var attributes: [(name: StaticString, value: String)] {
    var all: [(name: StaticString, value: String)] = []
    switch event {
    case .begin(let parent):
      all.append(("span.event", "begin"))
      if let parent { all.append(("span.parent_id", Self.text(of: parent))) }
    case .end(let start, let duration, let failed):
      all.append(("span.event", "end"))
      if failed { all.append(("otel.status_code", "ERROR")) }
      all.append(("span.start_time_unix_nano", "\(start.nanosecondsSince1970)"))
      all.append(("span.duration_nano", "\(duration.nanoseconds)"))
    }
    if let name { all.append(("span.name", name)) }
    return all
  }
}

extension TextBuffer {
  @inline(__always)
  fileprivate mutating func append(int64 value: Int64) {
    Swift.withUnsafeBytes(of: value.littleEndian) { append($0) }
  }

  fileprivate mutating func append(pair key: StaticString, _ value: String) {
    append(lengthAnd: key)
    appendText { $0.append(text: value) }
  }

  /// Appends a value as text; arrays and dictionaries as JSON.
  fileprivate mutating func append(
    mapValue value: ValueView, from reader: inout WordReader
  ) throws(FormatError) {
    let start = beginText()
    switch value {
    case .string(let bytes): append(repairing: bytes, .raw)
    case .array, .dictionary: try append(json: value, from: &reader)
    default: try append(text: value, from: &reader)
    }
    endText(start)
  }
}
