public import CMMLogCore
public import CMMLogWriter
public import MMLogFormat
import MMLogSystem

extension Logger {
  /// A logger for a statement that its rate limit lets through.
  public struct RateLimited: Sendable {
    /// The logger.
    public let logger: Logger
    /// How often the limit has suppressed the statement since it last let the statement through.
    public let suppressed: UInt64
  }

  /// Returns this logger the first time that this statement is reached, and then every `count`
  /// times; else nil.
  ///
  /// ```swift
  /// log.every(1000)?.debug("\(queue.count) orders wait")
  /// ```
  ///
  /// If it returns nil, nothing of the message is evaluated. All threads count together. Any thread
  /// and signal handler; no lock, no allocation. A process has room for some 4096 such statements,
  /// which keep their places; further ones are recorded each time. Limits of labels
  /// (``LogStore/setRateLimit(_:for:)``) have room of their own.
  ///
  /// - Parameters:
  ///   - count: Every how many times the statement is recorded. 1 and less mean each time.
  ///   - file: The source file; leave the default.
  ///   - line: The line; leave the default.
  ///   - column: The column; leave the default.
  public func every(
    _ count: Int, file: StaticString = #fileID, line: UInt32 = #line, column: UInt32 = #column
  ) -> Logger? {
    rateLimited(every: count, file: file, line: line, column: column)?.logger
  }

  /// Returns this logger if this statement was never let through, or not within the last
  /// `interval`; else nil. See ``every(_:file:line:column:)-(Int,_,_,_)``.
  ///
  /// ```swift
  /// log.every(.seconds(10))?.warning("the venue is slow: \(elapsed) ms")
  /// ```
  ///
  /// - Parameters:
  ///   - interval: How long. Measured by a clock that nobody can set, and that stands still while
  ///     the machine is suspended.
  ///   - file: The source file; leave the default.
  ///   - line: The line; leave the default.
  ///   - column: The column; leave the default.
  public func every(
    _ interval: Duration, file: StaticString = #fileID, line: UInt32 = #line,
    column: UInt32 = #column
  ) -> Logger? {
    rateLimited(every: interval, file: file, line: line, column: column)?.logger
  }

  /// Returns this logger the first time that this statement is reached in the process; else nil.
  /// See ``every(_:file:line:column:)-(Int,_,_,_)``.
  public func once(
    file: StaticString = #fileID, line: UInt32 = #line, column: UInt32 = #column
  ) -> Logger? {
    rateLimited(every: Int.max, file: file, line: line, column: column)?.logger
  }

  /// Does the same as ``every(_:file:line:column:)-(Int,_,_,_)``, and also says how often the
  /// statement was suppressed.
  public func rateLimited(
    every count: Int, file: StaticString = #fileID, line: UInt32 = #line, column: UInt32 = #column
  ) -> RateLimited? {
    let count = max(1, count)
    guard let limit = Self.limit(file, line, column) else {
      return RateLimited(logger: self, suppressed: 0)
    }
    let reached = mmlog_fetch_add_u64(&limit.pointee.state, 1)
    guard reached % UInt64(count) == 0 else { return nil }
    return RateLimited(logger: self, suppressed: reached == 0 ? 0 : UInt64(count - 1))
  }

  /// Does the same as ``every(_:file:line:column:)-(Duration,_,_,_)``, and also says how often the
  /// statement was suppressed: repeats become one record.
  ///
  /// ```swift
  /// if let limited = log.rateLimited(every: .seconds(10)) {
  ///   limited.logger.error("the disk is full; \(limited.suppressed) times suppressed since")
  /// }
  /// ```
  public func rateLimited(
    every interval: Duration, file: StaticString = #fileID, line: UInt32 = #line,
    column: UInt32 = #column
  ) -> RateLimited? {
    guard let limit = Self.limit(file, line, column) else {
      return RateLimited(logger: self, suppressed: 0)
    }
    let now = Clock.monotonic()
    var next = mmlog_load_acquire_u64(&limit.pointee.state)
    let then = now &+ UInt64(clamping: interval.nanoseconds)
    guard now >= next, mmlog_compare_exchange_u64(&limit.pointee.state, &next, then) else {
      _ = mmlog_fetch_add_u64(&limit.pointee.suppressed, 1)
      return nil
    }
    return RateLimited(logger: self, suppressed: mmlog_exchange_u64(&limit.pointee.suppressed, 0))
  }

