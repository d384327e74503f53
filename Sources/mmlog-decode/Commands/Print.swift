import CommandLineTool
import LogCommands
import MMLogReader

extension Command {
  static let print = Command(
    "print",
    description: ["Prints records."],
    options: [.follow, .tail, .reverse] + partOptions + [.count] + Query.options + formatOptions
      + [.output, .splitBy, .noPager, .jobs] + CursorChoice.options,
    operands: inputOperands
  ) { arguments, output in
    if arguments.isSet(.follow) {
      try arguments.check(.follow, goesWithNoneOf: [.output, .splitBy, .count, .reverse])
      // Because the command follow has none of these options.
      try arguments.check(.follow, isAloneAmong: CursorChoice.options + [.jobs])
      return try arguments.follow(output)
    }
    // Before PATH is found to be missing: an option without its number has taken PATH as its value.
    var part = try arguments.part()
    var query = try Query(arguments)
    part.isReversed = arguments.isSet(.reverse)
    let cursor = try CursorChoice(arguments, besides: &query.places)
    try arguments.checkPart(part)
    let sink = try arguments.printingSink(query, output, cursor)
    guard let cursor else {
      return try arguments.paging(output) { try Decoder(query, sink, part).run() }
    }
    return try Decoder(query, sink, part).run(from: cursor, output)
  }

  static let follow = Command(
    "follow",
    description: [
      "Prints what is logged from now on.",
      """
      It goes on across rotation and in new processes, until interrupted or until --until, \
      in the order in which \
      log calls of this machine followed one another. A file that is replaced by another one of \
      its name is opened anew.
      """,
    ],
    options: [.tailOfFollow] + partOptions + Query.options + formatOptions,
    operands: inputOperands
  ) { try $0.follow($1) }
}

extension Arguments {
  /// `mmlog-decode follow`, and `print --follow`.
  fileprivate func follow(_ output: StandardOutput) throws -> Program.Status {
    var part = try part()
    let query = try Query(self)
    if query.paths.contains("-") {
      throw UsageError("standard input cannot be followed; name a directory or a file")
    }
    try checkPart(part)
    // Ten records, as in tail. A user who gives a start time wants all records. With surroundings,
    // none: those of a record would be searched for only among the last records.
    if part.last == nil, !isSet(.since) { part.last = part.surroundings == Surroundings() ? 10 : 0 }
    let format = try OutputFormat(self, query)
    return try Decoder(query, FormattedOutput(format.makeFormatter(), to: output), part).follow(
      output)
  }

  fileprivate func checkPart(_ part: Decoder.Part) throws(UsageError) {
    if part.surroundings == Surroundings() { return }
    if part.last != nil || part.isReversed {
      throw UsageError(
        "records around others go with neither --tail nor --reverse, which would take what they "
          + "leave out")
    }
  }

  fileprivate func check(
    _ option: Option, goesWithNoneOf others: [Option]
  ) throws(UsageError) {
    for other in others where isSet(other) {
      throw UsageError(
        "--\(option.long) has no end, and --\(other.long) is complete only then; leave one of them "
          + "away" + (other.long == "output" ? ", or add > FILE" : ""))
    }
  }

  fileprivate func printingSink(
    _ query: Query, _ output: StandardOutput, _ cursor: CursorChoice?
  ) throws -> any ItemSink {
    let format = try OutputFormat(self, query)
    let jobs = try integer(of: .jobs, in: 1...256) ?? 1
    if isSet(.count) {
      try check(.count, isAloneAmong: formatOptions + [.splitBy, .context, .before, .after])
      return try summarySink(query, output, CountedRecords(), add: { $0.add($1) }) {
        $1.append(text: "\($0.count)\n")
      }
    }
    if let split = value(of: .splitBy) {
      guard let path = value(of: .output), path != "-" else {
        throw UsageError("--split-by needs a directory for its files; add --output DIRECTORY")
      }
      try check(.splitBy, isAloneAmong: [.jobs])
      let sink = try SplitOutput(
        path, by: SplitKey(split, query.zone), suffix: format.suffix, besides: query.places,
        replaces: cursor?.hasEarlierOutput != true, { format.makeFormatter() })
      return showingProgress(sink, query.zone)
    }
    let sink = try formattingSink(format, jobs: jobs, to: target(query, output))
    return isWritingToFile ? showingProgress(sink, query.zone) : sink
  }

  private func formattingSink(
    _ format: OutputFormat, jobs: Int, to target: any OutputTarget
  ) throws -> any ItemSink {
    if jobs > 1, ["otlp", "chrome"].contains(format.name) {
      throw UsageError("--jobs makes records one by one, and \(format.name) puts them together")
    }
    if jobs > 1, let option = [Option.context, .before, .after].first(where: { isSet($0) }) {
      throw UsageError(
        "--\(option.long) prints few records, so --jobs has no effect; leave it out")
    }
    let formatter = format.makeFormatter()
    // What it prints of a record depends on the records before.
    if jobs == 1 || formatter is TerminalFormatter { return FormattedOutput(formatter, to: target) }
    return ParallelOutput({ format.makeFormatter() }, to: target, threadCount: jobs)
  }
}

extension Arguments {
  /// Refuses options that have no meaning beside another option.
  func check(_ option: Option, isAloneAmong others: [Option]) throws(UsageError) {
    if let other = others.first(where: { isSet($0) }) {
      throw UsageError("--\(other.long) has no meaning with --\(option.long); leave it away")
    }
  }
}

/// `--count`
private struct CountedRecords {
  var count = 0

  mutating func add(_ item: LogReader.Item) { if case .record = item { count += 1 } }
}

extension Option {
  static let follow = Option(
    "follow", short: "f", "Then print what is logged from now on, as the command follow does.")
  static let reverse = Option("reverse", short: "r", "The newest record first.")
  fileprivate static let jobs = Option(
    "jobs", short: "j", value: "N",
    "Read and make text in N threads. The output is the same.")
  fileprivate static let count = Option(
    "count", short: "c", "Print only how many records there are.")
  fileprivate static let tailOfFollow = Option(
    "tail", short: "n", value: "N",
    """
    Begin with the last N records: 10, or with --since all from then on, or with -C, -A or -B none.
    """)
}
