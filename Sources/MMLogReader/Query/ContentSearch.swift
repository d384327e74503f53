import MMLogFormat

/// Inspects records for what a filter's ``LogReader/Filter/text`` and
/// ``LogReader/Filter/conditions`` ask for. One for each thread: it remembers memory.
struct ContentSearch: ~Copyable {
  private let patterns: [TextPattern]
  private let isInverted: Bool
  private let conditions: [FieldCondition]
  private var text = TextBuffer()

  init(_ filter: LogReader.Filter) {
    (patterns, isInverted) = (filter.text, filter.isTextInverted)
    conditions = filter.conditions
  }

  /// - Parameter isTextFound: Whether it is known from the call site that the text is there.
  mutating func passes(
    _ content: RecordContent, label: String, thread: LogReader.Thread, isTextFound: Bool = false
  ) -> Bool {
    if !patterns.isEmpty, (isTextFound || findsText(in: content)) == isInverted { return false }
    if conditions.isEmpty { return true }
    let subject = ConditionSubject(content: content, label: label, thread: thread)
    return conditions.allSatisfy { $0.holds(for: subject) }
  }

  private mutating func findsText(in content: RecordContent) -> Bool {
    text.removeAll(keeping: 1 << 20)
    content.appendMessage(.raw, to: &text)
    if Self.contains(text, patterns) { return true }
    guard content.flags.contains(.metadata) else { return false }
    var isFound = false
    var text = TextBuffer()
    content.forEachField(names: false) { (name, value, reader) throws(FormatError) in
      if isFound { return try reader.skipElements(of: value) }
      text.removeAll()
      name.withBytes { text.append(repairing: $0, .raw) }
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
