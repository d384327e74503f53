/// The words of a record that begins or ends a span: see ``SpanLayout``.
package struct SpanWords {
  package enum Event {
    /// `parent` is 0 if none is given.
    case begin(parent: UInt64)
    /// `callSite` is where the span began; 0 if that is not known. `captures`: the span's flight
    /// records are captured, whether or not it failed.
    case end(start: UInt64, callSite: UInt32, failed: Bool, captures: Bool)
  }

  /// The span's number; 0 for a span that began in another session.
  package let number: UInt64
  package let event: Event

  package init(_ reader: inout WordReader) throws(FormatError) {
    let first = try reader.word()
    let second = try reader.word()
    number = first & ~SpanLayout.endBit
    if first & SpanLayout.endBit == 0 {
      event = .begin(parent: second)
    } else {
      let third = try reader.word()
      event = .end(
        start: second, callSite: UInt32(truncatingIfNeeded: third),
        failed: third & SpanLayout.failedBit != 0,
        captures: third & SpanLayout.capturesBit != 0)
    }
  }
}
