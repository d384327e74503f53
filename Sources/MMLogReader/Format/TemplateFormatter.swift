import MMLogFormat
import MMLogSystem

/// One line for each record, as a ``TextTemplate`` says.
public struct TemplateFormatter: LogFormatter {
  private let elements: [TextTemplate.Element]
  private var timestamp: TimeFormatter
  private let colors: Bool

  /// Makes a formatter.
  ///
  /// - Parameters:
  ///   - template: What a line is made of.
  ///   - zone: The zone that times are shown in.
  ///   - colors: Whether levels get colors.
  public init(_ template: TextTemplate, zone: LogTimeZone = .local, colors: Bool = false) {
    elements = template.elements
    timestamp = TimeFormatter(zone)
    self.colors = colors
  }

  /// Makes a formatter for single values.
  init(zone: LogTimeZone) {
    (elements, timestamp, colors) = ([], TimeFormatter(zone), false)
  }

  /// Appends the record's line.
  public mutating func append(_ record: LogReader.Record, to output: inout TextBuffer) {
    for element in elements {
      let start = output.count
      switch element {
      case .text(let bytes): output.append(bytes)
      case .name(let name, let alignment):
        append(name, of: record, .plain, to: &output)
        output.align(from: start, alignment)
        color(name, record.level, from: start, &output)
      case .field(let name, let alignment):
        append(field: name, of: record, .plain, to: &output)
        output.align(from: start, alignment)
      }
    }
    output.append(UInt8(ascii: "\n"))
  }

  private func color(
    _ name: TextTemplate.Name, _ level: Level, from start: Int, _ output: inout TextBuffer
  ) {
    guard colors, name == .level || name == .LEVEL else { return }
    let text = output.withBytes(from: start) { Array($0) }
    output.cut(to: start)
    output.append(SGR.color(of: level))
    output.append(text)
    output.append(SGR.reset)
  }

  /// Appends what a name stands for, in a form; nothing if the record has no such thing.
  mutating func append(
    _ name: TextTemplate.Name, of record: LogReader.Record, _ form: TextForm,
    to output: inout TextBuffer
  ) {
    let identity = record.session.identity
    switch name {
    case .time: timestamp.append(record.time, to: &output)
    case .date: timestamp.append(record.time, .date, to: &output)
    case .clock: timestamp.append(record.time, .clock, to: &output)
    case .unix: output.append(decimal: record.time.nanosecondsSince1970)
    case .level: output.append(text: record.level.description)
    case .LEVEL: output.append(text: record.level.description.uppercased())
    case .label: record.content.appendLabel(form, to: &output)
    case .message: record.content.appendMessage(form, to: &output)
    case .file: record.content.appendFile(form, to: &output)
    case .line: if !record.file.isEmpty { output.append(decimal: UInt64(record.line)) }
    case .function: record.content.appendFunction(form, to: &output)
    case .place: record.content.appendPlace(form, to: &output)
    case .fields: appendFields(of: record, to: &output)
    case .thread where !record.thread.name.isEmpty: output.append(record.thread.name, form)
    case .thread_name: output.append(record.thread.name, form)
    case .thread, .thread_id: output.append(decimal: UInt64(record.thread.id))
    case .thread_ordinal: output.append(decimal: UInt64(record.thread.ordinal))
    case .service: output.append(identity.storeName, form)
    case .process: output.append(identity.processName, form)
    case .pid: output.append(text: "\(identity.processID)")
    case .host: output.append(identity.hostName, form)
    case .session: output.append(text: record.session.id.description)
    case .id: if let id = record.id { output.append(text: id.description) }
    case .flight: if record.isFlight { output.append(text: "flight") }
    case .span: append(span: record.spanNumber, to: &output)
    case .trace: if let trace = record.trace { output.append(text: trace.traceID) }
    case .span_event: if let span = record.span { output.append(span.event.name) }
    case .span_name: if let name = record.span?.name { output.append(name, form) }
    case .span_failed: if record.span?.event.failed == true { output.append("failed") }
    case .parent_span: append(span: record.span?.event.parent, to: &output)
    case .duration:
      if let duration = record.span?.event.duration { output.append(duration: duration) }
    case .duration_ns:
      if let duration = record.span?.event.duration { output.append(decimal: duration.nanoseconds) }
    case .severity_number: output.append(decimal: UInt64(record.level.severityNumber))
    case .body_base64: appendBase64(of: record, to: &output)
    case .trace_flags: if let trace = record.trace { output.append(decimal: UInt64(trace.flags)) }
    case .start_time_unix_nano:
      if case .end(let start, _, _)? = record.span?.event {
        output.append(decimal: start.nanosecondsSince1970)
      }
    case .cut: if record.isCut { output.append("cut") }
    case .unterminated: if record.isUnterminated { output.append("unterminated") }
    }
  }

  /// Appends the bytes of a message that is not UTF-8.
  private func appendBase64(of record: LogReader.Record, to output: inout TextBuffer) {
    var message = TextBuffer(capacity: 64)
    if !record.content.appendMessage(.json, to: &message) { output.append(messageBase64: record) }
  }

  private func append(span number: UInt64?, to output: inout TextBuffer) {
    if let number { output.append(text: LogReader.Span.text(of: number)) }
  }

  private func appendFields(of record: LogReader.Record, to output: inout TextBuffer) {
    record.content.forEachField(.quoted) { (name, value, reader) throws(FormatError) in
      output.append(UInt8(ascii: " "))
      output.appendQuoting { name.append(.quoted, to: &$0) }
      output.append(UInt8(ascii: "="))
      try output.append(quoting: value, from: &reader)
    }
  }

  /// Appends the value of a field.
  func append(
    field: String, of record: LogReader.Record, _ form: TextForm, to output: inout TextBuffer
  ) {
    forEach(field, of: record) { (value, reader) throws(FormatError) in
      try output.append(value, form, from: &reader)
    }
  }

  /// Appends the value of a field as JSON; if several have that name, the first one.
  func append(jsonField field: String, of record: LogReader.Record, to output: inout TextBuffer) {
    var isFound = false
    forEach(field, of: record) { (value, reader) throws(FormatError) in
      if isFound { return try reader.skipElements(of: value) }
      isFound = true
      try output.append(json: value, from: &reader)
    }
  }

  private func forEach(
    _ field: String, of record: LogReader.Record,
    _ body: (ValueView, inout WordReader) throws(FormatError) -> Void
  ) {
    var scratch = TextBuffer(capacity: 64)
    record.content.forEachField(.raw) { (name, value, reader) throws(FormatError) in
      scratch.removeAll()
      name.append(.raw, to: &scratch)
      let isIt = scratch.withUnsafeBytes { $0.elementsEqual(field.utf8) }
      if isIt { try body(value, &reader) } else { try reader.skipElements(of: value) }
    }
  }
}
