import CommandLineTool
import Glibc
import MMLogAnalysis
import MMLogReader
import MMLogReport
import MMLogSystem

/// What is printed, how, and where.
let outputOptions: [Option] = [
  .format, .csvSafe, .template, .color, .output, .splitBy, .stats, .histogram, .report,
]

extension Arguments {
  /// The sink that the command line asks for.
  ///
  /// - Parameter places: What is read, and not to be overwritten.
  func sink(
    _ zone: LogTimeZone, _ output: StandardOutput, besides places: InputPaths
  ) throws -> any ItemSink {
    try checkOutput()
    let format = try OutputFormat(self, zone)
    let sink = try sink(format, zone, output, places)
    let showsProgress =
      Terminal.has(STDERR_FILENO) && (!Terminal.has(STDOUT_FILENO) || isWritingElsewhere)
    return showsProgress ? ProgressSink(sink, zone: zone) : sink
  }

  private var isWritingElsewhere: Bool {
    [Option.output, .report, .stats, .histogram].contains { isSet($0) }
  }

  private func sink(
    _ format: OutputFormat, _ zone: LogTimeZone, _ output: StandardOutput, _ places: InputPaths
  ) throws -> any ItemSink {
    if let path = value(of: .report) {
      return SummaryOutput(
        LogReport(zone: zone), to: try OutputFile(path, besides: places), add: { $0.add($1) },
        addUnreadable: { $0.add(unreadable: $1.path, $1.message) },
        print: { $0.append(made: .now, to: &$1) })
    }
    if let split = value(of: .splitBy), let path = value(of: .output) {
      return try SplitOutput(
        path, by: SplitKey(split, zone), suffix: format.suffix, besides: places,
        { format.makeFormatter() })
    }
    let path = value(of: .output)
    let target: any OutputTarget =
      if let path, path != "-" { try OutputFile(path, besides: places) } else { output }
    if isSet(.stats) {
      let isJSON = format.name == "json"
      return SummaryOutput(
        LogStatistics(zone: zone), to: target, add: { $0.add($1) },
        print: { isJSON ? $0.appendJSON(to: &$1) : $0.appendText(to: &$1) })
    }
    if isSet(.histogram) {
      let (rows, columns) = terminalSize()
      let histogram = LogHistogram(
        zone: zone, rows: max(10, rows - 4), columns: columns, colors: format.colors)
      return SummaryOutput(
        histogram, to: target, add: { $0.add($1) }, print: { $0.append(to: &$1) })
    }
    return FormattedOutput(format.makeFormatter(), to: target)
  }

  private func checkOutput() throws(UsageError) {
    let ending = [Option.output, .splitBy, .stats, .histogram, .report]
    if isSet(.follow), let other = ending.first(where: { isSet($0) }) {
      throw UsageError(
        "--follow has no end, and --\(other.long) is complete only then; leave one of them away"
          + (other.long == "output" ? ", or add > FILE" : ""))
    }
    let scanning = [Option.stats, .histogram, .report].filter { isSet($0) }
    if scanning.count > 1 {
      throw UsageError(
        "--\(scanning[0].long) and --\(scanning[1].long) contradict each other; give one of them")
    }
    if let scanning = scanning.first {
      let others =
        [Option.template, .splitBy] + (scanning.long == "report" ? [.output, .format] : [])
      if let other = others.first(where: { isSet($0) }) {
        throw UsageError("--\(other.long) has no meaning with --\(scanning.long); leave it away")
      }
    }
    if isSet(.stats) || isSet(.histogram),
      let format = value(of: .format), format != "text",
      !(isSet(.stats) && format == "json")
    {
      throw UsageError(
        isSet(.stats)
          ? "--stats is printed as text or json, not as \(format)"
          : "--histogram is printed as text, not as \(format)")
    }
    if isSet(.template), isSet(.format),
      value(of: .format) != "text"
    {
      throw UsageError("--template makes lines of text; leave --format away")
    }
    if isSet(.csvSafe), !["csv", "tsv"].contains(value(of: .format)) {
      throw UsageError("--csv-safe is about the cells of tables; add --format csv or --format tsv")
    }
    if isSet(.splitBy), value(of: .output).map({ $0 == "-" }) ?? true {
      throw UsageError("--split-by needs a directory for its files; add --output DIRECTORY")
    }
  }
}

