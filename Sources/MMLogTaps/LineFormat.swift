public import MMLogReader
import MMLogFormat
import MMLogSystem

/// How a record becomes a line.
public enum LineFormat: Sendable {
  /// For people, as ``/MMLogReader/TextFormatter`` writes it: control characters are escaped.
  case text(colors: Colors = .automatic)
  /// A JSON object, as ``/MMLogReader/JSONFormatter`` writes it.
  case json
  /// As a formatter of your own writes it; the closure makes the formatter.
  case custom(@Sendable () -> any LogFormatter)

  /// Whether text has colors.
  public enum Colors: Sendable {
    /// On a terminal, unless the environment has a `NO_COLOR` that is not empty, or `TERM=dumb`.
    case automatic
    /// Always.
    case always
    /// Never.
    case never
  }

  /// Returns the formatter for what is written to a descriptor; nil if that is no terminal.
  func makeFormatter(for descriptor: Int32?, zone: LogTimeZone) -> any LogFormatter {
    switch self {
    case .json: JSONFormatter(zone: zone)
    case .custom(let make): make()
    case .text(.always): TextFormatter(zone: zone, colors: true)
    case .text(.never): TextFormatter(zone: zone, colors: false)
    case .text(.automatic):
      TextFormatter(
        zone: zone,
        colors: descriptor.map { Terminal.has($0) && Terminal.mayHaveColors } ?? false)
    }
  }

  /// Returns a line with a notice about the lines.
  ///
  /// - Parameter sentence: The notice, without characters that JSON escapes.
  func notice(_ sentence: String) -> String {
    switch self {
    case .text, .custom: sentence + "\n"
    case .json: #"{"severity_text":"warning","severity_number":13,"body":"\#(sentence)"}"# + "\n"
    }
  }
}

/// Records as lines, some at a time.
struct LineWriter {
  /// How many bytes are written at a time; a single record may have more.
  private static let size = 64 << 10

  private var formatter: any LogFormatter

  init(_ formatter: any LogFormatter) { self.formatter = formatter }

  /// Returns the first of the records as text.
  ///
  /// - Parameter size: How many bytes are enough.
  /// - Returns: Their text, and their number.
  mutating func lines(
    of records: ArraySlice<LogReader.Record>, atMost size: Int = Self.size
  ) -> (bytes: [UInt8], count: Int) {
    var output = TextBuffer()
    var count = 0
    for record in records {
      formatter.append(record, to: &output)
      count += 1
      if output.count >= min(size, Self.size) { break }
    }
    formatter.pause(&output)
    return (output.withUnsafeBytes { Array($0) }, count)
  }
}
