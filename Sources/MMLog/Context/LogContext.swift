public import CMMLogWriter
import MMLogFormat
import Synchronization

/// What goes with every record of a logger, or of a task: fields, a span, a trace.
@usableFromInline
package final class LogContext: Sendable {
  /// What the logger of that context shares with others; nil for a task's.
  @usableFromInline nonisolated(unsafe) let label: UnsafeMutablePointer<mmlog_label>?
  private let fields: Logger.Metadata
  /// Of a task's, unlike that of any other.
  private let number: UInt64
  /// Of one of this module's, the number of the keeper's that the task had when it was made; of a
  /// keeper's, that of this module's. It has what that has. 0: there was none.
  private let other: UInt64
  /// For log calls, which must not count references.
  nonisolated(unsafe) let encoded: UnsafeMutablePointer<EncodedContext>

  /// - Parameter span: A span's number; 0: none, also where another context has one.
  private init(
    label: UnsafeMutablePointer<mmlog_label>?, _ fields: Logger.Metadata, _ span: UInt64?,
    _ trace: TraceContext?, other: UInt64
  ) {
    (self.label, self.fields, self.other) = (label, fields, other)
    number = label == nil ? Self.lastNumber.wrappingAdd(1, ordering: .relaxed).newValue : 0
    encoded = .allocate(capacity: 1)
    encoded.initialize(to: EncodedContext(fields, span: span, trace: trace))
  }

  deinit {
    encoded.deinitialize(count: 1)
    encoded.deallocate()
  }

  /// Numbers, and not references: those would keep all contexts that one was made in.
  private static let lastNumber = Atomic<UInt64>(0)

  /// A context with more in it. What is given goes before what is there: also a field before one of
  /// the same name.
  ///
  /// - Parameters:
  ///   - place: What goes before the place of `old`.
  ///   - other: The task's other context; see ``ofTask``.
  static func adding(
    _ fields: Logger.Metadata, _ span: UInt64?, _ trace: TraceContext?, to old: LogContext?,
    at place: Place? = nil, label: UnsafeMutablePointer<mmlog_label>?, other: LogContext? = nil
  ) -> LogContext {
    var all = old?.fields ?? [:]
    all.pairs.removeAll { pair in fields.pairs.contains { $0.0 == pair.0 } }
    all.pairs += fields.pairs
    let place = place ?? old?.encoded.pointee.place
    return LogContext(
      label: label, all, span ?? place?.span, trace ?? place?.trace, other: other?.number ?? 0)
  }
}

extension LogContext {
  /// Where a task is.
  struct Place {
    /// A span's number; 0: none, also where another context has one.
    let span: UInt64?
    let trace: TraceContext?
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

  /// The keeper's context of the task that asks.
  static var kept: LogContext? { keeper.load()?.context() }

  /// The context of the task that asks: this module's or the keeper's, whichever is further inside
  /// and has what the other one has. Where the keeper's is further inside, but was made elsewhere,
  /// there is also its place, which counts in the place of that of the task's fields.
  ///
  /// For log calls: allocates nothing.
  @inline(__always)
  static var ofTask: (context: LogContext, place: Place?)? {
    let kept = kept
    guard let current else { return kept.map { ($0, nil) } }
    // The keeper's is still the one that it was.
    if current.other == kept?.number ?? 0 { return (current, nil) }
    if let kept, kept.other == current.number { return (kept, nil) }
    return (current, place(in: kept, of: current))
  }

  /// The place of a keeper's context, or of none, that is inside of a context of this module.
  @inline(never)
  private static func place(in kept: LogContext?, of current: LogContext) -> Place {
    // What a keeper's context had before is over. A span that is nobody's but this module's is not.
    let own = current.other == 0 ? current.encoded.pointee.span : nil
    return Place(
      span: kept?.encoded.pointee.span ?? own, trace: kept?.encoded.pointee.trace)
  }

  /// The task's context within a trace, for a keeper.
  ///
  /// - Parameter span: The number of a span that it is within, too; 0: it is within none, not even
  ///   within the task's. Nil: it is within the task's.
  package static func within(_ span: UInt64?, _ trace: TraceContext) -> LogContext {
    let old = ofTask
    return adding(
      [:], span, trace, to: old?.context, at: old?.place, label: nil, other: current)
  }

  /// A trace that comes from outside, whatever the task has, for a keeper.
  package static func outside(_ trace: TraceContext) -> LogContext {
    adding([:], nil, trace, to: nil, label: nil)
  }
}

extension Logger {
  /// A logger whose records belong to a trace, and to no span, not even to the task's.
  package func withoutSpan(in trace: TraceContext) -> Logger {
    Logger(LogContext.adding([:], 0, trace, to: context, label: shared))
  }
}
