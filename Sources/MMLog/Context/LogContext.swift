public import CMMLogWriter
import MMLogFormat

/// What goes with every record of a logger, or of a task: fields, a span, a trace.
@usableFromInline
final class LogContext: Sendable {
  /// What the logger of that context shares with others; nil for a task's.
  @usableFromInline nonisolated(unsafe) let label: UnsafeMutablePointer<mmlog_label>?
  private let fields: Logger.Metadata
  /// For log calls, which must not count references.
  nonisolated(unsafe) let encoded: UnsafeMutablePointer<EncodedContext>

  private init(
    label: UnsafeMutablePointer<mmlog_label>?, _ fields: Logger.Metadata, _ span: UInt64?,
    _ trace: TraceContext?
  ) {
    (self.label, self.fields) = (label, fields)
    encoded = .allocate(capacity: 1)
    encoded.initialize(to: EncodedContext(fields, span: span, trace: trace))
  }

  deinit {
    encoded.deinitialize(count: 1)
    encoded.deallocate()
  }

  /// A context with more in it. What is given goes before what is there: also a field before one of
  /// the same name.
  static func adding(
    _ fields: Logger.Metadata, _ span: UInt64?, _ trace: TraceContext?, to old: LogContext?,
    label: UnsafeMutablePointer<mmlog_label>?
  ) -> LogContext {
    var all = old?.fields ?? [:]
    all.pairs.removeAll { pair in fields.pairs.contains { $0.0 == pair.0 } }
    all.pairs += fields.pairs
    return LogContext(
      label: label, all, span ?? old?.encoded.pointee.span, trace ?? old?.encoded.pointee.trace)
  }
}
