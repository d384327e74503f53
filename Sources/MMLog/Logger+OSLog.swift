public import MMLogFormat

// os.Logger's names for what has other names here. A source file that was written for os.Logger
// needs another import, and nothing else.

extension Logger {
  /// A logger of the default store, with the label `subsystem.category`. See ``init(label:)``.
  ///
  /// - Parameters:
  ///   - subsystem: The service, or a part of it, as in `com.example.orders`.
  ///   - category: The part of the subsystem that logs.
  public init(subsystem: String, category: String) { self.init(label: "\(subsystem).\(category)") }

  /// A logger of the default store without a label.
  public init() { self.init(label: "") }

  /// Records a message at the level `notice`, os.Logger's default. See
  /// ``log(level:_:metadata:file:function:line:column:)-(_,()->LogLiteral,_,_,_,_,_)``.
  @export(implementation) @inline(__always)
  public func log(
    _ message: @autoclosure () -> LogLiteral, metadata: @autoclosure () -> Metadata? = nil,
    file: StaticString = #fileID, function: StaticString = #function, line: UInt32 = #line,
    column: UInt32 = #column
  ) {
    log(.notice, message, metadata, file, function, line, column)
  }

  /// Records a message at the level `critical`. See
  /// ``log(level:_:metadata:file:function:line:column:)-(_,()->LogLiteral,_,_,_,_,_)``.
  @export(implementation) @inline(__always)
  public func fault(
    _ message: @autoclosure () -> LogLiteral, metadata: @autoclosure () -> Metadata? = nil,
    file: StaticString = #fileID, function: StaticString = #function, line: UInt32 = #line,
    column: UInt32 = #column
  ) {
    log(.critical, message, metadata, file, function, line, column)
  }

  /// Returns whether a log call of this level may be recorded; see ``isEnabled(_:)``.
  @inlinable @inline(__always)
  public func isEnabled(type level: Level) -> Bool { isEnabled(level) }
}

/// os.Logger's name for a level.
public typealias OSLogType = Logger.Level

/// os.Logger's name for a value's privacy.
public typealias OSLogPrivacy = Logger.Privacy

extension Level {
  /// os.Logger's name for `notice`.
  @inlinable public static var `default`: Level { .notice }
  /// os.Logger's name for `critical`.
  @inlinable public static var fault: Level { .critical }
}
