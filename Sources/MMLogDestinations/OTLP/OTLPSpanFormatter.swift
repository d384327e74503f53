import MMLogFormat
import MMLogReader
import MMLogSystem

/// OpenTelemetry spans in protocol buffers: an `ExportTraceServiceRequest` with a span for each
/// record that ends one.
///
/// The record that begins a span names the parent span and the trace. If another formatter had that
/// record, such as before a restart, both are unknown. Then the span counts as the outermost of its
/// trace, which is the trace of its end, if the end has one.
struct OTLPSpanFormatter: LogFormatter {
  private var parents = SpanParents()
  private var scope = OTLPScope()

  mutating func append(_ record: LogReader.Record, to output: inout TextBuffer) {
    guard record.content.hasContext, let number = record.spanNumber else { return }
    parents.add(record)
    guard case .end(let start, let duration, let failed)? = record.span?.event else { return }
    scope.begin(record, &output)
    let span = output.begin(field: 2)
    // The end may be logged anywhere, so the trace of the beginning comes first.
    let trace = parents.knownTrace(of: number) ?? record.trace
    let words = trace?.words ?? parents.trace(of: number, record.session)
    output.append(field: 1, bigEndian: words.0, words.1)
    output.append(field: 2, bigEndian: number)
    if let parent = parents.parent(of: number) ?? remoteParent(trace, number) {
      output.append(field: 4, bigEndian: parent)
    }
    output.append(field: 5, text: record.span?.name ?? "span")
    output.append(field: 6, varint: Self.kind(of: record.content))
    let begin = max(0, start.nanosecondsSince1970)
    output.append(field: 7, fixed64: UInt64(begin))
    output.append(
      field: 8, fixed64: UInt64(max(begin, begin.saturatingSum(duration.nanoseconds))))
    output.append(fieldsOf: record, field: 9)
    output.append(attribute: "thread.id", Int64(record.thread.id), field: 9)
    if failed {
      let status = output.begin(field: 15)
      // STATUS_CODE_ERROR
      output.append(field: 3, varint: 2)
      output.end(status)
    }
    if let flags = trace?.flags { output.append(field: 16, fixed32: UInt32(flags)) }
    output.end(span)
  }

  mutating func pause(_ output: inout TextBuffer) { scope.end(&output) }

  /// The span of another process from which the trace comes.
  private func remoteParent(_ trace: TraceContext?, _ number: UInt64) -> UInt64? {
    guard let id = trace?.spanID, id != 0, id != number else { return nil }
    return id
  }

  /// The protocol's number for the kind that the end of a span names.
  private static func kind(of content: RecordContent) -> UInt64 {
    // SPAN_KIND_INTERNAL
    var kind: UInt64 = 1
    content.forEachField(.raw) { (name, value, reader) throws(FormatError) in
      if case .string(let bytes) = value, name.string == "span.kind" {
        switch String(decoding: bytes, as: UTF8.self) {
        case "server": kind = 2
        case "client": kind = 3
        case "producer": kind = 4
        case "consumer": kind = 5
        default: break
        }
      }
      try reader.skipElements(of: value)
    }
    return kind
  }
}

extension Int64 {
  func saturatingSum(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }
}
