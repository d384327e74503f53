import MMLogAnalysis
import MMLogFormat
public import MMLogReader
import MMLogStorage
import MMLogSystem

/// One page for a browser on everything that was read: what happened when, at which level, in which
/// session, how sessions ended, what was lost or corrupted, which call sites logged most, and the
/// records themselves, to be searched.
///
/// The page stands alone: no network, no other file; it may be opened from a disk and sent around.
/// What was logged is data in it and never markup or script, whatever it contains. Every record is
/// counted; at most 200,000 are in the table: the last ones, a quarter of the room for warnings and
/// worse.
///
/// Memory is bounded. For one thread at a time.
public struct LogReport {
  private var timestamp: TimeFormatter
  private var records = ReportRecords()
  private var buckets = TimeBuckets(maximum: 4096)
  private var sites = CallSiteCounts()
  private var labels = Numbered<String>()
  private var threads = Numbered<ThreadIdentity>()
  private var sessions: [Session] = []
  private var sessionNumbers: [ObjectIdentifier: Int] = [:]
  private var lastThread: (thread: LogReader.Thread, number: Int)?
  private var lastSession: (session: LogReader.Session, number: Int)?
  /// What is corrupted or missing, where, and when the record before it was logged.
  private var corruption: [(path: String, sentence: String, time: Timestamp?)] = []
  private var corruptionCount = 0
  private var spans = LogSpans()
  private let stack: (CrashReport) -> [String]
  private var levels = [UInt64](repeating: 0, count: Level.allCases.count)
  /// From when on the zone is so many seconds ahead of UTC.
  private var offsets: [(from: Timestamp, seconds: Int64)] = []
  private var lastTime: Timestamp?

  /// So much corruption is listed; all of it is counted.
  private static let maximumCorruption = 5000
  /// So many spans are in the page: those that took longest.
  private static let maximumSpans = 20_000

  private struct Session {
    let session: LogReader.Session
    var records: UInt64 = 0
    var severe: UInt64 = 0
    var last: Timestamp
    var ending: SessionEnding?
    var losses: LossLedger?
    var crash: CrashReport?
  }

  /// Makes a report of nothing.
  public init(zone: LogTimeZone = .local) { self.init(zone: zone) { $0.details } }

  /// Makes a report of nothing.
  ///
  /// - Parameter stack: Makes lines of what was under way at a crash.
  package init(zone: LogTimeZone, stack: @escaping (CrashReport) -> [String]) {
    timestamp = TimeFormatter(zone)
    self.stack = stack
  }

  /// Adds what a reader gave.
  public mutating func add(_ item: LogReader.Item) {
    switch item {
    case .record(let record): add(record)
    case .sessionStarted(let session): _ = number(of: session)
    case .losses(let session, let ledger): sessions[number(of: session)].losses = ledger
    case .crashed(let session, let crash): sessions[number(of: session)].crash = crash
    case .sessionEnded(let session, let ending, let lastTime):
      let number = number(of: session)
      sessions[number].ending = ending
      sessions[number].last = max(sessions[number].last, lastTime)
    case .corruption(let corruption):
      add(corruption.path, corruption.summary, lastTime)
    case .gap(let gap):
      add("session \(gap.session.id)", gap.summary, lastTime)
    case .unfinished(let record):
      add("session \(record.session.id)", record.summary, lastTime)
    @unknown default: return
    }
  }

  /// Adds a file that could not be read at all, and why.
  public mutating func add(unreadable path: String, _ reason: String) {
    add(path, reason, nil)
  }

  private mutating func add(_ path: String, _ sentence: String, _ time: Timestamp?) {
    corruptionCount += 1
    if corruption.count < Self.maximumCorruption { corruption.append((path, sentence, time)) }
  }

  private mutating func add(_ record: LogReader.Record) {
    let session = number(of: record.session)
    sessions[session].records += 1
    if record.level >= .error { sessions[session].severe += 1 }
    sessions[session].last = max(sessions[session].last, record.time)
    levels[Int(record.level.rawValue)] += 1
    lastTime = record.time
    buckets.add(record.time, record.level)
    noteOffset(at: record.time)
    if record.content.flags.contains(.span) { spans.add(.record(record)) }
    records.add(
      record,
      ReportRecords.References(
        site: sites.add(record), label: labels.number(of: record.label.first200),
        thread: number(of: record.thread), session: session))
  }

