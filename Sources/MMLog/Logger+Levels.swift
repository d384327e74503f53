public import MMLogFormat

// One method for each level, and the same for messages that are kept on the heap.

extension Logger {
  /// Records a message at a level that is known at run time.
  ///
  /// - Parameters:
  ///   - level: The level.
  ///   - message: A string literal; its interpolations are stored in binary. Evaluated only if the
  ///     level is recorded.
  ///   - metadata: Values by name that go with it. Evaluated only if the level is recorded.
  ///   - file: The source file; leave the default.
  ///   - function: The function; leave the default.
  ///   - line: The line; leave the default.
  ///   - column: The column; leave the default.
  @export(implementation) @inline(__always)
  public func log(
    level: Level, _ message: @autoclosure () -> LogLiteral,
    metadata: @autoclosure () -> Metadata? = nil, file: StaticString = #fileID,
    function: StaticString = #function, line: UInt32 = #line, column: UInt32 = #column
  ) {
    log(level, message, metadata, file, function, line, column)
  }

  /// Records a message that was made elsewhere, at a level that is known at run time. See the form
  /// for literals.
  @_disfavoredOverload
  public func log(
    level: Level, _ message: @autoclosure () -> LogMessage,
    metadata: @autoclosure () -> Metadata? = nil, file: StaticString = #fileID,
    function: StaticString = #function, line: UInt32 = #line, column: UInt32 = #column
  ) {
    log(level, { LogLiteral(message()) }, metadata, file, function, line, column)
  }

  /// Records a message at the level `trace`. See
  /// ``log(level:_:metadata:file:function:line:column:)-(_,()->LogLiteral,_,_,_,_,_)``.
  @export(implementation) @inline(__always)
  public func trace(
    _ message: @autoclosure () -> LogLiteral, metadata: @autoclosure () -> Metadata? = nil,
    file: StaticString = #fileID, function: StaticString = #function, line: UInt32 = #line,
    column: UInt32 = #column
  ) {
    log(.trace, message, metadata, file, function, line, column)
  }

  /// Records a message that was made elsewhere at the level `trace`.
  @_disfavoredOverload @export(implementation)
  public func trace(
    _ message: @autoclosure () -> LogMessage, metadata: @autoclosure () -> Metadata? = nil,
    file: StaticString = #fileID, function: StaticString = #function, line: UInt32 = #line,
    column: UInt32 = #column
  ) {
    log(
      level: .trace, message(), metadata: metadata(), file: file, function: function, line: line,
      column: column)
  }

  /// Records a message at the level `debug`. See
  /// ``log(level:_:metadata:file:function:line:column:)-(_,()->LogLiteral,_,_,_,_,_)``.
  @export(implementation) @inline(__always)
  public func debug(
    _ message: @autoclosure () -> LogLiteral, metadata: @autoclosure () -> Metadata? = nil,
    file: StaticString = #fileID, function: StaticString = #function, line: UInt32 = #line,
    column: UInt32 = #column
  ) {
    log(.debug, message, metadata, file, function, line, column)
  }

  /// Records a message that was made elsewhere at the level `debug`.
  @_disfavoredOverload @export(implementation)
  public func debug(
    _ message: @autoclosure () -> LogMessage, metadata: @autoclosure () -> Metadata? = nil,
    file: StaticString = #fileID, function: StaticString = #function, line: UInt32 = #line,
    column: UInt32 = #column
  ) {
    log(
      level: .debug, message(), metadata: metadata(), file: file, function: function, line: line,
      column: column)
  }

  /// Records a message at the level `info`. See
  /// ``log(level:_:metadata:file:function:line:column:)-(_,()->LogLiteral,_,_,_,_,_)``.
  @export(implementation) @inline(__always)
  public func info(
    _ message: @autoclosure () -> LogLiteral, metadata: @autoclosure () -> Metadata? = nil,
    file: StaticString = #fileID, function: StaticString = #function, line: UInt32 = #line,
    column: UInt32 = #column
  ) {
    log(.info, message, metadata, file, function, line, column)
  }

  /// Records a message that was made elsewhere at the level `info`.
  @_disfavoredOverload @export(implementation)
  public func info(
    _ message: @autoclosure () -> LogMessage, metadata: @autoclosure () -> Metadata? = nil,
    file: StaticString = #fileID, function: StaticString = #function, line: UInt32 = #line,
    column: UInt32 = #column
  ) {
    log(
      level: .info, message(), metadata: metadata(), file: file, function: function, line: line,
      column: column)
  }

