public import MMLog

/// A library that forwards messages to mmlog, as the guide "Functions that forward messages" has
/// it.
public struct AuditLog: Sendable {
  @usableFromInline let log: Logger

  /// Forwards to `log`.
  public init(_ log: Logger) { self.log = log }

  /// Compiled into its caller.
  @inlinable @inline(__always)
  public func record(
    _ message: @autoclosure () -> LogLiteral, by user: String, file: StaticString = #fileID,
    function: StaticString = #function, line: UInt32 = #line, column: UInt32 = #column
  ) {
    log.notice(
      message(), metadata: ["user": .string(user)], file: file, function: function, line: line,
      column: column)
  }

  /// Called through the library, with the message as a closure that it does not know.
  public func recordAndRepeat(
    _ message: @autoclosure () -> LogLiteral, file: StaticString = #fileID,
    function: StaticString = #function, line: UInt32 = #line, column: UInt32 = #column
  ) {
    log.info("before", file: file, line: line, column: column)
    log.notice(message(), file: file, function: function, line: line, column: column)
    log.warning(message(), file: file, function: function, line: line, column: column)
  }

  /// Takes the literal evaluated.
  public func recordValue(_ message: LogLiteral) {
    log.info("before")
    log.notice(message)
  }
}
