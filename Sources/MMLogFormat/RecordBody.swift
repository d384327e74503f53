/// Where the parts of a record are, before any of its values is read.
package struct RecordParts {
  package let label: UInt32
  package let level: Level
  package let flags: RecordFlags
  /// The number of its call site, if it does not carry the entry itself.
  package let callSite: UInt32
  /// The entry that it carries itself, if it does.
  private let entry: UnsafeRawBufferPointer?
  /// The arguments and then the metadata, with what follows them cut off.
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
    if flags.contains(.extensions) { try Self.skipExtensions(&reader) }
    let rest = try reader.take(reader.remaining)
    guard flags.contains(.inlineCallSite) else {
      (values, entry) = (rest, nil)
      return
    }
    let start = try Self.entryOffset(rest)
    (values, entry) = (rest.slice(0, start), rest.slice(start, rest.count - wordSize - start))
  }

  /// The call site that it carries itself; nil if it has only the number of one.
  package func inlineCallSite() throws(FormatError) -> CallSite? {
    guard let entry else { return nil }
    guard case .callSite(_, let site) = try DictionaryEntry(entry) else {
      throw .invalid("call site in a record")
    }
    return site
  }

  /// None is known yet.
  private static func skipExtensions(_ reader: inout WordReader) throws(FormatError) {
    let count = try reader.word() & ExtensionLayout.countMask
    _ = try reader.take(Int(count) * wordSize)
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

/// Puts a thread's fragments together again.
package struct FragmentAssembler {
  private var body: [UInt8] = []
  private var bodySize = 0
  private var ticks: UInt64 = 0
  private var nextIndex: UInt32 = 0

  package init() {}

  /// True while a record has begun and not ended.
  package var isUnfinished: Bool { nextIndex > 0 }
  /// How many bytes of the unfinished record there are.
  package var pendingBytes: Int { body.count }

  /// Forgets an unfinished record, as when a whole one follows its fragments.
  package mutating func reset() { self = FragmentAssembler() }

  /// Adds a thread's next fragment.
  ///
  /// - Returns: The record's body, words from its identity word on, once it is whole.
  package mutating func add(_ fragment: RecordView) -> [UInt8]? {
    let index = fragment.callSite
    if index == 0 { reset() }
    guard index == nextIndex, let part = Self.part(fragment) else {
      reset()
      return nil
    }
    if index == 0 { (bodySize, ticks) = (part.bodySize, fragment.ticks) }
    // The ticks distinguish two records of one size: where segments were discarded or corrupted,
    // the beginning of one and the end of the next may be left.
    guard part.bodySize == bodySize, fragment.ticks == ticks,
      body.count + part.bytes.count <= bodySize
    else {
      reset()
      return nil
    }
    body.append(contentsOf: part.bytes)
    nextIndex += 1
    guard fragment.rawFlags & FragmentLayout.last != 0 else { return nil }
    defer { reset() }
    return body.count == bodySize ? body : nil
  }

  /// What a record's first fragment has of its body; nil for another one.
  package static func beginning(_ fragment: RecordView) -> UnsafeRawBufferPointer? {
    fragment.callSite == 0 ? part(fragment)?.bytes : nil
  }

  private static func part(
    _ fragment: RecordView
  ) -> (bodySize: Int, bytes: UnsafeRawBufferPointer)? {
    let lead = RecordLayout.bodyWord + (fragment.rawFlags & FragmentLayout.thread != 0 ? 1 : 0)
    guard fragment.bytes.count > (lead + 1) * wordSize else { return nil }
    let size = fragment.word(lead)
    guard size <= UInt64(RecordLayout.longestBody), size % UInt64(wordSize) == 0 else { return nil }
    let offset = (lead + 1) * wordSize
    return (Int(size), fragment.bytes.slice(offset, fragment.bytes.count - offset))
  }
}
