import MMLogReader

/// Spans that had begun and not ended when their process died, a line for each.
struct OpenSpanLines {
  /// So many are listed; of others, how many they are.
  private static let maximum = 20
  private var time: Timestamp

  init(_ zone: LogTimeZone) { time = Timestamp(zone) }

  /// None if there was nothing in flight.
  mutating func lines(_ spans: OpenSpans) -> [String] {
    var lines: [String] = []
    for span in spans.list.prefix(Self.maximum) { lines.append(line(span)) }
    let others = spans.count - lines.count
    if others > 0 { lines.append("in flight when it died: \(count(others, "more span"))") }
    return lines
  }

  private mutating func line(_ span: OpenSpans.Open) -> String {
    let parent = span.parent.map { ", part of \(LogReader.Span.text(of: $0))" } ?? ""
    let label = span.label.isEmpty ? "" : "\(span.label), "
    return "in flight when it died: \(span.message) (\(label)thread \(span.thread), since "
      + "\(time.text(of: span.time)), span \(LogReader.Span.text(of: span.number))\(parent))"
  }
}
