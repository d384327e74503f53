package import MMLogFormat

/// A record without what keeps it in memory: its first words taken apart, and its values where they
/// stand. The values were found to be complete.
///
/// No reference is counted for anything in it: it is valid as long as what it was made from.
///
/// Proof of `@unchecked Sendable`: nobody changes what it points to.
package struct RecordContent: @unchecked Sendable {
  /// When the record was logged.
  let time: Timestamp
  let ticks: UInt64
  let threadReference: Unmanaged<LogReader.Thread>
  private let labelReference: Unmanaged<PreparedText>
  private let siteReference: Unmanaged<CallSiteInfo>
  private let tableReference: Unmanaged<SiteTable>
  /// The call site's number; 0 if it is in the record itself.
  let callSite: UInt32
  let level: Level
  package let flags: RecordFlags
  let isFlight: Bool
  /// The index of the row in its frame, from 0.
  var row: UInt32 = 0
  /// Arguments, metadata, span and context.
  var values: UnsafeRawBufferPointer

  /// - Throws: for a record of which any part could not be shown.
  init(
    _ parts: RecordParts, _ site: Unmanaged<CallSiteInfo>, _ label: Unmanaged<PreparedText>,
    _ thread: Unmanaged<LogReader.Thread>, _ start: FragmentTable.Start, _ table: SiteTable
  ) throws(FormatError) {
    (time, ticks, isFlight) = (start.wall, start.ticks, start.isFlight)
    (siteReference, labelReference, threadReference) = (site, label, thread)
    tableReference = .passUnretained(table)
    callSite = parts.flags.contains(.inlineCallSite) ? 0 : parts.callSite
    (level, flags, values) = (parts.level, parts.flags, parts.values)
    try check()
  }

  /// The same record with the values and the call site of another.
  func copy(
    _ parts: RecordParts, _ site: Unmanaged<CallSiteInfo>, _ start: FragmentTable.Start
  ) throws(FormatError) -> RecordContent {
    try RecordContent(
      parts, site, labelReference, threadReference, start, tableReference.takeUnretainedValue())
  }

  /// Passes over the metadata, which are there.
  func skipMetadata(_ reader: inout WordReader) throws(FormatError) { try passMetadata(&reader) }

  package var site: CallSiteInfo { siteReference.takeUnretainedValue() }
  var thread: LogReader.Thread { threadReference.takeUnretainedValue() }
  var label: PreparedText { labelReference.takeUnretainedValue() }
  var hasLabel: Bool { labelReference._withUnsafeGuaranteedRef { !$0.isEmpty } }

  /// Whether another record of the same session has the same label.
  package func hasSameLabel(as other: RecordContent) -> Bool {
    labelReference.toOpaque() == other.labelReference.toOpaque()
  }

  /// Appends the logger's label in a form.
  package func appendLabel(_ form: TextForm, to output: inout TextBuffer) {
    labelReference._withUnsafeGuaranteedRef { $0.append(form, to: &output) }
  }

  /// The texts of the call site. No reference is counted.
  @inline(__always)
  func withPlan<Result>(_ body: (borrowing MessagePlan) -> Result) -> Result {
    siteReference._withUnsafeGuaranteedRef { body($0.message) }
  }

  /// Walks over all values once, so that showing them later cannot fail.
  private func check() throws(FormatError) {
    var reader = words
    try passArguments(&reader)
    try passMetadata(&reader)
    if flags.contains(.span) { _ = try SpanWords(&reader) }
    guard flags.contains(.context) else { return }
    let context = try ContextView(&reader)
    var fields = WordReader(context.fields, opening: reader.slots)
    if context.hasFields { try passBlocks(&fields, Self.skip) }
  }

  private static func skip(
    _: UnsafeRawBufferPointer, _ value: ValueView, _ reader: inout WordReader
  ) throws(FormatError) {
    try reader.skipElements(of: value)
  }

  private func passMetadata(_ reader: inout WordReader) throws(FormatError) {
    if flags.contains(.metadata) { try passBlocks(&reader, Self.skip) }
  }

  /// Whether the record has pairs of name and value: metadata, or fields of its context.
  @inline(__always)
  var hasPairs: Bool { !flags.isDisjoint(with: .withPairs) }

  /// Calls `body` with each pair of the metadata, and then of the context's fields. `body` must
  /// take or pass over the elements of a container.
  ///
  /// - Parameter reader: A reader that stands behind the arguments.
  /// - Throws: what `body` throws, and an error for pairs that cannot be read.
  @inline(__always)
  func passPairs(
    _ reader: inout WordReader,
    _ body: (UnsafeRawBufferPointer, ValueView, inout WordReader) throws(FormatError) -> Void
  ) throws(FormatError) {
    if flags.contains(.metadata) { try passBlocks(&reader, body) }
    guard flags.contains(.context) else { return }
    if flags.contains(.span) { _ = try SpanWords(&reader) }
    let context = try ContextView(&reader)
    var fields = WordReader(context.fields, opening: reader.slots)
    if context.hasFields { try passBlocks(&fields, body) }
  }

  private func passBlocks(
    _ reader: inout WordReader,
    _ body: (UnsafeRawBufferPointer, ValueView, inout WordReader) throws(FormatError) -> Void
  ) throws(FormatError) {
    for _ in 0..<BlockLayout.most {
      let head = try reader.word()
      let number = UInt32(truncatingIfNeeded: head >> BlockLayout.keySetShift)
      if number > 0 { try passValues(ofKeySet: number, &reader, body) }
      let pairs = head & BlockLayout.pairsMask
      guard pairs <= UInt64(reader.remaining / (2 * wordSize)) else { throw .truncated }
      for _ in 0..<pairs {
        let key = try reader.string()
        try body(key, reader.taggedView(), &reader)
      }
      if head & BlockLayout.moreBit == 0 { return }
    }
    throw .invalid("fields (more than \(BlockLayout.most) blocks)")
  }

  private func passValues(
    ofKeySet number: UInt32, _ reader: inout WordReader,
    _ body: (UnsafeRawBufferPointer, ValueView, inout WordReader) throws(FormatError) -> Void
  ) throws(FormatError) {
    guard let keys = tableReference._withUnsafeGuaranteedRef({ $0.keySet(number) }) else {
      throw .invalid("key set (number \(number) is unknown)")
    }
    let info = keys.takeUnretainedValue()
    for key in info.keys {
      try body(info.name(of: key), reader.view(ofArgumentType: key.type), &reader)
    }
  }

  /// The words that say which span begins or ends; nil if none does.
  var spanWords: SpanWords? {
    guard flags.contains(.span) else { return nil }
    return behindMetadata { (reader) throws(FormatError) in try SpanWords(&reader) }
  }

  /// The name of spans that begin at a call site of the session; nil if it is not known.
  func spanName(ofCallSite number: UInt32) -> String? {
    tableReference._withUnsafeGuaranteedRef { $0[number] }?.takeUnretainedValue().spanName
  }

  /// Whether the record may belong to a span or a trace.
  @inline(__always)
  package var hasContext: Bool { !flags.isDisjoint(with: [.span, .context]) }

  /// The context in which the record was logged; nil if there was none.
  var context: ContextView? {
    guard flags.contains(.context) else { return nil }
    return behindMetadata { (reader) throws(FormatError) in
      if flags.contains(.span) { _ = try SpanWords(&reader) }
      return try ContextView(&reader)
    }
  }

  /// Reads what stands behind arguments and metadata. `check` has read all of it before: nothing is
  /// thrown.
  private func behindMetadata<Result>(
    _ read: (inout WordReader) throws(FormatError) -> Result
  ) -> Result? {
    var reader = words
    do throws(FormatError) {
      try passArguments(&reader)
      try passMetadata(&reader)
      return try read(&reader)
    } catch { return nil }
  }

  /// Passes over the arguments.
  func passArguments(_ reader: inout WordReader) throws(FormatError) {
    for step in withPlan({ $0.steps }) where step.hasArgument {
      try reader.skipElements(of: reader.view(ofArgumentType: step.type))
    }
  }

  /// Reads the arguments and then the metadata.
  @inline(__always)
  var words: WordReader {
    WordReader(values, opening: tableReference._withUnsafeGuaranteedRef { $0.slots })
  }

  /// How many bytes the record's arguments and metadata take before an archive compresses them.
  package var size: Int { values.count }

  /// About how many bytes the record takes as text or JSON: its values, and what its call site, its
  /// label and its key sets add. A record of a few bytes may have many megabytes of text.
  var textSize: Int {
    var size = values.count + withPlan { $0.textSize }
    size += labelReference._withUnsafeGuaranteedRef { $0.count }
    if flags.contains(.span) { size += spanName?.utf8.count ?? 0 }
    guard hasPairs else { return size }
    var reader = words
    // `check` has read all values before: nothing is thrown.
    try? passArguments(&reader)
    try? passPairs(&reader) { (name, value, reader) throws(FormatError) in
      size += name.count
      try reader.skipElements(of: value)
    }
    return size
  }
}
