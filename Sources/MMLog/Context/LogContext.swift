public import CMMLogWriter
import MMLogFormat
import Synchronization

/// What every record of a logger or a task has: fields, a span, a trace.
@usableFromInline
package final class LogContext: Sendable {
  /// The state of the logger's label; nil in a task's context.
  @usableFromInline nonisolated(unsafe) let label: UnsafeMutablePointer<mmlog_label>?
  private let fields: Logger.Metadata
  /// The number of a task's context, which no other context has.
  private let number: UInt64
  /// The number of the other context that the task had when this one was made: the keeper's if this
  /// context is one of this module, or this module's if it is a keeper's. This context includes the
  /// other one. 0: there was none.
  private let other: UInt64
  /// For log calls, which must not count references.
  nonisolated(unsafe) let encoded: UnsafeMutablePointer<EncodedContext>

  /// - Parameter span: A span's number; 0: no span, even if another context has one.
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

  /// Contexts have numbers and not references, because a reference would keep all contexts inside
  /// which a context was made.
  private static let lastNumber = Atomic<UInt64>(0)

  /// A context with more in it. What is given replaces what the old context has, also a field of
  /// the same name.
  ///
  /// - Parameters:
  ///   - place: Counts instead of the place of `old`.
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
  /// Where a task is: its span and its trace.
  struct Place {
    /// A span's number; 0: no span, even if another context has one.
    let span: UInt64?
    let trace: TraceContext?
  }
}

// MARK: - Contexts that others keep

extension LogContext {
  /// Keeps contexts of tasks beside this module, as a tracer does.
  package final class Keeper: Sendable {
    fileprivate let context: @Sendable () -> LogContext?

    /// - Parameter context: Returns the context of the calling task. A value of the task has to
    ///   keep the context: a log call still uses it after releasing the reference that it got here.
    package init(_ context: @escaping @Sendable () -> LogContext?) { self.context = context }
  }

  private static let keeper = AtomicLazyReference<Keeper>()

  /// Makes log calls look for a keeper's contexts, too. Only the first keeper of the process
  /// counts.
  package static func add(_ keeper: Keeper) {
    _ = Self.keeper.storeIfNil(keeper)
    StoreRegistry.useTaskContexts()
  }

  /// The keeper's context of the calling task.
  static var kept: LogContext? { keeper.load()?.context() }

  /// The context of the calling task: this module's or the keeper's, whichever is further inside
  /// and includes the other one. If the keeper's is further inside but does not include this
  /// module's, this module's context is returned with the keeper's place, which counts instead of
  /// the place of this module's context.
  ///
  /// For log calls: allocates nothing.
  @inline(__always)
  static var ofTask: (context: LogContext, place: Place?)? {
    let kept = kept
    guard let current else { return kept.map { ($0, nil) } }
    // The keeper's context is still the one that `current` was made in.
    if current.other == kept?.number ?? 0 { return (current, nil) }
    if let kept, kept.other == current.number { return (kept, nil) }
    return (current, place(in: kept, of: current))
  }

  /// The place of a keeper's context (or of none) that is inside a context of this module.
  @inline(never)
  private static func place(in kept: LogContext?, of current: LogContext) -> Place {
    // The keeper's earlier context has ended, and `current` may have its span from there. If there
    // was no such context, the span is this module's own, and still counts.
    let own = current.other == 0 ? current.encoded.pointee.span : nil
    return Place(
      span: kept?.encoded.pointee.span ?? own, trace: kept?.encoded.pointee.trace)
  }

  /// The task's context inside a trace, for a keeper.
  ///
  /// - Parameter span: The number of the span; 0: no span, not even the task's. Nil: the task's
  ///   span.
  package static func within(_ span: UInt64?, _ trace: TraceContext) -> LogContext {
    let old = ofTask
    return adding(
      [:], span, trace, to: old?.context, at: old?.place, label: nil, other: current)
  }

  /// A context with only a trace that comes from outside, whatever context the task has; for a
  /// keeper.
  package static func outside(_ trace: TraceContext) -> LogContext {
    adding([:], nil, trace, to: nil, label: nil)
  }
}

extension Logger {
  /// A logger whose records belong to a trace, but to no span, not even to the task's.
  package func withoutSpan(in trace: TraceContext) -> Logger {
    Logger(LogContext.adding([:], 0, trace, to: context, label: shared))
  }
}
