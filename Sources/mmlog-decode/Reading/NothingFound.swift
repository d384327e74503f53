import CommandLineTool
import LogCommands
import MMLogAnalysis
import MMLogFormat
import MMLogReader

/// Says why a query may have found nothing: how many records there are, when they were logged, and
/// which labels, fields and other names exist instead of the requested ones.
struct NothingFound {
  /// The maximum number of records that are inspected for names.
  private static let maximumRecords = 300_000
  /// How many bytes names may take in memory, each with some bytes besides.
  private static let (maximumBytes, bytesBesides) = (1 << 20, 100)
  /// The maximum number of names that are listed.
  private static let maximumNames = 6

  private let filter: LogReader.Filter
  private let zone: LogTimeZone
  private let overview: [SessionOverview]
  private var labels: Set<String> = []
  private var fields: Set<String> = []
  private var threads: Set<String> = []
  private var statements: Set<String> = []
  private var levels: Set<Level> = []
  private var spans = SpanCounts()
  private var first: Timestamp?
  private var bytes = 0
  private var isComplete = true

  init(_ query: Query, _ files: LogFiles) {
    (filter, zone) = (query.filter, query.zone)
    overview = files.overview(filter: LogReader.Filter())
    // If only a text or a time was asked for, there is nothing to list.
    let isListing =
      filter.minimumLevel > .trace || filter.spansOnly || !filter.labels.isEmpty
      || !filter.conditions.isEmpty || !filter.threads.isEmpty || !filter.callSites.isEmpty
    var left = isListing ? Self.maximumRecords : 1
    for case .record(let record) in LogReader(files) {
      if left == 0 { isComplete = false }
      if !isComplete { break }
      note(record)
      left -= 1
    }
  }

  /// Inspects only the parts that are asked for.
  private mutating func note(_ record: LogReader.Record) {
    first = first ?? record.time
    levels.insert(record.level)
    if !filter.labels.isEmpty { note(record.label, in: \.labels) }
    if !filter.conditions.isEmpty { for field in record.fields { note(field.name, in: \.fields) } }
    if !filter.threads.isEmpty {
      let thread = record.thread
      note(thread.name.isEmpty ? "\(thread.id)" : thread.name, in: \.threads)
    }
    if !filter.callSites.isEmpty, !record.file.isEmpty {
      let file = record.file.split(separator: "/").last ?? ""
      note("\(file):\(record.line)", in: \.statements)
    }
    if filter.spansOnly { spans.add(record) }
  }

  private mutating func note(_ name: String, in names: WritableKeyPath<Self, Set<String>>) {
    if self[keyPath: names].contains(name) { return }
    let size = name.utf8.count + Self.bytesBesides
    guard size <= Self.maximumBytes - bytes else { return isComplete = false }
    bytes += size
    self[keyPath: names].insert(name)
  }

  /// One line.
  var sentence: String {
    let count = overview.reduce(0) { $0 + $1.recordCount }
    if count == 0 { return "there are no records" }
    var time = TimeFormatter(zone)
    var parts = [
      "nothing matched; there \(count == 1 ? "is" : "are") \(LogCommands.count(count, "record"))"
    ]
    if let first, let last = overview.compactMap(\.lastTime).max() {
      parts[0] += " from \(time.text(of: first)) to \(time.text(of: last))"
    }
    parts += Self.sessionParts(filter, overview)
    if !filter.labels.isEmpty { parts.append(list("labels", labels, asked: filter.labels)) }
    if !filter.threads.isEmpty {
      parts.append(list("threads", threads, asked: filter.threads.map(\.description)))
    }
    if !filter.callSites.isEmpty {
      parts.append(
        list("log statements", statements, asked: filter.callSites.map(\.description)))
    }
    parts += fieldParts
    if isComplete, let highest = levels.max(), highest < filter.minimumLevel {
      parts.append("none is above \(highest)")
    }
    if filter.spansOnly { parts.append(spans.sentence + (isComplete ? "" : Self.ofTheFirst)) }
    return parts.joined(separator: "; ")
  }

