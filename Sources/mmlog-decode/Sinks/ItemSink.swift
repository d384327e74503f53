import MMLogReader

/// The destination of items that are read: an output in some format, a statistic, a page.
///
/// `Arguments.printingSink` or `Arguments.summarySink` makes each kind from the command line. A
/// sink is used by one thread.
protocol ItemSink {
  /// Takes the next item. The ``Decoder`` reports items on standard error; a sink may pass over
  /// everything except records.
  mutating func take(_ item: LogReader.Item) throws

  /// Takes consecutive records, as ``take(_:)-(LogReader.Item)`` would take each.
  mutating func take(_ records: LogReader.Records) throws

  /// Takes a file of which nothing could be read.
  mutating func take(unreadable error: LogError) throws

  /// Is told how much has been read, from 0 to 1, if it calls `progress`.
  mutating func note(progress: () -> Double)

  /// Separates two records that are not consecutive. The one before was wanted together with those
  /// around it (`--context`).
  mutating func separate() throws

  /// Writes what was taken so far. It is called before a report on standard error, and before a
  /// wait.
  mutating func flush() throws

  /// Ends the output, after the last item, even if reading was interrupted.
  mutating func finish() throws

  /// Waits until the output is safe from a power cut. The output has ended before.
  mutating func sync() throws

  /// Whether the output is a summary of all items, and is visible even if reading was interrupted.
  var isSummary: Bool { get }

  /// Whether nothing that was taken is in the output; known once it has ended.
  var isEmpty: Bool { get }

  /// False once nobody reads the output.
  var hasReader: Bool { get }
}

extension ItemSink {
  mutating func take(_ records: LogReader.Records) throws {
    try records.forEach { try take(.record($0)) }
  }
  mutating func take(unreadable error: LogError) throws {}
  mutating func note(progress: () -> Double) {}
  mutating func separate() throws {}
  mutating func flush() throws {}
  mutating func finish() throws {}
  var isSummary: Bool { false }
  var isEmpty: Bool { false }
  var hasReader: Bool { true }
}
