import MMLogReader

extension OpenSpans {
  /// Spans that had begun and not ended when their process died, a line for each; none if there was
  /// nothing in flight.
  ///
  /// - Parameter time: Shows when they began.
  func lines(_ time: inout TimeFormatter) -> [String] {
    var lines: [String] = []
    for span in list.prefix(Self.maximumLines) { lines.append(line(span, &time)) }
    let others = count - lines.count
    if others > 0 {
      lines.append("in flight when it died: \(mmlog_decode.count(others, "more span"))")
    }
    return lines
  }

  /// So many are listed; of others, how many they are.
  private static let maximumLines = 20

  private func line(_ span: OpenSpans.Open, _ time: inout TimeFormatter) -> String {
    let parent = span.parent.map { ", part of \(LogReader.Span.text(of: $0))" } ?? ""
    let label = span.label.isEmpty ? "" : "\(span.label), "
    return "in flight when it died: \(span.message) (\(label)thread \(span.thread), since "
      + "\(time.text(of: span.time)), span \(LogReader.Span.text(of: span.number))\(parent))"
  }
}