  private mutating func number(of thread: LogReader.Thread) -> Int {
    if let lastThread, lastThread.thread === thread { return lastThread.number }
    let number = threads.number(
      of: ThreadIdentity(ordinal: thread.ordinal, id: thread.id, name: thread.name))
    lastThread = (thread, number)
    return number
  }

  private mutating func number(of session: LogReader.Session) -> Int {
    if let lastSession, lastSession.session === session { return lastSession.number }
    let number = sessionNumbers[ObjectIdentifier(session)] ?? sessions.count
    if number == sessions.count {
      sessionNumbers[ObjectIdentifier(session)] = number
      sessions.append(Session(session: session, last: session.identity.startTime))
      noteOffset(at: session.identity.startTime)
    }
    lastSession = (session, number)
    return number
  }

  private mutating func noteOffset(at time: Timestamp) {
    let seconds = timestamp.offset(at: time.nanosecondsSince1970.flooredQuotient(by: 1_000_000_000))
    if let last = offsets.last, last.seconds == seconds || last.from > time { return }
    if offsets.count < 1000 { offsets.append((time, seconds)) }
  }

  // MARK: - The page

  /// Appends the page.
  ///
  /// - Parameters:
  ///   - made: When it is made.
  ///   - output: What it is appended to.
  public mutating func append(made: Timestamp, to output: inout TextBuffer) {
    output.append(
      """
      <!DOCTYPE html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="color-scheme" content="light dark">
      <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src \
      'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
      <title>mmlog report</title>
      <style>

      """)
    output.append(PackageResources.report_css)
    output.append("</style>\n</head>\n")
    output.append(PackageResources.report_html)
    output.append(#"<script type="application/json" id="data">"#)
    let head = output.count
    appendFileHeader(made, &output)
    output.escapeLessThan(from: head)
    output.append("</script>\n")
    records.append(to: &output)
    output.append("<script>\n")
    output.append(PackageResources.report_js)
    output.append("</script>\n</body>\n</html>\n")
  }

  private mutating func appendFileHeader(_ made: Timestamp, _ output: inout TextBuffer) {
    buckets.widen(toSpan: 1 << 20)
    output.append(#"{"made":""#)
    timestamp.append(made, to: &output)
    output.append(#"","levels":"#)
    output.append(jsonNumbers: levels)
    output.append(#","offsets":["#)
    output.appendList(offsets) { $0.append(text: "[\(inMilliseconds($1.from)),\($1.seconds)]") }
    output.append(text: #"],"width":\#(Double(buckets.width) / 1e6),"buckets":["#)
    output.appendList(buckets.sorted) { output, bucket in
      output.append(text: "[\(inMilliseconds(bucket.start))")
      for level in bucket.counts.indices { output.append(text: ",\(bucket.counts[level])") }
      output.append("]")
    }
    output.append(#"],"labels":["#)
    output.appendList(labels.all) { $0.append(json: $1) }
    output.append(#"],"threads":["#)
    output.appendList(threads.all) { output, thread in
      output.append(text: "[\(thread.id),\(thread.ordinal),")
      output.append(json: thread.name)
      output.append("]")
    }
    output.append(#"],"sites":["#)
    output.appendList(sites.entries) { output, entry in
      output.append("[")
      for text in [entry.site.file, entry.site.function, entry.template] {
        output.append(json: text)
        output.append(",")
      }
      output.append(
        text: "\(entry.site.line),\(entry.counts.records),\(entry.counts.bytes),"
          + "\(entry.level.rawValue)]")
    }
    output.append(#"],"sessions":["#)
    output.appendList(sessions) { append($1, &$0) }
    appendSpans(&output)
    output.append(text: #"],"corruptionCount":\#(corruptionCount),"corruption":["#)
    output.appendList(corruption) { output, corruption in
      output.append("[")
      output.append(json: corruption.path)
      output.append(",")
      output.append(json: corruption.sentence)
      output.append(text: ",\(corruption.time.map { "\(inMilliseconds($0))" } ?? "null")]")
    }
    output.append("]}")
  }

  private func appendSpans(_ output: inout TextBuffer) {
    let all = spans.list
    let shown =
      all.count <= Self.maximumSpans
      ? all : Array(all.sorted { $0.length > $1.length }.prefix(Self.maximumSpans))
    output.append(
      text: #"],"otherSpans":\#(spans.others + all.count - shown.count),"spans":["#)
    var numbers: [SessionID: Int] = [:]
    for (number, session) in sessions.enumerated() { numbers[session.session.id] = number }
    output.appendList(shown) { output, span in
      let outcome = LogSpans.Outcome.allCases.firstIndex(of: span.outcome) ?? 0
      let length = span.duration.map { "\(Double($0.nanoseconds) / 1e6)" } ?? "null"
      output.append(
        text: "[\(numbers[span.session] ?? 0),\(inMilliseconds(span.start)),\(length),\(outcome)")
      let ids = [span.number, span.parent].map { $0.map(LogReader.Span.text) ?? "" }
      for text in [span.message ?? span.name ?? "(unknown)", span.thread, span.label] + ids {
        output.append(",")
        output.append(json: text)
      }
      output.append("]")
    }
  }

  private func append(_ session: Session, _ output: inout TextBuffer) {
    let identity = session.session.identity
    output.append(#"{"id":"#)
    output.append(json: session.session.id.description)
    for (key, text) in [
      (#","service":"#, identity.storeName), (#","process":"#, identity.processName),
      (#","host":"#, identity.hostName),
    ] {
      output.append(text: key)
      output.append(json: text)
    }
    output.append(
      text: #","pid":\#(identity.processID),"start":\#(inMilliseconds(identity.startTime)),"#
        + #""end":\#(inMilliseconds(session.last)),"records":\#(session.records),"#
        + #""errors":\#(session.severe),"ending":"\#(session.ending?.word ?? "unknown")","crash":"#
    )
    output.append(json: session.crash?.summary ?? "")
    output.append(text: #","thread":\#(session.crash?.threadID ?? 0),"stack":["#)
    output.appendList(session.crash.map(stack) ?? []) { $0.append(json: $1) }
    output.append(#"],"losses":["#)
    var isFirst = true
    for cause in LossLedger.Cause.allCases {
      for level in Level.allCases {
        guard let count = session.losses?[cause, level], count > 0 else { continue }
        if !isFirst { output.append(",") }
        isFirst = false
        output.append("[")
        output.append(json: "\(cause)")
        output.append(text: ",\(level.rawValue),\(count)]")
      }
    }
    output.append("]}")
  }
}

/// Things that get a number when they are met first, from 0.
private struct Numbered<Element: Hashable> {
  private(set) var all: [Element] = []
  private var numbers: [Element: Int] = [:]
  private var last: (element: Element, number: Int)?

  /// More are taken for one, the first.
  private static var maximum: Int { 100_000 }

  mutating func number(of element: Element) -> Int {
    if let last, last.element == element { return last.number }
    var number = numbers[element] ?? all.count
    if number == all.count {
      if all.count >= Self.maximum {
        number = 0
      } else {
        numbers[element] = number
        all.append(element)
      }
    }
    last = (element, number)
    return number
  }
}

extension LogSpans.Span {
  /// What is open is longest of all.
  fileprivate var length: Duration { duration ?? .seconds(Int64.max) }
}

extension SessionEnding {
  fileprivate var word: String {
    switch self {
    case .ended(let end): "\(end.how)"
    case .running: "running"
    case .unknown: "unknown"
    }
  }
}

private func inMilliseconds(_ time: Timestamp) -> Double {
  Double(time.nanosecondsSince1970) / 1e6
}

extension TextBuffer {
  fileprivate mutating func appendList<Element>(
    _ elements: some Sequence<Element>, _ body: (inout TextBuffer, Element) -> Void
  ) {
    var isFirst = true
    for element in elements {
      if !isFirst { append(",\n") }
      isFirst = false
      body(&self, element)
    }
  }

  fileprivate mutating func append(jsonNumbers numbers: [UInt64]) {
    append("[")
    appendList(numbers) { $0.append(decimal: $1) }
    append("]")
  }

  /// Makes JSON that was appended from `start` on one that no HTML parser sees an end tag or a
  /// comment in. `<` is only within its strings.
  fileprivate mutating func escapeLessThan(from start: Int) {
    let text = withBytes(from: start) { Array($0) }
    cut(to: start)
    for byte in text {
      if byte == UInt8(ascii: "<") { append(#"\u003c"#) } else { append(byte) }
    }
  }
}
