/// The relation of a record to a span.
package struct SpanTie {
  /// How a record ends its span.
  package struct End {
    /// The ticks at which the span began.
    package let start: UInt64
    package let failed: Bool
    /// Whether the span's flight records are captured although it did not fail.
    package let captures: Bool
  }

  /// The span that the record belongs to: the one that it begins or ends, or that of its context.
  /// 0: none, or none of this session.
  package let span: UInt64
  /// Nil if the record ends no span.
  package let end: End?

  /// Whether a record may have a relation to a span. A fragmented record has none.
  @inline(__always)
  package static func mayBe(of record: RecordView) -> Bool {
    record.rawFlags & (RecordFlags.span.rawValue | RecordFlags.context.rawValue) != 0
      && !record.isFragment
  }

  /// Whether a record may end a span.
  @inline(__always)
  package static func mayEnd(_ record: RecordView) -> Bool {
    record.rawFlags & RecordFlags.span.rawValue != 0 && !record.isFragment
  }
}

extension LogDictionary {
  /// The relation of a record to a span; nil: there is none, or it cannot be read.
  ///
  /// - Complexity: O(values of the record).
  package func tie(of record: RecordView) -> SpanTie? {
    SpanTie.mayBe(of: record) ? try? readTie(of: record) : nil
  }

  private func readTie(of record: RecordView) throws(FormatError) -> SpanTie? {
    let parts = try RecordParts(record.body)
    guard let site = try parts.inlineCallSite() ?? callSites[parts.callSite] else { return nil }
    var reader = WordReader(parts.values)
    for case .argument(let argument) in site.parts {
      try reader.skipElements(of: reader.view(ofArgumentType: argument.type))
    }
    if parts.flags.contains(.metadata) { try passBlocks(&reader) }
    guard parts.flags.contains(.span) else {
      return SpanTie(span: try ContextView(&reader).span, end: nil)
    }
    let words = try SpanWords(&reader)
    guard case .end(let start, _, let failed, let captures) = words.event else {
      return SpanTie(span: words.number, end: nil)
    }
    return SpanTie(
      span: words.number, end: SpanTie.End(start: start, failed: failed, captures: captures))
  }

  private func passBlocks(_ reader: inout WordReader) throws(FormatError) {
    for _ in 0..<BlockLayout.most {
      let head = try reader.word()
      let keySet = UInt32(truncatingIfNeeded: head >> BlockLayout.keySetShift)
      if keySet > 0 {
        guard let keys = keySets[keySet]?.keys else { throw .invalid("key set") }
        for key in keys {
          try reader.skipElements(of: reader.view(ofArgumentType: key.type))
        }
      }
      for _ in 0..<head & BlockLayout.pairsMask {
        _ = try reader.string()
        try reader.skipElements(of: reader.taggedView())
      }
      if head & BlockLayout.moreBit == 0 { return }
    }
    throw .invalid("blocks of fields")
  }
}
