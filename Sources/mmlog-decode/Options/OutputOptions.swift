import CommandLineTool
import MMLogReader

/// What is printed, and how.
enum OutputOptions {
  static let all = [Option.format]

  /// The sink that the command line asks for.
  static func sink(
    _ arguments: Arguments, _ zone: LogTimeZone, _ output: StandardOutput
  ) throws(UsageError) -> any ItemSink {
    FormattedOutput(formatter(arguments.required(.format), zone), to: output)
  }

  private static func formatter(_ name: String, _ zone: LogTimeZone) -> any LogFormatter {
    switch name {
    case "json": JSONFormatter(zone: zone)
    case "message": MessageFormatter()
    default: TextFormatter(zone: zone)
    }
  }
}

extension Option {
  fileprivate static let format = Option(
    "format", short: "f", oneOf: ["text", "json", "message"], default: "text",
    """
    What is printed of a record: a line with time, level, label, message, metadata and place; a JSON \
    object on a line; or the bytes of its message alone.
    """)
}
