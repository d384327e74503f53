import MMLogFormat

/// Checks records for what a filter's ``LogReader/Filter/text`` and ``LogReader/Filter/conditions``
/// ask for. Use one for each thread: it keeps memory for the next record.
package final class ContentSearch {
  private let patterns: [TextPattern]
  private let isInverted: Bool
  private let conditions: [FieldCondition]
  private let process: LoggingProcess
  @exclusivity(unchecked)
  private var text = TextBuffer()

  package init(_ filter: LogReader.Filter, of identity: SessionIdentity) {
    (patterns, isInverted) = (filter.text, filter.isTextInverted)
    conditions = filter.conditions
    process = LoggingProcess(identity)
  }

  /// Whether a record of the session has what the filter asks for.
  package func passes(_ record: LogReader.Record) -> Bool {
    withExtendedLifetime(record) { passes(record.content, record.owner.clock) }
  }

  /// - Parameters:
  ///   - clock: The clock of the record's ticks.
  ///   - isTextFound: Whether the call site already shows that the text is there.
  func passes(
    _ content: RecordContent, _ clock: TickClock, isTextFound: Bool = false
  ) -> Bool {
    if !patterns.isEmpty, (isTextFound || findsText(in: content)) == isInverted { return false }
    if conditions.isEmpty { return true }
    let subject = FieldCondition.Subject(record: content, clock: clock, process: process)
    return conditions.allSatisfy { $0.holds(for: subject) }
  }

  private func findsText(in content: RecordContent) -> Bool {
    text.removeAll(keeping: 1 << 20)
    content.appendMessage(.raw, to: &text)
    if Self.contains(text, patterns) { return true }
    var isFound = false
    var text = TextBuffer()
    content.forEachPair { (name, value, reader) throws(FormatError) in
      if isFound { return try reader.skipElements(of: value) }
      text.removeAll()
      name.append(.raw, to: &text)
      text.append(UInt8(ascii: "="))
      try text.append(value, .raw, from: &reader)
      isFound = Self.contains(text, patterns)
    }
    return isFound
  }

  private static func contains(_ text: borrowing TextBuffer, _ patterns: [TextPattern]) -> Bool {
    text.withUnsafeBytes { bytes in patterns.contains { $0.matches(bytes) } }
  }
}