/// Of the terminal, or what is usual.
private func terminalSize() -> (rows: Int, columns: Int) {
  var size = winsize()
  guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
    return (44, 100)
  }
  return (Int(size.ws_row), Int(size.ws_col))
}

/// How records are printed.
struct OutputFormat {
  let name: String
  let colors: Bool
  private let zone: LogTimeZone
  private let template: TextTemplate?
  private let isOnTerminal: Bool
  private let isFormulaSafe: Bool

  init(_ arguments: Arguments, _ zone: LogTimeZone) throws(UsageError) {
    self.zone = zone
    name = arguments.required(.format)
    isFormulaSafe = arguments.isSet(.csvSafe)
    isOnTerminal = !arguments.isSet(.output) && Terminal.has(STDOUT_FILENO)
    colors = Self.colors(arguments.required(.color), isOnTerminal)
    do throws(TextTemplate.Invalid) {
      template = try arguments.value(of: .template).map { text throws(TextTemplate.Invalid) in
        try TextTemplate(text)
      }
    } catch {
      throw UsageError("\(error)")
    }
  }

  private static func colors(_ choice: String, _ isOnTerminal: Bool) -> Bool {
    switch choice {
    case "always": return true
    case "never": return false
    default: return isOnTerminal && Terminal.mayHaveColors
    }
  }

  /// A formatter for one output.
  func makeFormatter() -> any LogFormatter {
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
      } else {
        TextFormatter(zone: zone, colors: colors)
      }
    }
  }

  /// What the names of its files end with.
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
    "format", short: "f",
    oneOf: ["text", "json", "logfmt", "csv", "tsv", "otlp", "chrome", "message"], default: "text",
    """
    What is printed of a record: text, a line with time, level, label, message, metadata and \
    place; json, an object on a line; logfmt, a line of key=value; csv or tsv, a table; otlp, \
    OpenTelemetry's log records in lines of JSON; chrome, trace events for Perfetto; message, the \
    bytes of its message alone.
    """)
  fileprivate static let csvSafe = Option(
    "csv-safe",
    """
    With csv and tsv: put ' before each text that a spreadsheet would take for a formula (it \
    begins with =, +, - or @). Without it, do not open tables of what others can log in a \
    spreadsheet.
    """)
  fileprivate static let template = Option(
    "template", value: "TEMPLATE",
    """
    Print lines such as '{time} {level} {message}'. Names: time, date, clock, unix, level, LEVEL, \
    label, message, place, file, line, function, fields, fields.NAME, thread, thread_id, \
    thread_ordinal, service, process, pid, host, session, flight, span, span_event, parent_span, \
    duration, duration_ns. {level:8} puts spaces before it, {level:-8} behind it; \\n, \\t, {{ \
    and }} are line end, tab and braces.
    """)
  fileprivate static let color = Option(
    "color", oneOf: ["auto", "always", "never"], default: "auto",
    "Whether text has colors; auto: on a terminal, unless NO_COLOR is set.")
  fileprivate static let output = Option(
    "output", short: "o", value: "FILE",
    """
    Write to FILE. It gets its name only once all is written; until then, and if that is \
    interrupted or killed, what had the name stays, and nothing else is there. A file that is \
    read is refused.
    """)
  fileprivate static let splitBy = Option(
    "split-by", oneOf: ["session", "label", "hour"],
    "Write a file for each session, label or hour, into the directory that --output names.")
  fileprivate static let stats = Option(
    "stats", "Print what fills the log: records and bytes by level, label, call site and minute.")
  fileprivate static let histogram = Option(
    "histogram", "Print how many records there were when, by level, as bars.")
  fileprivate static let report = Option(
    "report", value: "FILE",
    """
    Write a page for a browser: timeline, sessions, crashes, losses, corruption, call sites, and \
    a table to search in. It is one file and needs no network.
    """)
}
