import CommandLineTool
import LogCommands
import MMLogReader

/// The options for which records are wanted.
let filterOptions: [Option] = [
  .level, .since, .until, .label, .thread, .process, .session, .site, .grep, .fixedStrings,
  .ignoreCase, .invertMatch, .condition, .spansOnly, .flight, .noFlight,
]

extension Arguments {
  func filter(_ zone: LogTimeZone) throws(UsageError) -> LogReader.Filter {
    var filter = LogReader.Filter()
    filter.minimumLevel = Level(name: required(.level)) ?? .trace
    try setTimes(of: &filter, zone)
    filter.labels = values(of: .label)
    filter.threads = values(of: .thread).map { NamePattern($0) }
    try setSessions(of: &filter)
    for text in values(of: .site) { filter.callSites.append(try Self.site(text)) }
    filter.spansOnly = isSet(.spansOnly)
    try setText(of: &filter)
    filter.flight = try flight()
    for text in values(of: .condition) {
      filter.conditions.append(try Self.condition(text, zone))
    }
    return filter
  }

  /// A filter for what concerns whole sessions.
  func sessionFilter() throws(UsageError) -> LogReader.Filter {
    var filter = LogReader.Filter()
    try setSessions(of: &filter)
    return filter
  }

  private func setSessions(of filter: inout LogReader.Filter) throws(UsageError) {
    filter.processes = values(of: .process).map { NamePattern($0) }
    for text in values(of: .session) { filter.sessions.append(try Self.session(text)) }
  }

  private func flight() throws(UsageError) -> LogReader.Filter.FlightChoice {
    switch (isSet(.flight), isSet(.noFlight)) {
    case (true, true):
      throw UsageError("--flight and --no-flight contradict each other; give one of them")
    case (true, false): return .only
    case (false, true): return .none
    case (false, false): return .any
    }
  }

  private func setText(of filter: inout LogReader.Filter) throws(UsageError) {
    for option in [Option.fixedStrings, .ignoreCase, .invertMatch]
    where isSet(option) && !isSet(.grep) {
      throw UsageError("--\(option.long) says how --grep searches for something; give --grep too")
    }
    filter.isTextInverted = isSet(.invertMatch)
    let ignoresCase = isSet(.ignoreCase)
    for text in values(of: .grep) {
      if isSet(.fixedStrings) {
        filter.text.append(TextPattern(literal: text, ignoresCase: ignoresCase))
        continue
      }
      do {
        filter.text.append(try TextPattern(text, ignoresCase: ignoresCase))
      } catch {
        throw UsageError("\(error); to search for it as it is, add --fixed-strings")
      }
    }
  }

  private static func session(_ text: String) throws(UsageError) -> String {
    let id = text.lowercased().filter { $0 != "-" }
    guard !id.isEmpty, id.utf8.count <= 32, id.allSatisfy(\.isHexDigit) else {
      throw UsageError(
        "'\(text)' is not a session; it takes the first hexadecimal digits of its id, as "
          + "'mmlog-decode sessions' lists them")
    }
    return id
  }

  private static func site(_ text: String) throws(UsageError) -> CallSitePattern {
    guard let site = CallSitePattern(text) else {
      throw UsageError(
        "'\(text)' is not a place in source code; it takes FILE, FILE:LINE or FILE:LINE-LINE, such "
          + "as Book.swift:42")
    }
    return site
  }

  private static func condition(
    _ text: String, _ zone: LogTimeZone
  ) throws(UsageError) -> FieldCondition {
    do {
      return try FieldCondition(text, zone: zone)
    } catch {
      guard let (word, names) = error.unknown, let near = nearest(to: word, among: names) else {
        throw UsageError(error.description)
      }
      throw UsageError("\(error); did you mean '\(near)'?")
    }
  }
}

extension Option {
  fileprivate static let level = Option(
    "level", short: "l", or: "p", oneOf: Level.allCases.map(\.description), default: "trace",
    canonical: { Level(usualName: $0)?.description ?? $0 },
    "The lowest level; names such as warn, err and fatal count, too, in any case.")
  fileprivate static let flight = Option(
    "flight",
    """
    Only flight records: those below the level of the archives, which stay in the ring \
    until they are captured, or their process dies.
    """)
  fileprivate static let noFlight = Option("no-flight", "No flight records.")
  fileprivate static let label = Option(
    "label", short: "L", value: "PATTERN", repeatable: true, candidates: "labels",
    "Only records of labels that match, such as 'orders.*'.")
  fileprivate static let thread = Option(
    "thread", value: "THREAD", repeatable: true,
    "Only records of threads with this id, or with a name that matches.")
  static let process = Option(
    "process", value: "PROCESS", repeatable: true,
    "Only records of processes with this id, or with a name that matches.")
  static let session = Option(
    "session", value: "ID", repeatable: true, candidates: "sessions",
    "Only records of the session whose id begins with ID.")
  fileprivate static let site = Option(
    "site", value: "PLACE", repeatable: true,
    "Only records of log statements in FILE, FILE:LINE or FILE:LINE-LINE.")
  static let grep = Option(
    "grep", short: "g", value: "PATTERN", repeatable: true,
    """
    Only records with this in their message, or in a pair of their metadata as key=value. A \
    regular expression, as of grep -E, with \\d, \\w, \\s, \\b, \\t, \\n, \\u{e9} and (?:a|b) \
    too. A backslash by itself is \\\\, in brackets as well.
    """)
  fileprivate static let fixedStrings = Option(
    "fixed-strings", "Search for --grep's PATTERN as it is: nothing in it is special.")
  fileprivate static let ignoreCase = Option(
    "ignore-case", short: "i", "Let --grep ignore the case of ASCII letters.")
  fileprivate static let invertMatch = Option(
    "invert-match", short: "v", "Only records without what --grep searches for.")
  static let spansOnly = Option(
    "spans-only", "Only records that begin or end a span.")
  static let condition = Option(
    "where", short: "w", value: "CONDITION", repeatable: true,
    """
    Only records whose fields meet CONDITION, such as 'user == 42 && elapsed_ms > 10'. Fields are \
    named arguments and metadata; @level, @label, @message, @time, @thread, @process, @session, \
    @file, @line and @function are values of the record. @span and @trace are the span and the \
    trace that the record belongs to. @span_name is the name of the span that the record begins or \
    ends. @duration is the duration of the span that the record ends. Examples: '@duration > 1s', \
    '@process == 4711', "@time >= '15:00'". Operators: == != < <= > >= ~ (finds a regular \
    expression) !~ && || ! ( ), and in, as in 'user in (42, 43)'. A name alone is true if the \
    record has the field, and the field is neither false nor nil. Numbers may have units, as in \
    'elapsed_ms > 1.5s' and 'size >= 64KiB'.
    """)
}