  /// Records a message the first time that this statement is reached within an interval: repeats
  /// become one record.
  ///
  /// ```swift
  /// log.rateLimited(.error, every: .seconds(10), "the venue does not answer: \(error)")
  /// ```
  ///
  /// The next record has the last field `suppressed`: how often the statement was suppressed
  /// meanwhile. No record has the number of those suppressed after the last record. The number is
  /// also missing if the record that has it is lost, or suppressed by its label's limit
  /// (``LogStore/setRateLimit(_:for:)``). All threads and labels count together. For threads,
  /// signal handlers and how many such statements there may be, see
  /// ``every(_:file:line:column:)-(Int,_,_,_)``.
  ///
  /// - Parameters:
  ///   - level: The level. If it is not recorded, nothing is counted.
  ///   - interval: How long. Measured by a clock that nobody can set, and that stands still while
  ///     the machine is suspended.
  ///   - message: A string literal; its interpolations are stored in binary. Evaluated only if the
  ///     message is recorded.
  ///   - metadata: Values by name that go with the message. Evaluated only if it is recorded.
  ///   - file: The source file; leave the default.
  ///   - function: The function; leave the default.
  ///   - line: The line; leave the default.
  ///   - column: The column; leave the default.
  @export(implementation)
  public func rateLimited(
    _ level: Level, every interval: Duration, _ message: @autoclosure () -> LogLiteral,
    metadata: @autoclosure () -> Metadata? = nil, file: StaticString = #fileID,
    function: StaticString = #function, line: UInt32 = #line, column: UInt32 = #column
  ) {
    guard isEnabled(level), isRecorded(StatementPlace(level, file, line)),
      let limited = rateLimited(every: interval, file: file, line: line, column: column)
    else { return }
    if limited.suppressed == 0 {
      return log(level, message, metadata, file, function, line, column)
    }
    let counted = {
      var counted = metadata() ?? Metadata()
      counted.append(.uint(limited.suppressed), for: "suppressed")
      return counted
    }
    log(level, message, counted, file, function, line, column)
  }

  /// Whether an enabled statement would be recorded: while single statements of a label are turned
  /// on, all statements of the label are enabled. Counts nothing.
  @inlinable @inline(__always)
  func isRecorded(_ place: StatementPlace) -> Bool {
    // While single statements are turned on, the label's level lets all pass.
    mmlog_load_acquire_u32(&shared.pointee.level) > 0 || passesSwitches(place)
  }

  /// As ``isRecorded(_:)``, where the label's level lets all pass.
  @usableFromInline @inline(never)
  func passesSwitches(_ place: StatementPlace) -> Bool {
    let label = shared
    return !mmlog_is_switched(label) || place.level >= level || place.isTurnedOn(of: label)
  }

  /// The rate limit of the statement; nil if there is no room for it.
  private static func limit(
    _ file: StaticString, _ line: UInt32, _ column: UInt32
  ) -> UnsafeMutablePointer<mmlog_rate_limit>? {
    let place = UInt64(line) << 32 | UInt64(column)
    var key = (UInt64(UInt(bitPattern: file.utf8Start)) ^ place) &* 0x9E37_79B9_7F4A_7C15
    key ^= key >> 32
    return mmlog_rate_limit_of(
      MMLOG_LIMITS_OF_STATEMENTS, (key ^ place &* 0xD6E8_FEB8_6659_FD93) | 1)
  }
}
