public import CMMLogCore
public import CMMLogWriter
public import MMLogFormat

extension Logger {
  /// Something that takes time and was begun by
  /// ``Logger/begin(_:metadata:level:in:file:function:line:column:)-(()->LogLiteral,_,_,_,_,_,_,_)``
  /// such as a request, a job, a wait.
  ///
  /// A plain value of five words: copy it, keep it, send it to another thread. It can be ended
  /// anywhere, by the method
  /// ``end(_:failed:captures:metadata:file:function:line:column:)-(()->LogLiteral,_,_,_,_,_,_,_)``.
  ///
  /// A span's end says at which statement the span began, so that readers know its name even if
  /// they do not see its beginning. The end has the fields of its task, but not those of the logger
  /// that began the span.
  ///
  /// - **Ended twice:** each end is recorded, with the time since the beginning. Readers take the
  ///   first end as the span's end, and show further ends as ends of a span that is over.
  /// - **Never ended:** nothing happens. Readers list the span as open; if the process died, they
  ///   list it as in flight.
  /// - **Lost** at its beginning, for example because the ring was full: the loss is counted, and
  ///   the end is still recorded.
  /// - **Not recorded** at its beginning, because the level was off or the store closed: its end is
  ///   not recorded either.
  /// - **Ended in another session** than it began in (after `fork()`, or when a lost ring was
  ///   replaced): its end is recorded with its duration, but without its number, because the number
  ///   belongs to the other session.
  @frozen
  public struct Span: @unchecked Sendable {
    // Sendable: the pointer to the session is only compared.
    @usableFromInline package let label: UnsafeMutablePointer<mmlog_label>
    /// The session's gate, which no other session has.
    @usableFromInline package let session: UnsafeRawPointer?
    /// 0: the beginning was not recorded.
    @usableFromInline package let number: UInt64
    @usableFromInline package let ticks: UInt64
    @usableFromInline package let level: Level
    /// The number of the call site where it began; 0: not known.
    @usableFromInline package let callSite: UInt32

    @inlinable @inline(__always)
    package init(
      _ log: Logger, _ session: UnsafeRawPointer?, _ number: UInt64, _ ticks: UInt64,
      _ level: Level, _ callSite: UInt32
    ) {
      label = log.shared
      self.session = session
      self.number = number
      self.ticks = ticks
      self.level = level
      self.callSite = callSite
    }

    /// A logger without the context of the one that began the span: copies of a span count no
    /// references.
    @inlinable @inline(__always) var log: Logger { Logger(label) }

    /// Whether the span's end will be recorded: the level was on when the span began, and the store
    /// was open. The beginning may still be lost, for example because the ring is full; then it is
    /// counted.
    @inlinable public var isRecorded: Bool { number != 0 }

    /// The span's number if the span began in this session; else 0.
    @inlinable @inline(__always)
    func number(in gate: UnsafeRawPointer?) -> UInt64 { session == gate ? number : 0 }

    /// Records the span's end, with the time since its beginning, whatever the level is by now.
    /// Costs as much as a log call.
    ///
    /// - Parameters:
    ///   - message: What came of the operation. Evaluated only if the beginning was recorded.
    ///   - failed: Whether the operation failed. Readers show it.
    ///   - captures: Whether the span's flight records are captured as if it had failed. Counts
    ///     only if ``LogStore/Configuration/spanCapture`` is set.
    ///   - metadata: Values by name that go with it.
    ///   - file: The source file; leave the default.
    ///   - function: The function; leave the default.
    ///   - line: The line; leave the default.
    ///   - column: The column; leave the default.
    @export(implementation) @inline(__always)
    public func end(
      _ message: @autoclosure () -> LogLiteral = "", failed: Bool = false, captures: Bool = false,
      metadata: @autoclosure () -> Metadata? = nil, file: StaticString = #fileID,
      function: StaticString = #function, line: UInt32 = #line, column: UInt32 = #column
    ) {
      guard isRecorded else { return }
      guard log.acquireWriter() || log.enter(level) else { return }
      var record = LogCall.record(of: message)
      if let metadata = metadata() { record.cursor.append(metadata) }
      append(to: &record.cursor, failed: failed, captures: captures)
      record.commit(label, level, file, function, line, column, .span)
    }

    /// The same, with the context of the logger that began the span: the end has its fields, too.
    @inlinable @inline(__always)
    package func end(
      _ message: () -> LogLiteral, failed: Bool, captures: Bool, metadata: Metadata?,
      by logger: Logger, file: StaticString, function: StaticString, line: UInt32, column: UInt32
    ) {
      guard isRecorded, logger.acquireWriter() || logger.enter(ofEnd: level) else { return }
      var record = LogCall.record(of: message)
      if let metadata { record.cursor.append(metadata) }
      append(to: &record.cursor, failed: failed, captures: captures)
      record.commit(logger.label, level, file, function, line, column, .span)
      withExtendedLifetime(logger.context) {}
    }

