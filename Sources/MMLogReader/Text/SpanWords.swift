import MMLogFormat

/// The words of a record that begins or ends a span: see ``SpanLayout``.
struct SpanWords {
  enum Event {
    /// `parent` is 0 if none is given.
    case begin(parent: UInt64)
    /// `callSite` is that of its beginning; 0 if it is not known.
    case end(start: UInt64, callSite: UInt32, failed: Bool)
  }

  /// 0 for one that began in another session.
  let number: UInt64
  let event: Event

  init(_ reader: inout WordReader) throws(FormatError) {
    let first = try reader.word()
    let second = try reader.word()
    number = first & ~SpanLayout.endBit
    if first & SpanLayout.endBit == 0 {
      event = .begin(parent: second)
    } else {
      let third = try reader.word()
      event = .end(
        start: second, callSite: UInt32(truncatingIfNeeded: third),
        failed: third & SpanLayout.failedBit != 0)
    }
  }
}
