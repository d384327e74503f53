import CommandLineTool
import LogCommands
import MMLogAnalysis
import MMLogReader
import MMLogSystem

// Commands about the most frequent records, and about durations.

extension Command {
  static let top = Command(
    "top",
    description: [
      "Prints which records are most frequent, with counts and rates.",
      """
      Records with the same template are one group. The template is the message without its \
      arguments. For lines of text, it is the part that does not vary. --by groups by something \
      else. FIELD is the name of a field, or 'duration' for the duration of spans. With FIELD, \
      each group has percentiles of its values, exact to one in a hundred.
      """,
      """
      /S is the rate in records per second. It is counted over the time between the first and the \
      last record, or with --since or --until over the time that you ask for, as far as a process \
      was running.
      """,
    ],
    options: [.by, .order, .groups] + Query.options + [.jsonSummary, .output, .noPager],
    operands: Operands(
      "[FIELD] PATH",
      """
      What is measured, if anything, and what is read: files, directories, or - for standard \
      input; without PATH, the directory in MMLOG_DIR.
      """),
    examples: [Example("What logs most", "mmlog-decode top /var/log/orders")]
  ) { arguments, output in
    let field = arguments.measuredField
    var query = try Query(arguments, behind: field == nil ? 0 : 1)
    let measure = field.map { $0 == "duration" ? LogTop.Measure.duration : .field($0) }
    let key = arguments.value(of: .by).map(LogTop.Key.init) ?? .template
    // Thus frames without the field need not be read, and a missing field is explained.
    if case .field(let name)? = measure { try query.require(name) }
    if case .field(let name) = key { try query.require(name) }
    if case .duration? = measure { query = query.ofSpans }
    let order = LogTop.Order(rawValue: arguments.required(.order)) ?? .count
    if measure == nil, order != .count {
      throw UsageError("--sort \(order) is about a field; name it, or 'duration', before PATH")
    }
    let top = LogTop(by: key, of: measure, order: order, filter: query.filter)
    return try arguments.printTop(top, query, output)
  }

  static let spans = Command(
    "spans",
    description: [
      "Lists spans: when each began, how long it took, how it ended.",
      """
      A span that is open has not ended, or its end was not read. In place of a duration, an open \
      span has the time for which it has been open: until now, or until its process ended.
      """,
    ],
    options: [.longer, .shorter, .outcome, .tree, .longest, .names, .rows] + Query.options
      + [.jsonSummary, .output, .noPager],
    operands: inputOperands,
    examples: [
      Example("The slowest", "mmlog-decode spans --longest -n 10 /var/log/orders"),
      Example(
        "What a request consisted of", "mmlog-decode spans --tree --since 15m /var/log/orders"),
    ]
  ) { arguments, output in
    let query = try Query(arguments).ofSpans
    if arguments.isSet(.names) {
      try arguments.check(
        .names, isAloneAmong: [.outcome, .longer, .shorter, .tree, .longest])
      return try arguments.printTop(
        LogTop(by: .span, of: .duration, filter: query.filter), query, output)
    }
    if arguments.isSet(.tree) { try arguments.check(.tree, isAloneAmong: [.longest]) }
    let minimum = try arguments.span(.longer) ?? .zero
    let maximum = try arguments.span(.shorter) ?? .seconds(Int64.max)
    guard minimum <= maximum else { throw UsageError("--longer is more than --shorter") }
    let spans = LogSpans(outcomes: arguments.outcomes, durations: minimum...maximum)
    var style = LogSpans.Style()
    (style.isTree, style.isLongestFirst) = (arguments.isSet(.tree), arguments.isSet(.longest))
    style.rows = try arguments.integer(of: .rows, in: 0...Int.max) ?? .max
    style.columns = arguments.columns
    let (isJSON, zone, chosen) = (arguments.isSet(.jsonSummary), query.zone, style)
    let sink = try arguments.summarySink(
      query, output, spans, add: { $0.add($1) },
      print: {
        guard isJSON else { return $0.appendText(chosen, zone: zone, to: &$1) }
        $0.appendJSON(chosen, zone: zone, to: &$1)
        complain(leftOut: $0.leftOut)
      }, isNothing: { $0.list.isEmpty })
    return try arguments.paging(output) { try Decoder(query, sink).run() }
  }
}

