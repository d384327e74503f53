package import MMLogFormat

/// The parents and traces of spans, as the spans' beginnings say. A span that begins in no trace is
/// in the trace of the span that it is a part of. Without any trace, the outermost span has its
/// own.
///
/// Nothing is forgotten at a span's end, so that a batch that is encoded again is the same.
package struct SpanParents {
  /// How many spans are known at least. When there are twice as many, the older half is dropped.
  private static let minimum = 32_768

  private struct Known {
    let parent: UInt64?
    let root: UInt64
    let trace: TraceContext?
  }

  private var newer: [UInt64: Known] = [:]
  private var older: [UInt64: Known] = [:]

  package init() {}

  /// Notes what a record says of a span.
  package mutating func add(_ record: LogReader.Record) {
    guard case .begin(let parent)? = record.span?.event, let number = record.spanNumber else {
      return
    }
    let outer = parent.flatMap { known($0) }
    let trace = record.trace ?? outer?.trace
    if parent == nil && trace == nil { return }
    if newer.count >= Self.minimum { (older, newer) = (newer, [:]) }
    newer[number] = Known(parent: parent, root: outer?.root ?? parent ?? number, trace: trace)
  }

  /// The span that a span is a part of; nil if there is none, or the beginning was not seen.
  package func parent(of span: UInt64) -> UInt64? { known(span)?.parent }

  /// The trace that a span began in, or that of the span that it is a part of; nil if none is
  /// known.
  package func knownTrace(of span: UInt64) -> TraceContext? { known(span)?.trace }

  /// The trace of a span, for a record that was itself logged in none.
  package func trace(of span: UInt64, _ session: LogReader.Session) -> (UInt64, UInt64) {
    let known = known(span)
    // The numbers of spans differ in all sessions.
    return known?.trace?.words ?? (session.id.words.0.byteSwapped, known?.root ?? span)
  }

  private func known(_ span: UInt64) -> Known? { newer[span] ?? older[span] }
}
