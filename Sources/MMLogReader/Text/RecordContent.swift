import MMLogFormat

/// The first words of a record taken apart, and its values where they stand, found to be all there.
///
/// Nothing in it is counted: it is valid for as long as what it was made from.
///
/// Proof of `@unchecked Sendable`: nobody changes what it points to.
package struct RecordContent: @unchecked Sendable {
  private let siteReference: Unmanaged<CallSiteInfo>
  /// The call site's number; 0 if it is in the record itself.
  let callSite: UInt32
  let label: UInt32
  let level: Level
  package let flags: RecordFlags
  private let values: UnsafeRawBufferPointer

  /// - Throws: for a record of which anything could not be shown.
  init(_ parts: RecordParts, _ site: Unmanaged<CallSiteInfo>) throws(FormatError) {
    siteReference = site
    callSite = parts.flags.contains(.inlineCallSite) ? 0 : parts.callSite
    (label, level, flags, values) = (parts.label, parts.level, parts.flags, parts.values)
    try check()
  }

  package var site: CallSiteInfo { siteReference.takeUnretainedValue() }

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

  /// Gives each named argument, and then each pair of the metadata, to `body`, which has to take or
  /// to pass over the elements of a container.
  ///
  /// - Parameter names: Whether named arguments are wanted.
  func forEachField(
    names: Bool = true, _ body: (FieldName, ValueView, inout WordReader) throws(FormatError) -> Void
  ) {
    var reader = WordReader(values)
    // `check` has been here before: nothing is thrown.
    try? forEachArgument(&reader, names, body)
    try? forEachPair(&reader, body)
  }

  private func forEachArgument(
    _ reader: inout WordReader, _ names: Bool,
    _ body: (FieldName, ValueView, inout WordReader) throws(FormatError) -> Void
  ) throws(FormatError) {
    for case .argument(let argument) in site.parts {
      let value = try reader.view(ofArgumentType: argument.type)
      if names && !argument.name.isEmpty {
        try body(.argument(argument.name), value, &reader)
      } else {
        try reader.skipElements(of: value)
      }
    }
  }

  private func forEachPair(
    _ reader: inout WordReader,
    _ body: (FieldName, ValueView, inout WordReader) throws(FormatError) -> Void
  ) throws(FormatError) {
    guard flags.contains(.metadata) else { return }
    for _ in 0..<(try reader.count(wordsEach: 2)) {
      let key = try reader.string()
      try body(.metadata(key), reader.taggedView(), &reader)
    }
  }
}
