package import MMLogFormat

/// Puts the fragments of a thread's records together.
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

  /// Forgets an unfinished record, for example if a whole record follows its fragments.
  package mutating func reset() { self = FragmentAssembler() }

  /// Adds the next fragment of a thread.
  ///
  /// - Returns: The record's body when it is complete: the words from the identity word on.
  package mutating func add(_ fragment: RecordView) -> [UInt8]? {
    let index = fragment.callSite
    if index == 0 { reset() }
    guard index == nextIndex, let part = Self.part(fragment) else {
      reset()
      return nil
    }
    if index == 0 { (bodySize, ticks) = (part.bodySize, fragment.ticks) }
    // The ticks distinguish two records of the same size: if segments were discarded or corrupted,
    // the beginning of one record and the end of the next may be left.
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

  /// The part of the body that a record's first fragment has; nil for another fragment.
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
