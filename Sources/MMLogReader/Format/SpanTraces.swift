import MMLogFormat

/// The traces of spans that were logged in none: one for each span that is not a part of another,
/// and for all of its parts.
struct SpanTraces {
  /// So many spans with a parent are known at one time; then it is begun anew.
  private static var maximum: Int { 65_536 }
  /// The outermost of a span's parents.
  private var roots: [UInt64: UInt64] = [:]

  /// The id of the trace of a span, in 32 hexadecimal digits.
  ///
  /// - Parameter record: Begins it, ends it or belongs to it.
  mutating func trace(of span: UInt64, _ record: LogReader.Record) -> String {
    var root = roots[span] ?? span
    switch record.span?.event {
    case .begin(let parent?):
      root = roots[parent] ?? parent
      if roots.count >= Self.maximum { roots.removeAll() }
      roots[span] = root
    case .end: roots[span] = nil
    default: break
    }
    // Numbers of spans are unlike in all sessions.
    return "\(record.session.id.description.prefix(16))\(LogReader.Span.text(of: root))"
  }
}
