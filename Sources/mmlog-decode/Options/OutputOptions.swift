import CommandLineTool
import Glibc
import LogCommands
import MMLogFormat
import MMLogReader
import MMLogSystem

/// The options for how records are printed.
let formatOptions: [Option] = [.format, .json, .fields, .csvSafe, .template, .long, .color]

extension Arguments {
  /// The output of a command: a file, or standard output.
  func target(_ query: Query, _ output: StandardOutput) throws -> any OutputTarget {
    guard isWritingToFile, let path = value(of: .output) else { return output }
    return try OutputFile(path, besides: query.places)
  }

  /// Whether `--output` names a file.
  var isWritingToFile: Bool { value(of: .output).map { $0 != "-" } ?? false }

  /// The width of the terminal that is printed to; nil if the output is no terminal.
  var columns: Int? {
    Terminal.has(STDOUT_FILENO) && !isWritingToFile ? terminalSize().columns : nil
  }

  /// A sink that prints a summary of all records.
  func summarySink<Summary>(
    _ query: Query, _ output: StandardOutput, _ summary: Summary,
    add: @escaping (inout Summary, LogReader.Item) -> Void,
    addUnreadable: @escaping (inout Summary, LogError) -> Void = { _, _ in },
    print: @escaping (inout Summary, inout TextBuffer) -> Void,
    isNothing: @escaping (Summary) -> Bool = { _ in false }
  ) throws -> any ItemSink {
    let sink = SummaryOutput(
      summary, to: try target(query, output), add: add, addUnreadable: addUnreadable, print: print,
      isNothing: isNothing)
    return showingProgress(sink, query.zone)
  }

  /// On a terminal, shows the progress of work that takes long.
  func showingProgress(_ sink: any ItemSink, _ zone: LogTimeZone) -> any ItemSink {
    Terminal.has(STDERR_FILENO) && !isSet(.quiet) ? ProgressSink(sink, zone: zone) : sink
  }
}

/// The size of the terminal, or the usual size.
func terminalSize(of descriptor: CInt = STDOUT_FILENO) -> (rows: Int, columns: Int) {
  var size = winsize()
  guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
    return (44, 80)
  }
  return (Int(size.ws_row), Int(size.ws_col))
}

extension Arguments {
  /// Whether text has colors.
  var hasColors: Bool {
    switch required(.color) {
    case "always": true
    case "never": false
    default: Terminal.has(STDOUT_FILENO) && !isWritingToFile && Terminal.mayHaveColors
    }
  }

  fileprivate func checkFormat() throws(UsageError) {
    let format = value(of: .format)
    if isSet(.json), isSet(.format), let format, format != "json" {
      throw UsageError("--json and --format \(format) contradict each other; give one of them")
    }
    if isSet(.template), isSet(.json) || format != "text" {
      throw UsageError("--template makes lines of text; leave --format away")
    }
    if isSet(.fields) {
      if isSet(.template) {
        throw UsageError("--template says itself what is printed; leave --fields away")
      }
      if let format, ["otlp", "chrome", "message"].contains(format) {
        throw UsageError("--fields goes with text, json, logfmt, csv and tsv, not with \(format)")
      }
    }
    if isSet(.csvSafe), format != "csv" && format != "tsv" {
      throw UsageError("--csv-safe is about the cells of tables; add --format csv or --format tsv")
    }
  }
}

/// How records are printed.
struct OutputFormat: Sendable {
  let name: String
  let colors: Bool
  private let zone: LogTimeZone
  private let template: TextTemplate?
  /// The fields that are printed of each record; nil: all.
  private let fields: [String]?
  private let isOnTerminal: Bool
  private let isFormulaSafe: Bool
  private let isLong: Bool
  private let patterns: [TextPattern]

  init(_ arguments: Arguments, _ query: Query) throws(UsageError) {
    zone = query.zone
    patterns = query.filter.isTextInverted ? [] : query.filter.text
    isLong = arguments.isSet(.long)
    try arguments.checkFormat()
    name = arguments.isSet(.json) ? "json" : arguments.required(.format)
    isFormulaSafe = arguments.isSet(.csvSafe)
    fields = try arguments.value(of: .fields).map(Self.fields)
    isOnTerminal = Terminal.has(STDOUT_FILENO) && !arguments.isWritingToFile
    colors = arguments.hasColors
    do throws(TextTemplate.Invalid) {
      template = try arguments.value(of: .template).map { text throws(TextTemplate.Invalid) in
        try TextTemplate(text)
      }
    } catch {
      throw UsageError("\(error)")
    }
  }

