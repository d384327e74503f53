import CMMLogWriter
public import MMLogFormat

extension Logger {
  /// Records a message whole or not at all, and returns whether it was kept. For programs that must
  /// know, such as a recorder of sensor data.
  ///
  /// ```swift
  /// func keep(_ sample: [UInt8]) -> Bool { log.append(level: .info, "\(sample, name: "sample")") }
  /// ```
  ///
  /// A **batch** is one record with several values. Its message and its metadata are kept together
  /// or not at all, whenever the process dies, however many segments of the ring they take:
  ///
  /// ```swift
  /// let samples: [[UInt8]] = [[1, 2], [3, 4]]
  /// let isKept = log.append(
  ///   level: .info, "samples", metadata: ["samples": .array(samples.map { .bytes($0) })])
  /// ```
  ///
  /// True means the same as the return of any log call: the record is in the ring, and survives the
  /// process. It survives a power cut after `LogStore.flush(_:within:)` with
  /// ``LogStore/Durability/disk``; if power fails before, the record is there whole or not at all.
  /// True does not mean that nothing can remove the record: limits delete archives, flight records
  /// are evicted, and with ``LogStore/FullRingPolicy/overwriteOldest`` newer records may take its
  /// place, which ``LogStore/losses`` counts.
  ///
  /// Takes the outlined path of a log call, and so takes some ten times as long. If the ring is
  /// full, waits as long as ``LogStore/FullRingPolicy`` says. Any thread. No system call, unless it
  /// waits or the record is larger than a segment.
  ///
  /// - Parameters:
  ///   - level: The level.
  ///   - message: A string literal; its interpolations are stored in binary. Evaluated only if the
  ///     level is recorded. A value of bytes is stored as it is.
  ///   - metadata: Values by name that go with the message. Evaluated only if the level is
  ///     recorded.
  ///   - file: The source file; leave the default.
  ///   - function: The function; leave the default.
  ///   - line: The line; leave the default.
  ///   - column: The column; leave the default.
  /// - Returns: Whether the record was kept. False if the level is off; if a rate limit of the
  ///   label (``LogStore/setRateLimit(_:for:)``) has suppressed the record, which is no loss; or if
  ///   the record is counted in ``LogStore/losses``, because the ring is full, the store is closed,
  ///   a value is longer than 16 MiB or all values together are longer than 17 MiB, the message has
  ///   more than 1024 parts (texts and values), or there is no memory for the record.
  /// - Complexity: O(bytes of the record).
  public func append(
    level: Level, _ message: @autoclosure () -> LogLiteral,
    metadata: @autoclosure () -> Metadata? = nil, file: StaticString = #fileID,
    function: StaticString = #function, line: UInt32 = #line, column: UInt32 = #column
  ) -> Bool {
    guard mayRecord(level), acquireWriter() || enter(at: StatementPlace(level, file, line)) else {
      return false
    }
    var record = LogCall.record(of: message)
    if let metadata = metadata() { record.cursor.append(metadata) }
    defer { withExtendedLifetime(context) {} }
    return record.commitWhole(label, level, file, function, line, column)
  }

  /// Records a message that was made elsewhere, and returns whether it was kept. See the form for
  /// literals.
  @_disfavoredOverload
  public func append(
    level: Level, _ message: @autoclosure () -> LogMessage,
    metadata: @autoclosure () -> Metadata? = nil, file: StaticString = #fileID,
    function: StaticString = #function, line: UInt32 = #line, column: UInt32 = #column
  ) -> Bool {
    append(
      level: level, LogLiteral(message()), metadata: metadata(), file: file, function: function,
      line: line, column: column)
  }
}

extension LiteralRecord {
  /// Completes a record on the outlined path, which knows what becomes of the record. A record that
  /// was cut is lost.
  fileprivate mutating func commitWhole(
    _ label: UnsafeMutablePointer<mmlog_label>, _ level: Level, _ file: StaticString,
    _ function: StaticString, _ line: UInt32, _ column: UInt32
  ) -> Bool {
    mix(file, line, column)
    defer { parts.further.free() }
    if cursor.writer.has(.cut) || WriterSpace.hasCutContext(cursor.writer) {
      WriterSpace.lose(cursor.writer, .tooLarge)
    }
    let site = NewCallSite(
      hash: parts.hash.value, parts: parts, file, function, line: line, column: column)
    let tail = cursor.identity(label, level, [])
    return LogCall.commit(
      cursor.writer, cursor.next, cursor.checksum, tail, site
    ).isKept
  }
}
