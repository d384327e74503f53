public import CMMLogWriter
import MMLogFormat
import Synchronization

/// What goes with every record of a logger, or of a task: fields, a span, a trace.
@usableFromInline
package final class LogContext: Sendable {
  /// What the logger of that context shares with others; nil for a task's.
  @usableFromInline nonisolated(unsafe) let label: UnsafeMutablePointer<mmlog_label>?
  private let fields: Logger.Metadata
  /// How many contexts it was made of: the more there are, the further inside it is.
  private let depth: Int
  /// For log calls, which must not count references.
  nonisolated(unsafe) let encoded: UnsafeMutablePointer<EncodedContext>

  /// - Parameter span: A span's number; 0: none, also where another context has one.
  private init(
    label: UnsafeMutablePointer<mmlog_label>?, _ fields: Logger.Metadata, _ span: UInt64?,
    _ trace: TraceContext?, depth: Int
  ) {
    (self.label, self.fields, self.depth) = (label, fields, depth)
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
      label: label, all, span ?? old?.encoded.pointee.span, trace ?? old?.encoded.pointee.trace,
      depth: (old?.depth ?? 0) + 1)
  }
}

// MARK: - Contexts that others keep

extension LogContext {
  /// Who keeps contexts of tasks beside this module: a tracer.
  package final class Keeper: Sendable {
    fileprivate let context: @Sendable () -> LogContext?

    /// - Parameter context: The context of the task that asks, which a value of the task has to
    ///   keep: a log call goes on with it when it has given back what it got here.
    package init(_ context: @escaping @Sendable () -> LogContext?) { self.context = context }
  }

  private static let keeper = AtomicLazyReference<Keeper>()

  /// Has log calls look for contexts of others, too: those of the first keeper of the process.
  package static func add(_ keeper: Keeper) {
    _ = Self.keeper.storeIfNil(keeper)
    StoreRegistry.useTaskContexts()
  }

  /// The context of the task that asks: this module's or the keeper's, whichever is further inside.
  static var ofTask: LogContext? {
    guard let other = keeper.load()?.context() else { return current }
    guard let current else { return other }
    return current.depth > other.depth ? current : other
  }

  /// The task's context, within a span and a trace.
  ///
  /// - Parameter isApart: Whether it is within no span where the given one was not recorded, not
  ///   even within the task's.
  package static func within(
    _ span: Logger.Span, _ trace: TraceContext, isApart: Bool
  ) -> LogContext {
    let none: UInt64? = isApart ? 0 : nil
    return adding([:], span.isRecorded ? span.number : none, trace, to: ofTask, label: nil)
  }
}

extension Logger {
  /// A logger whose records belong to a trace, and to no span, not even to the task's.
  package func withoutSpan(in trace: TraceContext) -> Logger {
    Logger(LogContext.adding([:], 0, trace, to: context, label: shared))
  }
}
