import CMMLogWriter
public import MMLogFormat

extension Logger {
  /// Records a text in one of the program's own signal handlers.
  ///
  /// Unlike other log calls, it touches nothing of the thread that the signal interrupted, even if
  /// that thread is in the middle of a log call or has never logged. It has room even if the ring
  /// is full: half a segment at least, 64 KiB by default (``LogStore/Configuration/segmentSize``).
  /// A record takes some 200 bytes. The method takes no lock, allocates nothing, waits for nobody,
  /// and leaves `errno` as it was. When it returns true, the record survives the process. Records
  /// stand in the order of their time. Four handlers can write at the same moment. A handler that
  /// finds all four places taken tries again for some microseconds; then its record is lost, and
  /// counted as too deep.
  ///
  /// ```swift
  /// import Glibc
  /// import MMLog
  /// import Synchronization
  ///
  /// private let log = Logger(label: "service")
  /// private let isStopping = Atomic<Bool>(false)
  ///
  /// func stopWithARecord() {
  ///   _ = log  // both are made here, not in the handler
  ///   isStopping.store(false, ordering: .relaxed)
  ///   signal(SIGTERM) { number in
  ///     log.recordInSignalHandler(.notice, "stopping because of signal", number: Int64(number))
  ///     isStopping.store(true, ordering: .releasing)  // main stops, and closes the store
  ///   }
  /// }
  /// ```
  ///
  /// A handler that ends the process by `_exit(2)` leaves the session without an end: the session
  /// looks as if the process was killed, and counts as a crash.
  ///
  /// The store needs ``LogStore/Configuration/servesSignalHandlers``.
  ///
  /// The record has neither the fields of the logger nor those of a task.
  ///
  /// It works from the store's opening to its closing; in a fork's child, only after the child's
  /// first log call. The handler needs some 8 KiB of stack.
  ///
  /// - Parameters:
  ///   - level: The level. Below the label's, nothing is recorded.
  ///   - text: The message.
  ///   - number: A number that is shown behind the text, such as a signal or an address; nil: none.
  ///   - file: The source file; leave the default.
  ///   - function: The function; leave the default.
  ///   - line: The line; leave the default.
  /// - Returns: Whether the text is recorded. If it is not, although its level is on, it is counted
  ///   in ``LogStore/losses``, unless a rate limit of the label has suppressed it.
  @discardableResult
  public func recordInSignalHandler(
    _ level: Level, _ text: StaticString, number: Int64? = nil, file: StaticString = #fileID,
    function: StaticString = #function, line: UInt32 = #line
  ) -> Bool {
    guard isEnabled(level) else { return false }
    let format: StaticString = number == nil ? "%s" : "%s %lld"
    var statement = mmlog_statement(
      hash: 1, format: format.cString, file: file.cString, function: function.cString, line: line)
    var values = (
      mmlog_value(bytes: text.utf8Start, word: UInt64(text.utf8CodeUnitCount)),
      mmlog_value(bytes: nil, word: UInt64(bitPattern: number ?? 0))
    )
    return withUnsafeBytes(of: &values) { values in
      let values = values.bindMemory(to: mmlog_value.self)
      return recordInSignalHandler(
        level, &statement, UnsafeBufferPointer(rebasing: values.prefix(number == nil ? 1 : 2)))
    }
  }
}

extension StaticString {
  /// Its text, which ends with a zero byte.
  fileprivate var cString: UnsafePointer<CChar> {
    UnsafeRawPointer(utf8Start).assumingMemoryBound(to: CChar.self)
  }
}
