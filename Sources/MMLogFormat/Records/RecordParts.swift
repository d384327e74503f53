/// Where the parts of a record are, before any of its values is read.
package struct RecordParts {
  package let label: UInt32
  package let level: Level
  package let flags: RecordFlags
  /// The number of its call site, if the record does not carry the entry itself.
  package let callSite: UInt32
  /// The entry that the record carries itself, if it does.
  private let entry: UnsafeRawBufferPointer?
  /// Arguments, metadata, span and context, without the entry that follows them.
  package let values: UnsafeRawBufferPointer

  /// Takes apart the words of a record from its identity word on: of a whole record, or of one put
  /// together from fragments.
  package init(_ body: UnsafeRawBufferPointer) throws(FormatError) {
    var reader = WordReader(body)
    let identity = try reader.word()
    callSite = UInt32(truncatingIfNeeded: identity)
    label = UInt32(truncatingIfNeeded: identity >> RecordLayout.labelShift) & 0xFFFF
    level = Level(fromFile: UInt8(truncatingIfNeeded: identity >> RecordLayout.levelShift))
    flags = RecordFlags(rawValue: UInt8(truncatingIfNeeded: identity >> RecordLayout.flagsShift))
    if flags.contains(.thread) { _ = try reader.word() }
    let rest = try reader.take(reader.remaining)
    guard flags.contains(.inlineCallSite) else {
      (values, entry) = (rest, nil)
      return
    }
    let start = try Self.entryOffset(rest)
    (values, entry) = (rest.slice(0, start), rest.slice(start, rest.count - wordSize - start))
  }

  /// The call site that the record carries itself; nil if it has only a call site's number.
  package func inlineCallSite() throws(FormatError) -> CallSite? {
    guard let entry else { return nil }
    guard case .callSite(_, let site) = try DictionaryEntry(entry) else {
      throw .invalid("call site in a record")
    }
    return site
  }

  /// The entry ends one word before the record does; the last word is its length in words.
  private static func entryOffset(_ rest: UnsafeRawBufferPointer) throws(FormatError) -> Int {
    let end = rest.count - wordSize
    guard end >= 0 else { throw .truncated }
    let words = rest.load(end, as: UInt64.self)
    guard words <= UInt64(end / wordSize) else { throw .truncated }
    return end - Int(words) * wordSize
  }
}