  private var fieldParts: [String] {
    let wanted = filter.conditions.flatMap(\.fieldNames).filter { !fields.contains($0) }
    if wanted.isEmpty { return [] }
    let own = FieldCondition.RecordField.allCases.filter { wanted.contains($0.rawValue) }
    let hint =
      own.isEmpty
      ? list("fields", fields, asked: wanted)
      : "the record's own is \(own.map(\.name).joined(separator: ", "))"
    // A record that was not inspected may have the field.
    if !isComplete { return [hint] }
    // Commands other than --where take whole fields.
    let isInside = wanted.contains { name in
      name.firstIndex(of: ".").map { fields.contains(String(name[..<$0])) } ?? false
    }
    let remark = isInside ? " as a field of its own (--where alone looks into fields)" : ""
    return ["no record has \(wanted.joined(separator: ", "))\(remark)", hint]
  }

  private func list(_ nouns: String, _ names: Set<String>, asked: [String]) -> String {
    Self.list(nouns, names, asked: asked, remark: isComplete ? "" : Self.ofTheFirst)
  }

  private static let ofTheFirst = " (of the first records)"

  /// `labels are a, b; did you mean 'b'?`
  private static func list(
    _ nouns: String, _ names: Set<String>, asked: [String], remark: String = ""
  ) -> String {
    let all = names.filter { !$0.isEmpty }.sorted()
    if all.isEmpty { return "there are no \(nouns)\(remark)" }
    let rest = all.count - maximumNames
    var text = "\(nouns) are " + all.prefix(maximumNames).joined(separator: ", ")
    if rest > 0 { text += " and \(rest) more" }
    text += remark
    let near = asked.filter { !names.contains($0) }.compactMap { nearest(to: $0, among: all) }
    return near.isEmpty
      ? text : text + "; did you mean \(near.map { "'\($0)'" }.joined(separator: ", "))?"
  }
}

// MARK: - Sessions

extension NothingFound {
  /// Says in a line which sessions exist instead of those that were asked for.
  static func sentence(
    noSessionOf filter: LogReader.Filter, _ overview: [SessionOverview]
  ) -> String {
    let count = LogCommands.count(overview.count, "session")
    return
      (["nothing matched; there \(overview.count == 1 ? "is" : "are") \(count)"]
      + sessionParts(filter, overview)).joined(separator: "; ")
  }

  /// Empty if the processes and the sessions are not the reason that nothing matched.
  private static func sessionParts(
    _ filter: LogReader.Filter, _ overview: [SessionOverview]
  ) -> [String] {
    let identities = overview.map(\.session.identity)
    if identities.contains(where: { filter.passes($0) }) { return [] }
    var parts: [String] = []
    if !filter.processes.isEmpty {
      let asked = filter.processes.map(\.description)
      let isByNumber = asked.allSatisfy { UInt32($0) != nil }
      let names = identities.map { isByNumber ? "\($0.processID)" : $0.processName }
      parts.append(list(isByNumber ? "process ids" : "processes", Set(names), asked: asked))
    }
    if !filter.sessions.isEmpty {
      let ids = identities.map { String($0.session.description.prefix(8)) }
      parts.append(list("sessions", Set(ids), asked: []))
    }
    return parts
  }
}

/// How many spans there are, how they ended, and how long they took.
private struct SpanCounts {
  private var open = OpenSpans()
  private var failed = 0
  private var ended = 0
  private var durations: ClosedRange<Duration>?

  mutating func add(_ record: LogReader.Record) {
    open.add(record)
    guard case .end(_, let duration, let hasFailed)? = record.span?.event else { return }
    ended += 1
    if hasFailed { failed += 1 }
    let former = durations ?? duration...duration
    durations = min(former.lowerBound, duration)...max(former.upperBound, duration)
  }

  /// `3 spans ended, in 1.074 ms to 1.120 ms, 1 of them failed; 2 are open`
  var sentence: String {
    if ended == 0, open.count == 0 { return "there are no spans" }
    var parts = ["\(count(ended, "span")) ended"]
    if let durations {
      var text = TextBuffer()
      text.append(", in ")
      text.append(duration: durations.lowerBound)
      text.append(" to ")
      text.append(duration: durations.upperBound)
      parts[0] += text.text()
    }
    if failed > 0 { parts[0] += ", \(failed) of them failed" }
    if open.count > 0 { parts.append("\(open.count) \(open.count == 1 ? "is" : "are") open") }
    return parts.joined(separator: "; ")
  }
}
