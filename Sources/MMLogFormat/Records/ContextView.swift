/// A record's context, where it stands.
package struct ContextView {
  /// The span that the record belongs to; 0: none.
  package let span: UInt64
  /// The trace that it belongs to.
  package let trace: TraceContext?
  package let hasFields: Bool
  /// Blocks of fields, and what later versions put behind them.
  package let fields: UnsafeRawBufferPointer

  /// Takes a context from the words of a record.
  package init(_ reader: inout WordReader) throws(FormatError) {
    let head = try reader.word()
    let count = Int(head & ContextLayout.countMask)
    var words = WordReader(try reader.take(count * wordSize))
    span = head & ContextLayout.spanBit == 0 ? 0 : try words.word() & ~SpanLayout.endBit
    if head & ContextLayout.traceBit != 0 {
      let id = (try words.word(), try words.word())
      trace = TraceContext(
        words: id, spanID: try words.word(),
        flags: UInt8(truncatingIfNeeded: head >> ContextLayout.traceFlagsShift))
    } else {
      trace = nil
    }
    hasFields = head & ContextLayout.fieldsBit != 0
    fields = try words.take(words.remaining)
  }
}

extension RecordFlags {
  /// The flags of records that may have pairs of name and value.
  package static var withPairs: RecordFlags { [.metadata, .context] }
}
