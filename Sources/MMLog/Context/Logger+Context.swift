public import MMLogFormat
import MMLogSystem

extension Logger {
  /// Returns a logger of the same label. All its records have these fields, and belong to this span
  /// and this trace.
  ///
  /// ```swift
  /// let log = log.with(["request": "r7"])
  /// log.info("accepted")
  /// ```
  ///
  /// The fields are encoded once. A log call copies their words, which costs some nanoseconds, and
  /// counts no references. The fields are shown behind the call's own metadata. A new field
  /// replaces a field of the same name that the logger has already.
  ///
  /// - Parameters:
  ///   - fields: Values by name. Default: no more fields.
  ///   - span: The span that the logger's records belong to, and whose parts its new spans are.
  ///     Nil, the default: the span that the logger has.
  ///   - trace: The trace that the logger's records belong to. Nil, the default: the trace that the
  ///     logger has.
  /// - Returns: The logger, which may be copied and used as any other. Copying it counts
  ///   references: its fields are freed with its last copy.
  /// - Complexity: O(bytes of all fields); allocates. Any thread. Not for signal handlers.
  public func with(
    _ fields: Metadata = [:], span: Span? = nil, trace: TraceContext? = nil
  ) -> Logger {
    Logger(
      LogContext.adding(fields, span?.recordedNumber, trace, to: context, label: shared))
  }
}

/// Gives all records that are logged in `body` these fields, this span and this trace, whichever
/// logger or store they are logged with, and also if the handler for swift-log logs them.
///
/// ```swift
/// withLogFields(["request": "r7"]) {
///   log.info("accepted")
/// }
/// ```
///
/// The context is a task-local value (SE-0311): tasks that `body` makes by `async let`, a task
/// group or `Task { }` have it, too. Tasks made by `Task.detached { }`, and threads, do not. Inside
/// another call, fields are added; a new field replaces one of the same name. The fields are
/// encoded once, by this call, and shown behind the log call's metadata and the logger's own
/// fields.
///
/// From the first use in a process on, each log call looks for the context of its task, which costs
/// some nanoseconds. If there is a context, the call copies its words.
///
/// - Parameters:
///   - fields: Values by name. Default: no more fields.
///   - span: The span that the records belong to, and whose parts new spans are. Nil, the default:
///     the span that the task has.
///   - trace: The trace that the records belong to. Nil, the default: the trace that the task has.
///     Spans of MMLogTracing's tracer take their trace from the `ServiceContext` instead.
///   - body: Logs with the context.
/// - Returns: What `body` returns.
/// - Throws: What `body` throws.
/// - Complexity: O(bytes of all fields of the task); allocates. The first call in a process takes
///   the locks of all stores. Any thread. Not for signal handlers.
public func withLogFields<Result: ~Copyable, Failure: Error>(
  _ fields: Logger.Metadata = [:], span: Logger.Span? = nil, trace: TraceContext? = nil,
  _ body: () throws(Failure) -> Result
) throws(Failure) -> Result {
  try LogContext.ofTask(adding: fields, span?.recordedNumber, trace).bind(body)
}

/// Does the same for an asynchronous `body`, which may wait, and go on on another thread. `body`
/// runs in the caller's isolation, which `isolation` says; leave the default.
///
/// - Throws: What `body` throws.
public func withLogFields<Result, Failure: Error>(
  _ fields: Logger.Metadata = [:], span: Logger.Span? = nil, trace: TraceContext? = nil,
  isolation: isolated (any Actor)? = #isolation,
  _ body: () async throws(Failure) -> Result
) async throws(Failure) -> Result {
  try await LogContext.ofTask(adding: fields, span?.recordedNumber, trace).bind(body)
}

extension Logger.Span {
  /// The span's number; nil if its beginning was not recorded.
  fileprivate var recordedNumber: UInt64? { isRecorded ? number : nil }

  /// Makes records that are logged in `body` belong to the span, if its beginning was recorded.
  @usableFromInline
  func bind<Result: ~Copyable, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    guard let number = recordedNumber else { return try body() }
    return try LogContext.ofTask(adding: [:], number, nil).bind(body)
  }

  /// The same for an asynchronous `body`.
  @usableFromInline
  func bind<Result, Failure: Error>(
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    guard let number = recordedNumber else { return try await body() }
    return try await LogContext.ofTask(adding: [:], number, nil).bind(body)
  }
}

extension LogContext {
  @TaskLocal static var current: LogContext?

  /// Makes this the task's context in `body`.
  fileprivate func bind<Result: ~Copyable, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    // `withValue` does not say which errors it throws, and gives only what can be copied.
    var outcome: Swift.Result<Result, Failure>?
    Self.$current.withValue(self) {
      do throws(Failure) { outcome = .success(try body()) } catch { outcome = .failure(error) }
    }
    guard let outcome else { preconditionFailure("withValue has called its operation") }
    return try outcome.get()
  }

  /// The same for an asynchronous `body`.
  fileprivate func bind<Result, Failure: Error>(
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    let outcome = await Self.$current.withValue(self) {
      () async -> Swift.Result<Result, Failure> in
      do throws(Failure) { return .success(try await body()) } catch { return .failure(error) }
    }
    return try outcome.get()
  }

  /// The task's context with more in it.
  static func ofTask(
    adding fields: Logger.Metadata, _ span: UInt64?, _ trace: TraceContext?
  ) -> LogContext {
    StoreRegistry.useTaskContexts()
    let old = ofTask
    return adding(
      fields, span, trace, to: old?.context, at: old?.place, label: nil, other: kept)
  }
}