extension Arguments {
  fileprivate func printTop(
    _ top: LogTop, _ query: Query, _ output: StandardOutput
  ) throws -> Program.Status {
    let rows = try integer(of: .rows, in: 0...Int.max) ?? 30
    let (isJSON, columns) = (isSet(.jsonSummary), columns ?? .max)
    let sink = try summarySink(query, output, top, add: { $0.add($1) }) {
      guard isJSON else { return $0.appendText(rows: rows, columns: columns, to: &$1) }
      $0.appendJSON(rows: rows, to: &$1)
      Command.complain(leftOut: $0.leftOut(rows: rows))
    }
    return try paging(output) { try Decoder(query, sink).run() }
  }

  /// The first operand, unless it names a file.
  fileprivate var measuredField: String? {
    guard let first = operands.first, first != "-", !first.contains("/"),
      (try? File.status(ofPath: first)) == nil
    else { return nil }
    return first
  }

  fileprivate func span(_ option: Option) throws(UsageError) -> Duration? {
    try value(
      of: option, expected: "a duration such as 250us, 10ms or 1.5s", durationArgument)
  }
}

extension Command {
  /// Says what is left out of an output that has no line for it.
  fileprivate static func complain(leftOut: [String]) {
    if !leftOut.isEmpty { complain("not in the output: \(leftOut.joined(separator: ", "))") }
  }
}

extension Query {
  /// Passes only records with a field.
  fileprivate mutating func require(_ field: String) throws(UsageError) {
    if field.isEmpty { throw UsageError("the name of a field is empty; give one") }
    let name = field.map { "\"\\".contains($0) ? "\\\($0)" : String($0) }.joined()
    do {
      filter.conditions.append(try FieldCondition("\"\(name)\" != nil"))
    } catch {
      throw UsageError("\(error)")
    }
  }

  /// The same query for spans alone.
  fileprivate var ofSpans: Query {
    var query = self
    query.filter.spansOnly = true
    return query
  }
}

extension Option {
  fileprivate static let by = Option(
    "by", value: "WHAT",
    "Group by template, site, label, level, thread, process, session, span, or a field.")
  fileprivate static let order = Option(
    "sort", oneOf: LogTop.Order.allCases.map(\.rawValue), default: "count",
    "The value by which groups are sorted: the greatest first.")
  fileprivate static let groups = Option(
    "lines", short: "n", value: "N", "Print N groups at most: 30 without it.")
  fileprivate static let rows = Option(
    "lines", short: "n", value: "N", "Print N lines at most; with --names, 30 without it.")
  fileprivate static let longer = Option(
    "longer", value: "DURATION",
    "Only spans that took, or have been open for, at least DURATION, such as 10ms.")
  fileprivate static let shorter = Option(
    "shorter", value: "DURATION",
    "Only spans that took, or have been open for, at most DURATION.")
  fileprivate static let tree = Option("tree", "Print the parts of each span below it.")
  fileprivate static let longest = Option("longest", "Print the longest spans first.")
  fileprivate static let names = Option(
    "names", "Print percentiles of durations by the spans' names instead.")
}

extension Option {
  static let outcome = Option(
    "outcome", oneOf: LogSpans.Outcome.allCases.map(\.rawValue), repeatable: true,
    "Only spans or exchanges with this outcome.")
}

extension Arguments {
  /// The outcomes that were asked for, or all.
  var outcomes: Set<LogSpans.Outcome> {
    let outcomes = values(of: .outcome).compactMap(LogSpans.Outcome.init)
    return outcomes.isEmpty ? LogSpans.Outcome.all : Set(outcomes)
  }
}
