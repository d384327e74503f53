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
  /// Its end says at which statement it has begun, so that readers know its name where they do not
  /// see its beginning. The end has the fields of its task, but not those of the logger that has
  /// begun it.
  ///
  /// - **Ended twice:** each end is recorded, with the time since the beginning. Readers take the
  ///   first one as the span's end, and show others as ends of a span that is over.
  /// - **Never ended:** nothing happens. Readers list it as open; of a process that died, as what
  ///   was in flight.
  /// - **Lost** at its beginning, as where the ring was full: the loss is counted, and its end is
  ///   recorded all the same.
  /// - **Not recorded** at its beginning, because the level was off or the store closed: its end is
  ///   not recorded either.
  /// - **Ended in another session** than it began in (after `fork()`, or when a lost ring was
  ///   replaced): its end is recorded with its duration, and without its number, which belongs to
  ///   the other session.
  @frozen
  public struct Span: @unchecked Sendable {
    // Sendable: the session is only compared.
    @usableFromInline package let label: UnsafeMutablePointer<mmlog_label>
    /// What the session's gate was, which no other session has.
    @usableFromInline package let session: UnsafeRawPointer?
    /// 0: it was not recorded.
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

    /// Not the one that it was begun with: a span is copied without counting references.
    @inlinable @inline(__always) var log: Logger { Logger(label) }

    /// Whether its end will be recorded: its level was on when it began, and the store open. Its
    /// beginning may be lost all the same, as others are where the ring is full, and is counted.
    @inlinable public var isRecorded: Bool { number != 0 }

    /// Its number as far as it means something in a session.
    @inlinable @inline(__always)
    func number(in gate: UnsafeRawPointer?) -> UInt64 { session == gate ? number : 0 }

    /// Records its end, with the time since its beginning. Costs as much as a log call, whatever
    /// the level is by now.
    ///
    /// - Parameters:
    ///   - message: What came of it. Evaluated only if the beginning was recorded.
    ///   - failed: Whether what it stands for failed. Readers show it.
    ///   - captures: Whether it has its flight records captured as one that failed does, if
    ///     ``LogStore/Configuration/spanCapture`` has spans decide about them.
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

    /// Adds what a record says that ends the span.
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

    /// Records its end with a message that was made elsewhere. See the form for literals.
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
  /// Records that something begins, and gives what its end is to be recorded by.
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
  ///   - message: What begins. Evaluated only if the level is recorded.
  ///   - metadata: Values by name that go with it.
  ///   - level: The level of its beginning and of its end.
  ///   - parent: What it is a part of, if that is known.
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

  /// Records that something begins, with a message that was made elsewhere. See the form for
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

  /// Records that a function is entered: begins a span whose message is the function's name.
  ///
  /// ```swift
  /// func match(_ order: Order) {
  ///   let span = log.enter()
  ///   defer { span.end() }
  ///   log.info("order \(order.id)")
  /// }
  /// ```
  ///
  /// The end in `defer` is recorded however the function is left; until then, after a crash too,
  /// readers list it as open. For an end that says with which error it was left:
  /// `log.span("\(#function)") { … }`. Costs as much as a log call. Any thread and signal handler.
  ///
  /// - Parameters:
  ///   - level: The level of entering and leaving. Default: `debug`.
  ///   - parent: What the function is a part of, if that is known.
  ///   - file: The source file; leave the default.
  ///   - function: The function; leave the default.
  ///   - line: The line; leave the default.
  ///   - column: The column; leave the default.
  /// - Returns: What leaving the function is to be recorded by.
  @export(implementation) @inline(__always)
  public func enter(
    level: Level = .debug, in parent: Span? = nil, file: StaticString = #fileID,
    function: StaticString = #function, line: UInt32 = #line, column: UInt32 = #column
  ) -> Span {
    begin(
      "\(function)", level: level, in: parent, file: file, function: function, line: line,
      column: column)
  }

  /// Records when `body` begins and ends. If it throws, the end says so: it has
  /// failed, and the error is its message.
  /// What is logged in `body`, by any logger, belongs to the span, and spans that begin there are
  /// its parts: as in ``withLogFields(_:span:trace:_:)``, with what that says of costs.
  ///
  /// ```swift
  /// let trades = try log.span("order \(order.id)") { span in try book.match(order, in: span) }
  /// ```
  ///
  /// - Parameters:
  ///   - message: What begins. See
  ///     ``begin(_:metadata:level:in:file:function:line:column:)-(()->LogLiteral,_,_,_,_,_,_,_)``.
  ///   - metadata: Values by name that go with its beginning.
  ///   - level: The level of its beginning and of its end.
  ///   - parent: What it is a part of, if that is known.
  ///   - file: The source file; leave the default.
  ///   - function: The function; leave the default.
  ///   - line: The line; leave the default.
  ///   - column: The column; leave the default.
  ///   - body: What is done. Gets the span, for others to be parts of it.
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

  /// Records when `body` begins and ends, which may wait in between and go on on another thread. It
  /// runs where the caller does, which `isolation` says; leave its default. All else is as in the
  /// form for closures that do not wait.
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
  /// Adds what makes a record the beginning of a span.
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

/// How spans are numbered, so that no two of a session have the same number, and nobody has to ask
/// anybody for one: each writer counts its own, and the lowest bits say which writer it is. All
/// count from a number that the session's id says, so that those of two sessions are hardly ever
/// the same, either.
@usableFromInline
enum SpanNumber {
  private static let depthBits: UInt64 = 2
  private static let writerBits: UInt64 = 22

  /// From one number of a writer to its next.
  @inlinable static var step: UInt64 { 1 << 22 }

  /// What a writer's numbers begin behind.
  ///
  /// - Parameters:
  ///   - block: The number of what its thread has for the session, from 1: as many threads log at
  ///     the same time. With more than a million, numbers would be given twice.
  ///   - depth: Which of the thread's writers it is.
  ///   - session: The session.
  static func origin(block: UInt64, depth: UInt32, of session: SessionID) -> UInt64 {
    let start = session.words.0 & (1 << 61 - 1) | 1 << 61
    return start + (block << depthBits | UInt64(depth)) & (1 << writerBits - 1)
  }
}
