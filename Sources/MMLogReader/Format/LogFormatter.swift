/// Turns records into bytes for people or programs.
///
/// A formatter may remember what it made last, so that the next is made faster: use one for each
/// output, from one thread at a time.
public protocol LogFormatter {
  /// Appends a record as it stands in the output, its end included.
  ///
  /// - Complexity: O(bytes of the record).
  mutating func append(_ record: LogRecord, to output: inout [UInt8])
}

/// The zone that times are shown in.
public enum LogTimeZone: Sendable {
  /// Coordinated universal time.
  case utc
  /// The zone of the process: the variable `TZ`, else that of the machine.
  case local
}
