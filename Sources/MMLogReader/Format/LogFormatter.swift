/// Turns the records of a ``LogReader`` into bytes for people or programs.
///
/// A formatter may remember what it made last, to be faster with the next record. Use one formatter
/// for each output, from one thread at a time.
public protocol LogFormatter {
  /// Appends what stands before all records.
  mutating func begin(_ output: inout TextBuffer)

  /// Appends a record as it stands in the output, including its end.
  ///
  /// - Complexity: O(bytes of the record).
  mutating func append(_ record: LogReader.Record, to output: inout TextBuffer)

  /// Appends one record after the other.
  mutating func append(_ records: LogReader.Records, to output: inout TextBuffer)

  /// Completes what was begun, so that everything appended so far can be read. Call it before a
  /// wait.
  mutating func pause(_ output: inout TextBuffer)

  /// Appends what stands after all records.
  mutating func end(_ output: inout TextBuffer)
}

extension LogFormatter {
  /// Appends nothing.
  public mutating func begin(_ output: inout TextBuffer) {}
  /// Appends one record after the other.
  public mutating func append(_ records: LogReader.Records, to output: inout TextBuffer) {
    records.forEach { append($0, to: &output) }
  }
  /// Appends nothing: each record is complete by itself.
  public mutating func pause(_ output: inout TextBuffer) {}
  /// Completes what was begun, and appends nothing else.
  public mutating func end(_ output: inout TextBuffer) { pause(&output) }
}

/// The zone that times are shown in.
public enum LogTimeZone: Sendable {
  /// Coordinated universal time.
  case utc
  /// The zone of the process: the one in the variable `TZ`, or else that of the machine.
  case local
}
