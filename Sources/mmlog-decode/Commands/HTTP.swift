import CommandLineTool
import LogCommands
import MMLogAnalysis

extension Command {
  static let http = Command(
    "http",
    description: [
      """
      Lists HTTP exchanges: when each began, its status, how long it took, how large the answer \
      was.
      """,
      """
      HTTP exchanges are the spans whose fields have OpenTelemetry's names for HTTP, as MMLogHTTP \
      records them. An open exchange was in flight when its process died, or is in flight now.
      """,
    ],
    options: [.outcome, .slowest, .routes, .messages, .httpFormat, .rows] + Query.options
      + [.output, .noPager],
    operands: inputOperands,
    examples: [
      Example("The slowest", "mmlog-decode http --slowest -n 10 /var/log/orders"),
      Example("Where time goes", "mmlog-decode http --routes --since 1h /var/log/orders"),
      Example(
        "What failed, to be sent again",
        "mmlog-decode http --outcome failed --format curl /var/log/orders"),
    ]
  ) { arguments, output in
    let query = try Query(arguments)
    let format = arguments.required(.httpFormat)
    let isByRoute = arguments.isSet(.routes)
    if isByRoute, format != "text" || arguments.isSet(.messages) || arguments.isSet(.slowest) {
      throw UsageError("--routes is a table; leave --format, --messages and --slowest away")
    }
    var style = HTTPExchanges.Style()
    style.isSlowestFirst = arguments.isSet(.slowest)
    style.hasMessages = arguments.isSet(.messages)
    style.rows = try arguments.integer(of: .rows, in: 0...Int.max) ?? .max
    style.columns = arguments.columns
    let keepsBodies = style.hasMessages || format == "har" || format == "curl"
    let exchanges = HTTPExchanges(keepsBodies: keepsBodies, outcomes: arguments.outcomes)
    let (zone, chosen) = (query.zone, style)
    let sink = try arguments.summarySink(
      query, output, exchanges, add: { $0.add($1) },
      print: {
        // A table says this itself, and the table of routes has all exchanges.
        if $0.others > 0, format != "text" {
          Command.complain("too many exchanges to keep: \($0.others) shorter ones are left out")
        }
        switch format {
        case "json": $0.appendJSON(chosen, zone: zone, to: &$1)
        case "har": $0.appendHAR(chosen, version: mmlogVersion, to: &$1)
        case "curl": $0.appendCurl(chosen, to: &$1)
        default:
          isByRoute
            ? $0.appendRoutes(chosen, to: &$1) : $0.appendText(chosen, zone: zone, to: &$1)
        }
      }, isNothing: { $0.rows(chosen).isEmpty })
    return try arguments.paging(output) { try Decoder(query, sink).run() }
  }
}

extension Option {
  fileprivate static let slowest = Option("slowest", "Print the longest exchanges first.")
  fileprivate static let routes = Option(
    "routes", "Print counts and percentiles by method and route instead.")
  fileprivate static let messages = Option(
    "messages", "Print header fields and bodies below each exchange, if they were recorded.")
  fileprivate static let httpFormat = Option(
    "format", oneOf: ["text", "json", "har", "curl"], default: "text",
    "Print lines of text or of JSON, an HTTP archive, or commands of curl.")
  fileprivate static let rows = Option("lines", short: "n", value: "N", "Print N at most.")
}