  /// The names in a list, each once: JSON with the same key twice is not valid.
  private static func fields(_ list: String) throws(UsageError) -> [String] {
    var names: [String] = []
    for part in list.split(separator: ",") {
      let name = String(part.trimmed { $0 == " " })
      if name.isEmpty || names.contains(name) { continue }
      if ["attributes", "resource"].contains(name) {
        throw UsageError(
          "'\(name)' is an object of JSON, and no name for --fields; name the fields in it (one of "
            + "that name is 'fields.\(name)')")
      }
      names.append(name)
    }
    if names.isEmpty { throw UsageError("--fields has no name in it; give one, such as message") }
    return names
  }

  /// A formatter for one output.
  func makeFormatter() -> any LogFormatter {
    if let fields, let kind = Self.kinds[name] {
      return FieldsFormatter(fields, kind, zone: zone, isFormulaSafe: isFormulaSafe)
    }
    return makeWholeFormatter()
  }

  private static let kinds: [String: FieldsFormatter.Kind] = [
    "text": .text, "json": .json, "logfmt": .logfmt, "csv": .csv, "tsv": .tsv,
  ]

  private func makeWholeFormatter() -> any LogFormatter {
    switch name {
    case "json": JSONFormatter(zone: zone)
    case "logfmt": LogfmtFormatter(zone: zone)
    case "csv": TableFormatter(.csv, zone: zone, isFormulaSafe: isFormulaSafe)
    case "tsv": TableFormatter(.tsv, zone: zone, isFormulaSafe: isFormulaSafe)
    case "otlp": OTLPFormatter()
    case "chrome": ChromeFormatter(zone: zone)
    case "message": MessageFormatter(isEscaping: isOnTerminal)
    default:
      if let template {
        TemplateFormatter(template, zone: zone, colors: colors)
      } else if isOnTerminal, !isLong {
        TerminalFormatter(
          zone: zone, colors: colors, columns: terminalSize().columns, highlighting: patterns)
      } else {
        TextFormatter(zone: zone, colors: colors)
      }
    }
  }

  /// The suffix of the names of files in this format.
  var suffix: String {
    switch name {
    case "json": ".jsonl"
    case "otlp": ".otlp.jsonl"
    case "chrome": ".trace.json"
    case "logfmt", "csv", "tsv": ".\(name)"
    default: ".log"
    }
  }
}

extension Option {
  fileprivate static let format = Option(
    "format",
    oneOf: ["text", "json", "logfmt", "csv", "tsv", "otlp", "chrome", "message"], default: "text",
    """
    What is printed of a record: text, a line with time, level, label, message, metadata and \
    place; json, an object on a line; logfmt, a line of key=value; csv or tsv, a table; otlp, \
    OpenTelemetry's log records in lines of JSON; chrome, trace events for Perfetto; message, the \
    bytes of its message alone.
    """)
  static let json = Option("json", "Print JSON: the same as --format json.")
  fileprivate static let fields = Option(
    "fields", value: "NAMES",
    """
    Print only these values of each record, in this order, such as time,level,message,user: names \
    of --template, of JSON, or of fields. In text, tabs separate the values.
    """)
  fileprivate static let csvSafe = Option(
    "csv-safe",
    """
    With csv and tsv: put ' before each text that a spreadsheet would treat as a formula (it \
    begins with =, +, - or @). Without this option, do not open a table in a spreadsheet if other \
    people can log texts.
    """)
  fileprivate static let template = Option(
    "template", value: "TEMPLATE",
    """
    Print lines such as '{time} {level} {message}'. Names: time, date, clock, unix, level, LEVEL, \
    label, message, place, file, line, function, fields, fields.NAME, thread, thread_name, \
    thread_id, thread_ordinal, service, process, pid, host, session, flight, id, span, trace, \
    span_event, span_name, span_failed, parent_span, duration, duration_ns, start_time_unix_nano, \
    severity_number, body_base64, trace_flags, cut, unterminated. {level:8} puts spaces before it, \
    {level:-8} behind it; \\n, \\t, {{ \
    and }} are line end, tab and braces.
    """)
  fileprivate static let long = Option(
    "long",
    "On a terminal, too: one line for each record, with the whole time and the place in the source."
  )
  static let color = Option(
    "color", oneOf: ["auto", "always", "never"], default: "auto",
    "Whether text has colors; auto: on a terminal, unless NO_COLOR is set.")
  static let output = Option(
    "output", short: "o", value: "FILE",
    """
    Write to FILE. The file gets its name only when it is complete. Until then, and if the program \
    is interrupted or killed, an earlier file with that name stays, and no other file is left. A \
    file that is read is refused.
    """)
  static let splitBy = Option(
    "split-by", oneOf: ["session", "label", "hour"],
    "Write a file for each session, label or hour, into the directory that --output names.")
}
