import MMLogFormat

/// The values of a record where they stand, found to be all there.
///
/// Proof of `@unchecked Sendable`: `values` points into memory that `owner` keeps, and that nobody
/// changes after it has been filled.
struct RecordContent: @unchecked Sendable {
  let site: CallSiteInfo
  /// The call site's number; 0 if it is in the record itself.
  let callSite: UInt32
  let label: UInt32
  let level: Level
  let flags: RecordFlags
  private let owner: AnyObject
  private let values: UnsafeRawBufferPointer

  /// - Parameters:
  ///   - body: A record's words from its identity word on, valid for as long as `owner`.
  ///   - site: Finds a call site by number, or gives nil for an unknown one.
  /// - Throws: for a record of which anything could not be shown.
  init(
    _ body: UnsafeRawBufferPointer, owner: AnyObject, site: (UInt32) -> CallSiteInfo?
  ) throws(FormatError) {
    let parts = try RecordParts(body)
    guard let found = parts.inlineCallSite.map(CallSiteInfo.init) ?? site(parts.callSite) else {
      throw .invalid("call site (number \(parts.callSite) is unknown)")
    }
    self.site = found
    callSite = parts.inlineCallSite == nil ? parts.callSite : 0
    self.owner = owner
    (label, level, flags, values) = (parts.label, parts.level, parts.flags, parts.values)
    try check()
  }

  /// Walks over all values once, so that showing them later cannot fail.
  private func check() throws(FormatError) {
    var reader = WordReader(values)
    for case .argument(let argument) in site.pieces {
      try reader.skipElements(of: reader.view(ofArgumentType: argument.type))
    }
    guard flags.contains(.metadata) else { return }
    for _ in 0..<(try reader.count(wordsEach: 2)) {
      _ = try reader.string()
      try reader.skipElements(of: reader.taggedView())
    }
  }

  /// Gives the arguments and then the metadata, as long as `body` runs.
  @inline(__always)
  func withValues<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    withExtendedLifetime(owner) { body(values) }
  }

  /// How many bytes its arguments and metadata take before an archive compresses them.
  var size: Int { values.count }

  /// Gives each named argument, and then each pair of the metadata, to `body`, which has to take or
  /// to pass over the elements of a container.
  ///
  /// - Parameter names: Whether named arguments are wanted.
  func forEachField(
    names: Bool = true, _ body: (FieldName, ValueView, inout WordReader) throws(FormatError) -> Void
  ) {
    withExtendedLifetime(owner) {
      var reader = WordReader(values)
      // `check` has been here before: nothing is thrown.
      try? forEachArgument(&reader, names, body)
      try? forEachPair(&reader, body)
    }
  }

  private func forEachArgument(
    _ reader: inout WordReader, _ names: Bool,
    _ body: (FieldName, ValueView, inout WordReader) throws(FormatError) -> Void
  ) throws(FormatError) {
    for case .argument(let argument) in site.pieces {
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

/// The name of a field where it stands.
enum FieldName {
  case argument(String)
  case metadata(UnsafeRawBufferPointer)

  /// Its UTF-8, as it was logged.
  func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    switch self {
    case .metadata(let bytes): return body(bytes)
    case .argument(var name): return name.withUTF8 { body(UnsafeRawBufferPointer($0)) }
    }
  }

  var text: String { withBytes { String(decoding: $0, as: UTF8.self) } }
}