    /// Adds the words that make a record the end of the span.
    @inlinable @inline(__always)
    func append(to record: inout RecordCursor, failed: Bool, captures: Bool = false) {
      let number = number(in: record.writer.pointee.gate)
      record.append(checked: number | SpanLayout.endBit)
      record.append(checked: ticks)
      // The number of a call site belongs to the session, too.
      let callSite = number == 0 ? 0 : UInt64(callSite)
      record.append(
        checked: callSite | (failed ? SpanLayout.failedBit : 0)
          | (captures ? SpanLayout.capturesBit : 0))
    }

    /// Records the span's end with a message that was made elsewhere. See the form for literals.
    @_disfavoredOverload
    public func end(
      _ message: @autoclosure () -> LogMessage, failed: Bool = false, captures: Bool = false,
      metadata: @autoclosure () -> Metadata? = nil, file: StaticString = #fileID,
      function: StaticString = #function, line: UInt32 = #line, column: UInt32 = #column
    ) {
      end(
        LogLiteral(message()), failed: failed, captures: captures, metadata: metadata(), file: file,
        function: function, line: line, column: column)
    }
  }
}

extension Logger {
  /// Records that an operation begins, and returns the span that records its end.
  ///
  /// ```swift
  /// let span = log.begin("request \(id)")
  /// try await serve(id)
  /// span.end("\(status, name: "status")")
  /// ```
  ///
  /// Costs as much as a log call. Any thread and signal handler.
  ///
  /// - Parameters:
  ///   - message: The operation that begins. Evaluated only if the level is recorded.
  ///   - metadata: Values by name that go with it.
  ///   - level: The level of the span's beginning and of its end.
  ///   - parent: The span that the new one is a part of, if that is known.
  ///   - file: The source file; leave the default.
  ///   - function: The function; leave the default.
  ///   - line: The line; leave the default.
  ///   - column: The column; leave the default.
  @export(implementation) @inline(__always)
  public func begin(
    _ message: @autoclosure () -> LogLiteral, metadata: @autoclosure () -> Metadata? = nil,
    level: Level = .info, in parent: Span? = nil, file: StaticString = #fileID,
    function: StaticString = #function, line: UInt32 = #line, column: UInt32 = #column
  ) -> Span {
    guard mayRecord(level), acquireWriter() || enter(at: StatementPlace(level, file, line)) else {
      return Span(self, nil, 0, 0, level, 0)
    }
    var record = LogCall.record(of: message)
    if let metadata = metadata() { record.cursor.append(metadata) }
    let (gate, number, ticks) = record.cursor.appendBeginning(in: parent)
    let callSite = record.commit(label, level, file, function, line, column, .span)
    withExtendedLifetime(context) {}
    return Span(self, gate, number, ticks, level, UInt32(truncatingIfNeeded: callSite))
  }

  /// Records that an operation begins, with a message that was made elsewhere. See the form for
  /// literals.
  @_disfavoredOverload
  public func begin(
    _ message: @autoclosure () -> LogMessage, metadata: @autoclosure () -> Metadata? = nil,
    level: Level = .info, in parent: Span? = nil, file: StaticString = #fileID,
    function: StaticString = #function, line: UInt32 = #line, column: UInt32 = #column
  ) -> Span {
    begin(
      LogLiteral(message()), metadata: metadata(), level: level, in: parent, file: file,
      function: function,
      line: line, column: column)
  }

  /// Records that the program enters a function: begins a span whose message is the function's
  /// name.
  ///
  /// ```swift
  /// func match(_ order: Order) {
  ///   let span = log.enter()
  ///   defer { span.end() }
  ///   log.info("order \(order.id)")
  /// }
  /// ```
  ///
  /// The end in `defer` is recorded however the program leaves the function. Until then, and after
  /// a crash, readers list the span as open. If the end is to say which error the function threw,
  /// use `log.span("\(#function)") { … }`. Costs as much as a log call. Any thread and signal
  /// handler.
  ///
  /// - Parameters:
  ///   - level: The level of entering and leaving. Default: `debug`.
  ///   - parent: The span that the function is a part of, if that is known.
  ///   - file: The source file; leave the default.
  ///   - function: The function; leave the default.
  ///   - line: The line; leave the default.
  ///   - column: The column; leave the default.
  /// - Returns: The span. Its `end` records that the program leaves the function.
  @export(implementation) @inline(__always)
  public func enter(
    level: Level = .debug, in parent: Span? = nil, file: StaticString = #fileID,
    function: StaticString = #function, line: UInt32 = #line, column: UInt32 = #column
  ) -> Span {
    begin(
      "\(function)", level: level, in: parent, file: file, function: function, line: line,
      column: column)
  }

