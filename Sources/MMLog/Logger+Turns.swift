import CMMLogCore
import CMMLogWriter
import MMLogSystem

extension Logger {
  /// A statement's turn to be recorded.
  public struct Turn: Sendable {
    /// Records.
    public let log: Logger
    /// How often the statement was reached without having its turn, since it had one.
    public let skipped: UInt64
  }

  /// This logger, the first time that this statement is reached and then every so many times; else
  /// nil.
  ///
  /// ```swift
  /// log.every(1000)?.debug("\(queue.count) orders wait")
  /// ```
  ///
  /// Where it is nil, nothing of the message is evaluated. All threads count together. Any thread
  /// and signal handler; no lock, no allocation. A process has room for 4096 such statements; more
  /// have their turn each time.
  ///
  /// - Parameters:
  ///   - count: 1 and less mean each time.
  ///   - file: The source file; leave the default.
  ///   - line: The line; leave the default.
  ///   - column: The column; leave the default.
  public func every(
    _ count: Int, file: StaticString = #fileID, line: UInt32 = #line, column: UInt32 = #column
  ) -> Logger? {
    turn(every: count, file: file, line: line, column: column)?.log
  }

  /// This logger, if the last turn of this statement is so long ago, or it never had one; else nil.
  /// See ``every(_:file:line:column:)-(Int,_,_,_)``.
  ///
  /// ```swift
  /// log.every(.seconds(10))?.warning("the venue is slow: \(elapsed) ms")
  /// ```
  ///
  /// - Parameters:
  ///   - interval: By a clock that is never set, and stands still while the machine is suspended.
  ///   - file: The source file; leave the default.
  ///   - line: The line; leave the default.
  ///   - column: The column; leave the default.
  public func every(
    _ interval: Duration, file: StaticString = #fileID, line: UInt32 = #line,
    column: UInt32 = #column
  ) -> Logger? {
    turn(every: interval, file: file, line: line, column: column)?.log
  }

  /// This logger, the first time that this statement is reached in the process; else nil. See
  /// ``every(_:file:line:column:)-(Int,_,_,_)``.
  public func once(
    file: StaticString = #fileID, line: UInt32 = #line, column: UInt32 = #column
  ) -> Logger? {
    turn(every: Int.max, file: file, line: line, column: column)?.log
  }

  /// The same as ``every(_:file:line:column:)-(Int,_,_,_)``, with how often the statement was
  /// skipped.
  public func turn(
    every count: Int, file: StaticString = #fileID, line: UInt32 = #line, column: UInt32 = #column
  ) -> Turn? {
    let count = max(1, count)
    guard let turn = Self.place(file, line, column) else { return Turn(log: self, skipped: 0) }
    let reached = mmlog_fetch_add_u64(&turn.pointee.state, 1)
    guard reached % UInt64(count) == 0 else { return nil }
    return Turn(log: self, skipped: reached == 0 ? 0 : UInt64(count - 1))
  }

  /// The same as ``every(_:file:line:column:)-(Duration,_,_,_)``, with how often the statement was
  /// skipped: repeats become one record.
  ///
  /// ```swift
  /// if let turn = log.turn(every: .seconds(10)) {
  ///   turn.log.error("the disk is full; \(turn.skipped) times more since this was said last")
  /// }
  /// ```
  public func turn(
    every interval: Duration, file: StaticString = #fileID, line: UInt32 = #line,
    column: UInt32 = #column
  ) -> Turn? {
    guard let turn = Self.place(file, line, column) else { return Turn(log: self, skipped: 0) }
    let now = Clock.monotonic()
    var next = mmlog_load_acquire_u64(&turn.pointee.state)
    let then = now &+ UInt64(clamping: interval.nanoseconds)
    guard now >= next, mmlog_compare_exchange_u64(&turn.pointee.state, &next, then) else {
      _ = mmlog_fetch_add_u64(&turn.pointee.skipped, 1)
      return nil
    }
    return Turn(log: self, skipped: mmlog_exchange_u64(&turn.pointee.skipped, 0))
  }

  /// Records a message, but within an interval only the first time that this statement is reached:
  /// repeats become one record.
  ///
  /// ```swift
  /// log.collapse(.error, within: .seconds(10), "the venue does not answer: \(error)")
  /// ```
  ///
  /// The next one that is recorded has as its last field, `repeats`, how often the statement was
  /// reached meanwhile; of what comes after the last, nobody knows. All threads and labels count
  /// together. For threads, signal handlers and how many such statements there may be, see
  /// ``every(_:file:line:column:)-(Int,_,_,_)``.
  ///
  /// - Parameters:
  ///   - level: The level. Where it is not recorded, nothing is counted.
  ///   - interval: By a clock that is never set, and stands still while the machine is suspended.
  ///   - message: A string literal; its interpolations are stored in binary. Evaluated only if it
  ///     is recorded.
  ///   - metadata: Values by name that go with it. Evaluated only if it is recorded.
  ///   - file: The source file; leave the default.
  ///   - function: The function; leave the default.
  ///   - line: The line; leave the default.
  ///   - column: The column; leave the default.
  @inlinable
  public func collapse(
    _ level: Level, within interval: Duration, _ message: @autoclosure () -> LogLiteral,
    _ metadata: @autoclosure () -> Metadata? = nil, file: StaticString = #fileID,
    function: StaticString = #function, line: UInt32 = #line, column: UInt32 = #column
  ) {
    guard isEnabled(level),
      let turn = turn(every: interval, file: file, line: line, column: column)
    else { return }
    if turn.skipped == 0 { return log(level, message, metadata, file, function, line, column) }
    let counted = {
      var counted = metadata() ?? Metadata()
      counted.append(.uint(turn.skipped), for: "repeats")
      return counted
    }
    log(level, message, counted, file, function, line, column)
  }

  /// Where the statement's turns are counted; nil if there is no room.
  private static func place(
    _ file: StaticString, _ line: UInt32, _ column: UInt32
  ) -> UnsafeMutablePointer<mmlog_turn>? {
    let place = UInt64(line) << 32 | UInt64(column)
    var key = (UInt64(UInt(bitPattern: file.utf8Start)) ^ place) &* 0x9E37_79B9_7F4A_7C15
    key ^= key >> 32
    return mmlog_turn_of((key ^ place &* 0xD6E8_FEB8_6659_FD93) | 1)
  }
}
