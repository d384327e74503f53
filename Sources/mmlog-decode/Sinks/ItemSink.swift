import MMLogReader

/// Where what was read goes: an output in some format, a statistic, a page.
///
/// Each kind is made from the command line by `Arguments.printingSink` or `Arguments.summarySink`.
/// Used by one thread.
protocol ItemSink {
  /// Takes the next item: a record, or what else there is to know in its place. What is reported on
  /// standard error, the ``Decoder`` reports; a sink may pass over everything but records.
  mutating func take(_ item: LogReader.Item) throws

  /// Takes records that follow one another, as ``take(_:)-(LogReader.Item)`` would take each.
  mutating func take(_ records: LogReader.Records) throws

  /// Takes a file of which nothing could be read.
  mutating func take(unreadable error: LogError) throws

  /// Hears how much has been read, from 0 to 1, when it asks.
  mutating func note(progress: () -> Double)

  /// Between two records that do not follow one another although the one before was asked for
  /// together with those around it (`--context`).
  mutating func separate() throws

  /// Writes out what was taken so far: before something is said on standard error, and before a
  /// wait for more.
  mutating func flush() throws

  /// Ends the output, after the last item; also where the reading was interrupted.
  mutating func finish() throws

  /// Waits until the output, which has ended, is safe from a power cut.
  mutating func sync() throws

  /// Whether somebody sees, also where the reading was interrupted, what all items together come
  /// to.
  var isSummary: Bool { get }

  /// Whether nothing of what was taken is in the output after all; known once it has ended.
  var isEmpty: Bool { get }

  /// False once nobody reads what is printed.
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
