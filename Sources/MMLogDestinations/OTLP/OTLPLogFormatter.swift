import MMLogFormat
import MMLogReader
import MMLogSystem

/// OpenTelemetry log records in protocol buffers: an `ExportLogsServiceRequest` with the content
/// that ``OTLPFormatter`` has in JSON.
///
/// One request has records of one session.
struct OTLPLogFormatter: LogFormatter {
  private var threads = ObjectTexts<LogReader.Thread>()
  private var ids = RecordIDText()
  private var parents = SpanParents()
  private var scope = OTLPScope()

  mutating func append(_ record: LogReader.Record, to output: inout TextBuffer) {
    scope.begin(record, &output)
    let start = output.begin(field: 2)
    appendRecord(record, to: &output)
    output.end(start)
  }

  mutating func pause(_ output: inout TextBuffer) { scope.end(&output) }

  private mutating func appendRecord(_ record: LogReader.Record, to output: inout TextBuffer) {
    let content = record.content
    // The protocol has no time before 1970; 0 says that the time is not known.
    output.append(field: 1, fixed64: UInt64(max(0, record.time.nanosecondsSince1970)))
    output.append(field: 2, varint: UInt64(record.level.severityNumber))
    output.append(field: 3, record.level.name)
    let isUTF8 = Self.appendBody(content, to: &output)
    threads.append(record.thread, to: &output) { Self.append(record.thread, to: &$0) }
    output.append(fieldsOf: record, field: 6)
    Self.appendPlace(content, to: &output)
    if content.hasContext { appendContext(record, to: &output) }
    if record.isArchived {
      output.appendAttribute("log.record.uid", 6) { output in
        let start = output.begin(field: 1)
        ids.append(idOf: record, to: &output)
        output.end(start)
      }
    }
    if record.time.nanosecondsSince1970 < 0 {
      output.append(attribute: "mmlog.time", record.time.description, field: 6)
    }
    if !isUTF8 {
      output.appendAttribute("log.record.original", 6) { output in
        let start = output.begin(field: 7)
        content.appendMessage(.raw, to: &output)
        output.end(start)
      }
    }
  }

  /// - Returns: Whether the whole message is UTF-8.
  private static func appendBody(_ content: RecordContent, to output: inout TextBuffer) -> Bool {
    let body = output.begin(field: 5)
    let text = output.begin(field: 1)
    let isUTF8 = output.append(messageOf: content)
    output.end(text)
    output.end(body)
    return isUTF8
  }

  private static func append(_ thread: LogReader.Thread, to output: inout TextBuffer) {
    output.append(attribute: "thread.id", Int64(thread.id), field: 6)
    if !thread.name.isEmpty { output.append(attribute: "thread.name", thread.name, field: 6) }
  }

  private static func appendPlace(_ content: RecordContent, to output: inout TextBuffer) {
    guard content.hasPlace else { return }
    output.appendAttribute("code.file.path", 6) { output in
      let start = output.begin(field: 1)
      content.appendFile(.raw, to: &output)
      output.end(start)
    }
    output.appendAttribute("code.line.number", 6) { output in
      output.append(field: 3, varint: content.line)
    }
    output.appendAttribute("code.function.name", 6) { output in
      let start = output.begin(field: 1)
      content.appendFunction(.raw, to: &output)
      output.end(start)
    }
  }

  private mutating func appendContext(_ record: LogReader.Record, to output: inout TextBuffer) {
    parents.add(record)
    if let span = record.span { Self.append(span, to: &output) }
    let (span, trace) = (record.spanNumber, record.trace)
    let words = trace?.words ?? span.map { parents.trace(of: $0, record.session) }
    guard let words else { return }
    if let flags = trace?.flags { output.append(field: 8, fixed32: UInt32(flags)) }
    output.append(field: 9, bigEndian: words.0, words.1)
    output.append(field: 10, bigEndian: span ?? trace?.spanID ?? 0)
  }

  private static func append(_ span: LogReader.Span, to output: inout TextBuffer) {
    switch span.event {
    case .begin(let parent):
      output.append(attribute: "span.event", "begin", field: 6)
      if let parent {
        output.append(attribute: "span.parent_id", LogReader.Span.text(of: parent), field: 6)
      }
    case .end(let start, let duration, let failed):
      output.append(attribute: "span.event", "end", field: 6)
      if failed { output.append(attribute: "otel.status_code", "ERROR", field: 6) }
      output.append(
        attribute: "span.start_time_unix_nano", start.nanosecondsSince1970, field: 6)
      output.append(attribute: "span.duration_nano", duration.nanoseconds, field: 6)
    }
    if let name = span.name { output.append(attribute: "span.name", name, field: 6) }
  }
}

extension TextBuffer {
  /// Appends a message with U+FFFD for what is not UTF-8.
  ///
  /// - Returns: Whether the whole message is UTF-8.
  mutating func append(messageOf content: RecordContent) -> Bool {
    let start = count
    content.appendMessage(.raw, to: &self)
    let isUTF8 = withBytes(from: start) { UnsafeRawBufferPointer($0).isUTF8 }
    if isUTF8 { return true }
    let text = withBytes(from: start) { String(decoding: $0, as: UTF8.self) }
    cut(to: start)
    append(text: text)
    return false
  }
}
