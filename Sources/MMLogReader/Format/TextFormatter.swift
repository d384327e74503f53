import MMLogFormat

/// One line for each record, for people:
///
///     2026-11-21T09:00:00.123456789+01:00 INFO     orders: order 7 accepted venue=XETR (Orders/Book.swift:42)
///
/// Time, level, label, message, metadata, place. Named arguments stand in the message and are not
/// repeated. A record that begins or ends a span says so. An end has the duration, and the name of
/// the span: the message of its beginning, without arguments. If the span failed, `failed` stands
/// in place of `end`:
///
///     2026-11-21T09:00:00.123456789+01:00 INFO     orders: begin order 7 span=0000000000400004 (Orders/Book.swift:40)
///     2026-11-21T09:00:00.124690789+01:00 INFO     orders: end 1.234 ms order {}: matched span=0000000000400004 (Orders/Book.swift:44)
///
/// A record that belongs to a span or a trace has `span=` or `trace=`, too.
///
/// Whatever could move a terminal's cursor or end the line is escaped as `\n`, `\t`,
/// `\u{1b}`; bytes that are not UTF-8 as `\xff`.
public struct TextFormatter: LogFormatter {
  private var timestamp: TimeFormatter
  private let colors: Bool

  /// Makes a formatter.
  ///
  /// - Parameters:
  ///   - zone: The zone that times are shown in.
  ///   - colors: Whether levels, times and places get colors (ECMA-48, SGR), for a terminal.
  public init(zone: LogTimeZone = .local, colors: Bool = false) {
    timestamp = TimeFormatter(zone)
    self.colors = colors
  }

  /// Appends the record's line.
  public mutating func append(_ record: LogReader.Record, to output: inout TextBuffer) {
    if colors { output.append(SGR.faint) }
    timestamp.append(record.time, to: &output)
    if colors { output.append(SGR.reset) }
    append(record.level, to: &output)
    if record.content.hasLabel {
      if colors { output.append(SGR.cyan) }
      record.content.appendLabel(.plain, to: &output)
      if colors { output.append(SGR.reset) }
      output.append(": ")
    }
    Self.appendMessage(record, to: &output)
    if record.content.hasPairs { Self.appendPairs(record, colors: colors, to: &output) }
    if record.content.hasContext { Self.appendContext(record, colors: colors, to: &output) }
    appendPlace(record, to: &output)
    output.append(UInt8(ascii: "\n"))
  }

  /// Appends the message, and before it what the record begins or ends.
  @inline(__always)
  package static func appendMessage(
    _ record: LogReader.Record, to output: inout TextBuffer
  ) {
    let span = record.span
    if let span { output.append(span) }
    let start = output.count
    record.content.appendMessage(.plain, to: &output)
    if let span, output.count == start { output.cut(to: start - span.separator.utf8CodeUnitCount) }
    if record.isCut { output.append(" <cut>") }
    if record.isFlight { output.append(" <flight>") }
  }

  /// Appends a level in capitals, in one width.
  @inline(__always)
  private func append(_ level: Level, to output: inout TextBuffer) {
    if colors { return appendColored(level, to: &output) }
    output.append(" ")
    output.append(Self.padded(level))
  }

  private func appendColored(_ level: Level, to output: inout TextBuffer) {
    output.append(" ")
    output.append(SGR.color(of: level))
    output.append(text: level.description.uppercased())
    output.append(SGR.reset)
    output.append(UInt8(ascii: " "), count: 9 - level.description.utf8.count)
  }

  /// As wide as the longest level, and a space.
  private static func padded(_ level: Level) -> StaticString {
    switch level {
    case .trace: "TRACE    "
    case .debug: "DEBUG    "
    case .info: "INFO     "
    case .notice: "NOTICE   "
    case .warning: "WARNING  "
    case .error: "ERROR    "
    case .critical, .off: "CRITICAL "
    }
  }

  /// Appends metadata, and fields of logger and task.
  static func appendPairs(
    _ record: LogReader.Record, colors: Bool, to output: inout TextBuffer
  ) {
    record.content.forEachPair { (name, value, reader) throws(FormatError) in
      output.append(UInt8(ascii: " "))
      if colors { output.append(SGR.faint) }
      output.appendQuoting { name.append(.quoted, to: &$0) }
      output.append(UInt8(ascii: "="))
      if colors { output.append(SGR.reset) }
      try output.append(quoting: value, from: &reader)
    }
  }

  /// Appends span and trace.
  static func appendContext(
    _ record: LogReader.Record, colors: Bool, to output: inout TextBuffer
  ) {
    let pairs: [(StaticString, String?)] = [
      ("span", record.spanNumber.map(LogReader.Span.text)),
      ("parent", record.span?.event.parent.map(LogReader.Span.text)),
      ("trace", record.trace?.traceID),
    ]
    for case (let name, let text?) in pairs {
      output.append(UInt8(ascii: " "))
      if colors { output.append(SGR.faint) }
      output.append(name)
      output.append(UInt8(ascii: "="))
      if colors { output.append(SGR.reset) }
      output.append(text: text)
    }
  }

  private func appendPlace(_ record: LogReader.Record, to output: inout TextBuffer) {
    guard record.content.hasPlace else { return }
    if colors { output.append(SGR.faint) }
    output.append(" (")
    record.content.appendPlace(.plain, to: &output)
    output.append(UInt8(ascii: ")"))
    if colors { output.append(SGR.reset) }
  }
}

extension LogReader.Span {
  /// What stands before the message.
  fileprivate var separator: StaticString {
    if case .end = event, name != nil { ": " } else { " " }
  }
}

extension TextBuffer {
  /// Appends `begin ` or `end 1.234 ms order {}: `.
  fileprivate mutating func append(_ span: LogReader.Span) {
    switch span.event {
    case .begin: append("begin")
    case .end(_, let duration, let failed):
      append(failed ? "failed " : "end ")
      append(duration: duration)
      if let name = span.name {
        append(" ")
        append(name, .plain)
      }
    }
    append(span.separator)
  }

  /// Appends what `body` appends in ``TextForm/quoted`` or ``TextForm/json``. It stands in quotes
  /// if it could not be told apart from the text beside it.
  mutating func appendQuoting<Failure: Error>(
    _ body: (inout TextBuffer) throws(Failure) -> Void
  ) throws(Failure) {
    let start = count
    append(UInt8(ascii: "\""))
    try body(&self)
    let needsQuotes = withBytes(from: start + 1) { bytes in
      bytes.isEmpty
        || bytes.contains { $0 <= 0x20 || $0 == 0x22 || $0 == 0x5C || $0 == UInt8(ascii: "=") }
    }
    if needsQuotes { append(UInt8(ascii: "\"")) } else { remove(at: start) }
  }

  /// Appends a value, in quotes if necessary.
  ///
  /// - Parameter form: A form that has a backslash before `"` and `\`.
  mutating func append(
    quoting value: ValueView, _ form: TextForm = .quoted, from reader: inout WordReader
  ) throws(FormatError) {
    try appendQuoting { (output) throws(FormatError) in
      try output.append(value, form, from: &reader)
    }
  }
}