  /// Records when `body` begins and ends. If `body` throws, the end is marked as failed, and the
  /// error is its message. All records that are logged in `body`, by any logger, belong to the
  /// span, and spans that begin there are its parts: as in ``withLogFields(_:span:trace:_:)``, at
  /// the costs that are given there.
  ///
  /// ```swift
  /// let trades = try log.span("order \(order.id)") { span in try book.match(order, in: span) }
  /// ```
  ///
  /// - Parameters:
  ///   - message: The operation that begins. See
  ///     ``begin(_:metadata:level:in:file:function:line:column:)-(()->LogLiteral,_,_,_,_,_,_,_)``.
  ///   - metadata: Values by name that go with the beginning.
  ///   - level: The level of the span's beginning and of its end.
  ///   - parent: The span that the new one is a part of, if that is known.
  ///   - file: The source file; leave the default.
  ///   - function: The function; leave the default.
  ///   - line: The line; leave the default.
  ///   - column: The column; leave the default.
  ///   - body: The operation. Gets the span, so that other spans can be parts of it.
  /// - Returns: What `body` returns.
  /// - Throws: What `body` throws.
  @export(implementation)
  public func span<Result: ~Copyable, Failure: Error>(
    _ message: @autoclosure () -> LogLiteral, metadata: @autoclosure () -> Metadata? = nil,
    level: Level = .info, in parent: Span? = nil, file: StaticString = #fileID,
    function: StaticString = #function, line: UInt32 = #line, column: UInt32 = #column,
    _ body: (Span) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let span = begin(
      message(), metadata: metadata(), level: level, in: parent, file: file, function: function,
      line: line,
      column: column)
    do throws(Failure) {
      let result = try span.bind { () throws(Failure) in try body(span) }
      span.end(file: file, function: function, line: line, column: column)
      return result
    } catch {
      span.end(
        "\(error)", failed: true, file: file, function: function, line: line, column: column)
      throw error
    }
  }

  /// Records when an asynchronous `body` begins and ends. `body` may wait, and go on on another
  /// thread. It runs in the caller's isolation, which `isolation` says; leave the default. All else
  /// is as in the form for closures that do not wait.
  ///
  /// - Throws: What `body` throws.
  @export(implementation)
  public func span<Result, Failure: Error>(
    _ message: @autoclosure () -> LogLiteral, metadata: @autoclosure () -> Metadata? = nil,
    level: Level = .info, in parent: Span? = nil, isolation: isolated (any Actor)? = #isolation,
    file: StaticString = #fileID, function: StaticString = #function, line: UInt32 = #line,
    column: UInt32 = #column, _ body: (Span) async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    let span = begin(
      message(), metadata: metadata(), level: level, in: parent, file: file, function: function,
      line: line,
      column: column)
    do throws(Failure) {
      let result = try await span.bind { () async throws(Failure) in try await body(span) }
      span.end(file: file, function: function, line: line, column: column)
      return result
    } catch {
      span.end(
        "\(error)", failed: true, file: file, function: function, line: line, column: column)
      throw error
    }
  }
}

extension RecordCursor {
  /// Adds the words that make a record the beginning of a span.
  ///
  /// - Parameter parent: The span that the new one is a part of.
  /// - Returns: The session, the span's number, and when the span began.
  @inlinable @inline(__always)
  mutating func appendBeginning(
    in parent: Logger.Span?
  ) -> (gate: UnsafeRawPointer?, number: UInt64, ticks: UInt64) {
    writer.pointee.last_span &+= SpanNumber.step
    let (gate, number) = (UnsafeRawPointer(writer.pointee.gate), writer.pointee.last_span)
    let ticks = mmlog_ticks()
    append(checked: number)
    append(checked: parent?.number(in: gate) ?? 0)
    return (gate, number, ticks)
  }
}

/// How spans are numbered, so that no two spans of a session have the same number, and no writer
/// has to ask for one. Each writer counts its own spans, and the lowest bits of a number say which
/// writer it is. All writers count from a number that comes from the session's id, so that two
/// sessions hardly ever have the same numbers, either.
@usableFromInline
enum SpanNumber {
  private static let depthBits: UInt64 = 2
  private static let writerBits: UInt64 = 22

  /// From one number of a writer to its next.
  @inlinable static var step: UInt64 { 1 << 22 }

  /// The number after which a writer's numbers begin.
  ///
  /// - Parameters:
  ///   - block: The number of its thread's block in the session, from 1 to the number of threads
  ///     that log at the same time. With more than a million threads, numbers would be given twice.
  ///   - depth: Which of the thread's writers it is.
  ///   - session: The session.
  static func origin(block: UInt64, depth: UInt32, of session: SessionID) -> UInt64 {
    let start = session.words.0 & (1 << 61 - 1) | 1 << 61
    return start + (block << depthBits | UInt64(depth)) & (1 << writerBits - 1)
  }
}
