import MMLogFormat

/// Only the parts of each record that are asked for by name, in that order: as JSON, as a table, as
/// pairs, or with tabs between them.
///
/// Names are those of a ``TextTemplate``, or those that ``JSONFormatter`` has for the same parts.
/// Any other name is that of a field.
package struct FieldsFormatter: LogFormatter {
  /// What is around and between the values.
  package enum Kind: Sendable {
    /// An object on a line.
    case json
    /// `name=value` pairs.
    case logfmt
    /// RFC 4180, with a line of names.
    case csv
    /// Tabs between the values, with a line of names.
    case tsv
    /// Tabs between the values, without a line of names.
    case text
  }

  private enum Source {
    case own(TextTemplate.Name)
    case field(String)
  }

  package let kind: Kind
  /// As they stand in the output.
  private let names: [String]
  private let sources: [Source]
  private let isFormulaSafe: Bool
  private var values: TemplateFormatter

  /// Makes a formatter.
  ///
  /// - Parameter isFormulaSafe: The same as for ``TableFormatter``.
  package init(
    _ names: [String], _ kind: Kind, zone: LogTimeZone = .local, isFormulaSafe: Bool = false
  ) {
    var keys = UniqueNames()
    self.names = kind == .logfmt ? names.map { LogfmtFormatter.key($0, &keys) } : names
    (self.kind, self.isFormulaSafe) = (kind, isFormulaSafe)
    sources = names.map { name in
      let own = TextTemplate.Name(rawValue: name) ?? Self.ofJSON[name]
      if let own { return .own(own) }
      // As in templates, this prefix says that the name of a field follows.
      let isField = name.hasPrefix("fields.") && name.utf8.count > 7
      return .field(isField ? String(name.dropFirst(7)) : name)
    }
    values = TemplateFormatter(zone: zone)
  }

  /// The names that JSON has for the same parts.
  private static let ofJSON: [String: TextTemplate.Name] = [
    "timestamp": .time, "time_unix_nano": .unix, "severity_text": .level, "scope_name": .label,
    "body": .message, "code_file_path": .file, "code_line_number": .line,
    "code_function_name": .function, "trace_id": .trace, "span_id": .span,
    "parent_span_id": .parent_span, "duration_nano": .duration_ns,
    "service_name": .service, "process_name": .process, "process_pid": .pid, "host_name": .host,
    "session_id": .session, "log_record_uid": .id,
  ]

  /// Appends the names of the columns of a table.
  package mutating func begin(_ output: inout TextBuffer) {
    guard kind == .csv || kind == .tsv else { return }
    for (index, name) in names.enumerated() {
      if index > 0 { appendSeparator(to: &output) }
      appendCell(to: &output) { $0.append(name, $1) }
    }
    output.append(kind == .csv ? "\r\n" : "\n")
  }

  /// Appends the record's line.
  package mutating func append(_ record: LogReader.Record, to output: inout TextBuffer) {
    if kind == .json { output.append("{") }
    for (index, (name, source)) in zip(names, sources).enumerated() {
      if index > 0 { appendSeparator(to: &output) }
      if kind == .json {
        output.append(json: name)
        output.append(":")
      } else if kind == .logfmt {
        output.append(text: name)
        output.append("=")
      }
      append(source, of: record, to: &output)
    }
    output.append(kind == .json ? "}\n" : kind == .csv ? "\r\n" : "\n")
  }

  private func appendSeparator(to output: inout TextBuffer) {
    switch kind {
    case .json, .csv: output.append(",")
    case .logfmt: output.append(" ")
    case .tsv, .text: output.append("\t")
    }
  }

  private mutating func append(
    _ source: Source, of record: LogReader.Record, to output: inout TextBuffer
  ) {
    if kind == .json { return appendJSON(source, of: record, to: &output) }
    var text = TextBuffer(capacity: 64)
    switch source {
    case .own(let name): values.append(name, of: record, .raw, to: &text)
    case .field(let name): values.append(field: name, of: record, .raw, to: &text)
    }
    appendCell(to: &output) { output, form in
      text.withUnsafeBytes { _ = output.append($0, form) }
    }
  }

  /// Appends a value with the quotes and escapes that the format needs.
  private func appendCell(
    to output: inout TextBuffer, _ body: (inout TextBuffer, TextForm) -> Void
  ) {
    switch kind {
    case .json: return
    case .logfmt: output.appendQuoting { body(&$0, .json) }
    case .csv, .tsv:
      TableFormatter.appendCell(kind == .csv ? .csv : .tsv, isFormulaSafe, to: &output, body)
    case .text: body(&output, .plain)
    }
  }

  private mutating func appendJSON(
    _ source: Source, of record: LogReader.Record, to output: inout TextBuffer
  ) {
    let start = output.count
    switch source {
    case .field(let name): values.append(jsonField: name, of: record, to: &output)
    case .own(let name):
      var text = TextBuffer(capacity: 64)
      values.append(name, of: record, .raw, to: &text)
      text.withUnsafeBytes { bytes in
        if name.isNumber {
          output.append(bytes)
        } else if name.isFlag {
          if !bytes.isEmpty { output.append("true") }
        } else if !bytes.isEmpty || name == .message {
          output.append("\"")
          output.append(bytes, .json)
          output.append("\"")
        }
      }
    }
    // The record has no such part.
    if output.count == start { output.append("null") }
  }
}

extension TextTemplate.Name {
  /// Whether the name stands for a word if something is true, and for nothing if it is not.
  fileprivate var isFlag: Bool {
    switch self {
    case .flight, .cut, .unterminated, .span_failed: true
    default: false
    }
  }

  fileprivate var isNumber: Bool {
    switch self {
    case .unix, .line, .thread_id, .thread_ordinal, .pid, .duration_ns, .severity_number,
      .trace_flags,
      .start_time_unix_nano:
      true
    default: false
    }
  }
}
