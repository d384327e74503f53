import MMLogFormat

/// What spans are parts of, as their beginnings say: the trace of a span that was logged in none is
/// that of the outermost.
///
/// Nothing is forgotten at a span's end, so that a batch that is encoded again is the same.
package struct SpanParents {
  /// So many are known at least; of twice as many, the older half is dropped.
  private static let minimum = 32_768

  private struct Known {
    let parent: UInt64
    let root: UInt64
  }

  private var newer: [UInt64: Known] = [:]
  private var older: [UInt64: Known] = [:]

  package init() {}

  /// Notes what a record says.
  package mutating func add(_ record: LogReader.Record) {
    guard case .begin(let parent?)? = record.span?.event, let number = record.spanNumber else {
      return
    }
    if newer.count >= Self.minimum { (older, newer) = (newer, [:]) }
    newer[number] = Known(parent: parent, root: known(parent)?.root ?? parent)
  }

  /// What a span is a part of; nil: nothing, or its beginning was not seen.
  package func parent(of span: UInt64) -> UInt64? { known(span)?.parent }

  /// The trace of a span that was logged in none.
  package func trace(of span: UInt64, _ session: LogReader.Session) -> (UInt64, UInt64) {
    // Numbers of spans are unlike in all sessions.
    (session.id.words.0.byteSwapped, known(span)?.root ?? span)
  }

  private func known(_ span: UInt64) -> Known? { newer[span] ?? older[span] }
}
