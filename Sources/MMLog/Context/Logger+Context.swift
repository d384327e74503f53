public import MMLogFormat
import MMLogSystem

extension Logger {
  /// A logger of the same label whose records all have these fields, belong to this span, or to
  /// this trace.
  ///
  /// ```swift
  /// let log = log.with(["request": "r7"])
  /// log.info("accepted")
  /// ```
  ///
  /// The fields are encoded once; a log call copies their words, which costs some nanoseconds, and
  /// counts no references. They are shown behind the call's own metadata. Where a name is given
  /// that the logger has already, the new field is in its place.
  ///
  /// - Parameters:
  ///   - fields: Values by name. Default: none more.
  ///   - span: What its records belong to, and what spans are a part of that it begins. Nil, the
  ///     default: what the logger has.
  ///   - trace: The trace that its records belong to. Nil, the default: what the logger has.
  /// - Returns: The logger, which may be copied and used as any other. It is not trivial to copy:
  ///   its fields are freed with its last copy.
  /// - Complexity: O(bytes of all fields); allocates. Any thread, not for signal handlers.
  public func with(
    _ fields: Metadata = [:], span: Span? = nil, trace: TraceContext? = nil
  ) -> Logger {
    Logger(
      LogContext.adding(fields, span?.recordedNumber, trace, to: context, label: shared))
  }
}

/// Has all records that are logged in `body`, by any logger, any store and also by the handler for
/// swift-log, have these fields, belong to this span, or to this trace.
///
/// ```swift
/// withLogFields(["request": "r7"]) {
///   log.info("accepted")
/// }
/// ```
///
/// It is a task-local value (SE-0311): tasks that are made in `body` by `async let`, a task group
/// or `Task { }` have it, too; those made by `Task.detached { }` and threads do not. Inside of
/// another one, fields are added, and the new one is in the place of one of the same name. Fields
/// are encoded here, once, and shown behind the call's metadata and the logger's own fields.
///
/// From the first use on in a process, each log call looks for the context of its task, which costs
/// some nanoseconds. A call with one copies its words.
///
/// - Parameters:
///   - fields: Values by name. Default: none more.
///   - span: What records belong to, and what spans are a part of that begin there. Nil, the
///     default: what the task has.
///   - trace: The trace that records belong to. Nil, the default: what the task has. Spans of
///     MMLogTracing's tracer have theirs from the `ServiceContext`, and not from here.
///   - body: What is done.
/// - Returns: What `body` returns.
/// - Throws: What `body` throws.
/// - Complexity: O(bytes of all fields of the task); allocates. The first one in a process takes
///   the locks of all stores. Any thread, not for signal handlers.
public func withLogFields<Result: ~Copyable, Failure: Error>(
  _ fields: Logger.Metadata = [:], span: Logger.Span? = nil, trace: TraceContext? = nil,
  _ body: () throws(Failure) -> Result
) throws(Failure) -> Result {
  try LogContext.ofTask(adding: fields, span?.recordedNumber, trace).bind(body)
}

/// The same for what may wait, and go on on another thread. It runs where the caller does, which
/// `isolation` says; leave its default.
public func withLogFields<Result, Failure: Error>(
  _ fields: Logger.Metadata = [:], span: Logger.Span? = nil, trace: TraceContext? = nil,
  isolation: isolated (any Actor)? = #isolation,
  _ body: () async throws(Failure) -> Result
) async throws(Failure) -> Result {
  try await LogContext.ofTask(adding: fields, span?.recordedNumber, trace).bind(body)
}

extension Logger.Span {
  /// Nil if its beginning was not recorded.
  fileprivate var recordedNumber: UInt64? { isRecorded ? number : nil }

  /// Has what is logged in `body` belong to the span, if that was recorded.
  @usableFromInline
  func bind<Result: ~Copyable, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    guard let number = recordedNumber else { return try body() }
    return try LogContext.ofTask(adding: [:], number, nil).bind(body)
  }

  /// The same for what may wait.
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

  /// Has it be the task's in `body`.
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

  /// The same for what may wait.
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