  /// Records a message at the level `notice`. See
  /// ``log(level:_:metadata:file:function:line:column:)-(_,()->LogLiteral,_,_,_,_,_)``.
  @export(implementation) @inline(__always)
  public func notice(
    _ message: @autoclosure () -> LogLiteral, metadata: @autoclosure () -> Metadata? = nil,
    file: StaticString = #fileID, function: StaticString = #function, line: UInt32 = #line,
    column: UInt32 = #column
  ) {
    log(.notice, message, metadata, file, function, line, column)
  }

  /// Records a message that was made elsewhere at the level `notice`.
  @_disfavoredOverload @export(implementation)
  public func notice(
    _ message: @autoclosure () -> LogMessage, metadata: @autoclosure () -> Metadata? = nil,
    file: StaticString = #fileID, function: StaticString = #function, line: UInt32 = #line,
    column: UInt32 = #column
  ) {
    log(
      level: .notice, message(), metadata: metadata(), file: file, function: function, line: line,
      column: column)
  }

  /// Records a message at the level `warning`. See
  /// ``log(level:_:metadata:file:function:line:column:)-(_,()->LogLiteral,_,_,_,_,_)``.
  @export(implementation) @inline(__always)
  public func warning(
    _ message: @autoclosure () -> LogLiteral, metadata: @autoclosure () -> Metadata? = nil,
    file: StaticString = #fileID, function: StaticString = #function, line: UInt32 = #line,
    column: UInt32 = #column
  ) {
    log(.warning, message, metadata, file, function, line, column)
  }

  /// Records a message that was made elsewhere at the level `warning`.
  @_disfavoredOverload @export(implementation)
  public func warning(
    _ message: @autoclosure () -> LogMessage, metadata: @autoclosure () -> Metadata? = nil,
    file: StaticString = #fileID, function: StaticString = #function, line: UInt32 = #line,
    column: UInt32 = #column
  ) {
    log(
      level: .warning, message(), metadata: metadata(), file: file, function: function, line: line,
      column: column)
  }

  /// What other libraries call `warning`.
  @available(*, unavailable, renamed: "warning(_:metadata:)")
  public func warn(
    _ message: @autoclosure () -> LogLiteral, metadata: @autoclosure () -> Metadata? = nil
  ) {
    warning(message(), metadata: metadata())
  }

  /// Records a message at the level `error`. See
  /// ``log(level:_:metadata:file:function:line:column:)-(_,()->LogLiteral,_,_,_,_,_)``.
  @export(implementation) @inline(__always)
  public func error(
    _ message: @autoclosure () -> LogLiteral, metadata: @autoclosure () -> Metadata? = nil,
    file: StaticString = #fileID, function: StaticString = #function, line: UInt32 = #line,
    column: UInt32 = #column
  ) {
    log(.error, message, metadata, file, function, line, column)
  }

  /// Records a message that was made elsewhere at the level `error`.
  @_disfavoredOverload @export(implementation)
  public func error(
    _ message: @autoclosure () -> LogMessage, metadata: @autoclosure () -> Metadata? = nil,
    file: StaticString = #fileID, function: StaticString = #function, line: UInt32 = #line,
    column: UInt32 = #column
  ) {
    log(
      level: .error, message(), metadata: metadata(), file: file, function: function, line: line,
      column: column)
  }

  /// Records a message at the level `critical`. See
  /// ``log(level:_:metadata:file:function:line:column:)-(_,()->LogLiteral,_,_,_,_,_)``.
  @export(implementation) @inline(__always)
  public func critical(
    _ message: @autoclosure () -> LogLiteral, metadata: @autoclosure () -> Metadata? = nil,
    file: StaticString = #fileID, function: StaticString = #function, line: UInt32 = #line,
    column: UInt32 = #column
  ) {
    log(.critical, message, metadata, file, function, line, column)
  }

  /// Records a message that was made elsewhere at the level `critical`.
  @_disfavoredOverload @export(implementation)
  public func critical(
    _ message: @autoclosure () -> LogMessage, metadata: @autoclosure () -> Metadata? = nil,
    file: StaticString = #fileID, function: StaticString = #function, line: UInt32 = #line,
    column: UInt32 = #column
  ) {
    log(
      level: .critical, message(), metadata: metadata(), file: file, function: function, line: line,
      column: column)
  }
}
