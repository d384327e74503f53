package import MMLogFormat
package import MMLogReader
import MMLogSystem

extension LogSpans {
  /// How spans are listed.
  package struct Style: Sendable {
    /// Whether the parts of a span stand below the span.
    package var isTree = false
    /// Whether the spans that took longest come first.
    package var isLongestFirst = false
    /// The maximum number of rows.
    package var rows = Int.max
    /// The maximum width of lines, which then have shorter times; nil: no limit.
    package var columns: Int?

    /// Makes a style in the order of time.
    package init() {}
  }

  private func rows(_ style: Style) -> [(depth: Int, span: Span)] {
    var rows = style.isTree ? tree : list.map { (0, $0) }
    if style.isLongestFirst {
      rows.sort { $0.span.shown ?? .zero > $1.span.shown ?? .zero }
    }
    return Array(rows.prefix(style.rows))
  }

  /// Appends a line for each span, for people.
  package func appendText(
    _ style: Style, zone: LogTimeZone, to output: inout TextBuffer
  ) {
    var time = TimeFormatter(zone)
    for (depth, span) in rows(style) {
      var line = TextBuffer(capacity: 256)
      line.append(text: time.text(of: span.start, digits: style.columns == nil ? 9 : 3))
      append(span.shown, to: &line)
      line.append(text: "  \(span.outcome)")
      line.append(
        UInt8(ascii: " "), count: 8 - span.outcome.rawValue.utf8.count + 2 * min(depth, 50))
      line.append(span.title, .plain)
      appendFields(of: span, to: &line)
      output.append(line: line.text(), within: style.columns)
    }
    for note in leftOut { output.append(text: "\(note)\n") }
  }

  /// The spans for which there was no room: a text for each kind.
  package var leftOut: [String] {
    [(others, "shorter spans"), (otherOpen, "more open spans")].filter { $0.0 > 0 }
      .map { "\($0) \($1)" }
  }

  private func append(_ duration: Duration?, to line: inout TextBuffer) {
    var text = TextBuffer(capacity: 16)
    if let duration { text.append(duration: duration) } else { text.append("-") }
    let shown = text.text()
    line.append(UInt8(ascii: " "), count: max(1, 12 - shown.count))
    line.append(text: shown)
  }

  private func appendFields(of span: Span, to line: inout TextBuffer) {
    let fields = [
      ("span", span.number.map(LogReader.Span.text)),
      ("parent", span.parent.map(LogReader.Span.text)),
      ("label", span.label.isEmpty ? nil : span.label), ("thread", span.thread),
    ]
    for case (let name, let value?) in fields {
      line.append(text: " \(name)=")
      line.append(value, .plain)
    }
  }

  /// Appends a JSON object on a line for each span; names are those of records as JSON.
  package func appendJSON(_ style: Style, zone: LogTimeZone, to output: inout TextBuffer) {
    var time = TimeFormatter(zone)
    for (depth, span) in rows(style) {
      var object = span.json(&time)
      if style.isTree { object.add("depth", depth) }
      output.append(text: object.text + "\n")
    }
  }
}

extension LogSpans.Span {
  /// How long the span took, or has been open.
  fileprivate var shown: Duration? { duration ?? age }

  fileprivate func json(_ time: inout TimeFormatter) -> JSONObject {
    var object = JSONObject()
    object.add("start_time", start, &time)
    object.add("duration_nano", duration?.nanoseconds)
    object.add("age_nano", age?.nanoseconds)
    object.add("outcome", outcome.rawValue)
    object.add("span_id", number.map(LogReader.Span.text))
    object.add("parent_span_id", parent.map(LogReader.Span.text))
    object.add("span_name", name)
    object.add("body", message)
    object.add("scope_name", label)
    object.add("thread_name", thread)
    object.add("session_id", session.description)
    return object
  }
}
