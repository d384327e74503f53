import CommandLineTool
import LogCommands
import MMLogAnalysis
import MMLogReader
import MMLogReport

// Commands that print a summary of all records.

extension Command {
  static let stats = Command(
    "stats",
    description: [
      "Prints what fills the log: records and bytes by level, label, call site and minute.",
      "Bytes are those before an archive compresses them.",
    ],
    options: Query.options + [.jsonSummary, .output, .noPager],
    operands: inputOperands
  ) { arguments, output in
    let query = try Query(arguments)
    let isJSON = arguments.isSet(.jsonSummary)
    let columns = arguments.columns ?? .max
    let sink = try arguments.summarySink(
      query, output, LogStatistics(zone: query.zone, of: query.filter), add: { $0.add($1) },
      print: { isJSON ? $0.appendJSON(to: &$1) : $0.appendText(to: &$1, columns: columns) })
    return try arguments.paging(output) { try Decoder(query, sink).run() }
  }

  static let histogram = Command(
    "histogram",
    description: ["Prints bars that show how many records there were at which time, by level."],
    options: Query.options + [.color, .output],
    operands: inputOperands
  ) { arguments, output in
    let query = try Query(arguments)
    let histogram = LogHistogram(
      zone: query.zone, rows: max(10, terminalSize().rows - 4), columns: arguments.columns ?? 80,
      colors: arguments.hasColors)
    var isEncrypted = false
    let sink = try arguments.summarySink(
      query, output, histogram, add: { $0.add($1) },
      addUnreadable: { isEncrypted = isEncrypted || $1.code == .encrypted },
      // If records are encrypted for others, the output must not say that there are none.
      print: { if !isEncrypted || !$0.isEmpty { $0.append(to: &$1) } })
    return try Decoder(query, sink).run()
  }

  static let report = Command(
    "report",
    description: [
      "Writes a page for a browser.",
      """
      It has a timeline, crashes with their stacks, spans, call sites, sessions, losses, \
      corruption, and a table of records to search and to filter by the values of fields. It is \
      one file and needs no network.
      """,
    ],
    options: [.page] + Query.options,
    operands: inputOperands
  ) { arguments, output in
    let query = try Query(arguments)
    let sink = try arguments.summarySink(
      query, output,
      LogReport(zone: query.zone, of: query.filter) {
        Interruption.isRequested ? $0.details : $0.details(of: SourceLines.added(to: $0.stack))
      },
      add: { $0.add($1) },
      addUnreadable: { $0.add(unreadable: $1.path, $1.message) },
      print: { $0.append(made: .now, to: &$1) })
    return try Decoder(query, sink).run()
  }
}

extension Option {
  fileprivate static let page = Option(
    "output", short: "o", value: "FILE", required: true,
    "Write the page to FILE, or with - to standard output.")
}
