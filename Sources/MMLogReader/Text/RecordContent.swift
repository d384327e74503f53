import MMLogFormat

/// A record without what keeps it: its first words taken apart, and its values where they stand,
/// found to be all there.
///
/// Nothing in it is counted: it is valid for as long as what it was made from.
///
/// Proof of `@unchecked Sendable`: nobody changes what it points to.
package struct RecordContent: @unchecked Sendable {
  /// When it was logged.
  let time: Timestamp
  let ticks: UInt64
  let threadReference: Unmanaged<LogReader.Thread>
  private let labelReference: Unmanaged<PreparedText>
  private let siteReference: Unmanaged<CallSiteInfo>
  /// The call site's number; 0 if it is in the record itself.
  let callSite: UInt32
  let level: Level
  package let flags: RecordFlags
  let isFlight: Bool
  private let values: UnsafeRawBufferPointer

  /// - Throws: for a record of which anything could not be shown.
  init(
    _ parts: RecordParts, _ site: Unmanaged<CallSiteInfo>, _ label: Unmanaged<PreparedText>,
    _ thread: Unmanaged<LogReader.Thread>, _ start: FragmentTable.Start
  ) throws(FormatError) {
    (time, ticks, isFlight) = (start.wall, start.ticks, start.isFlight)
    (siteReference, labelReference, threadReference) = (site, label, thread)
    callSite = parts.flags.contains(.inlineCallSite) ? 0 : parts.callSite
    (level, flags, values) = (parts.level, parts.flags, parts.values)
    try check()
  }

  package var site: CallSiteInfo { siteReference.takeUnretainedValue() }
  var thread: LogReader.Thread { threadReference.takeUnretainedValue() }
  var label: PreparedText { labelReference.takeUnretainedValue() }
  var hasLabel: Bool { labelReference._withUnsafeGuaranteedRef { !$0.isEmpty } }

  func appendLabel(_ form: TextForm, to output: inout TextBuffer) {
    labelReference._withUnsafeGuaranteedRef { $0.append(form, to: &output) }
  }

  /// The texts of the call site, without a reference being counted.
  @inline(__always)
  func withPlan<Result>(_ body: (borrowing MessagePlan) -> Result) -> Result {
    siteReference._withUnsafeGuaranteedRef { body($0.message) }
  }

  /// Walks over all values once, so that showing them later cannot fail.
  private func check() throws(FormatError) {
    var reader = WordReader(values)
    try passArguments(&reader)
    try passMetadata(&reader)
    if flags.contains(.span) { _ = try reader.take(2 * wordSize) }
  }

  private func passMetadata(_ reader: inout WordReader) throws(FormatError) {
    guard flags.contains(.metadata) else { return }
    for _ in 0..<(try reader.count(wordsEach: 2)) {
      _ = try reader.string()
      try reader.skipElements(of: reader.taggedView())
    }
  }

  /// The two words that say which span begins or ends; nil if none does.
  var spanWords: (number: UInt64, other: UInt64)? {
    guard flags.contains(.span) else { return nil }
    var reader = WordReader(values)
    do {
      try passArguments(&reader)
      try passMetadata(&reader)
      return (try reader.word(), try reader.word())
    } catch {
      // `check` has been here before.
      return nil
    }
  }

  /// Passes over the arguments.
  func passArguments(_ reader: inout WordReader) throws(FormatError) {
    for step in withPlan({ $0.steps }) where step.hasArgument {
      try reader.skipElements(of: reader.view(ofArgumentType: step.type))
    }
  }

  /// Gives the arguments and then the metadata.
  @inline(__always)
  func withValues<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result { body(values) }

  /// How many bytes its arguments and metadata take before an archive compresses them.
  package var size: Int { values.count }
}
