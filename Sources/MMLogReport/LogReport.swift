import MMLogAnalysis
import MMLogFormat
public import MMLogReader
import MMLogStorage
import MMLogSystem

/// One page for a browser on everything that was read: what happened when, at which level, in which
/// session; how sessions ended; what was lost or corrupted; which call sites logged most; and the
/// records themselves, which can be searched.
///
/// The page stands alone: it needs no network and no other file, and may be opened from a disk and
/// sent around. What was logged is data in it and never markup or script, whatever it contains.
/// Every record is counted. The table has at most 200,000 records: the last ones, with a quarter of
/// the room for warnings and higher levels.
///
/// Memory is bounded. For one thread at a time.
public struct LogReport {
  private var timestamp: TimeFormatter
  private var records = ReportRecords()
  private var buckets = TimeBuckets(maximum: 4096)
  private var sites = CallSiteCounts()
  private var labels = Numbered(others: Bytewise(tooMany))
  private var threads = Numbered(others: ThreadIdentity(ordinal: 0, id: 0, name: tooMany))
  private let filter: LogReader.Filter
  private var sessions: [Session] = []
  private var sessionNumbers: [ObjectIdentifier: Int] = [:]
  /// The sessions that are in the page, by their numbers there.
  private var shown: [Int] = []
  private var lastThread: (thread: LogReader.Thread, number: Int)?
  private var lastSession: (session: LogReader.Session, number: Int)?
  private var corruption = Findings()
  /// Records that are missing, or of which only a part is there.
  private var missing = Findings()
  private var spans = LogSpans()
  private let stack: (CrashReport) -> [String]
  private var levels = [UInt64](repeating: 0, count: Level.allCases.count)
  /// From when on the zone is how many seconds ahead of UTC.
  private var offsets: [(from: Timestamp, seconds: Int64)] = []
  private var lastTime: Timestamp?

  /// The maximum number of spans in the page: the ones that took longest.
  private static let maximumSpans = 20_000
  /// The maximum number of crashes that are shown with their stacks: the last ones.
  private static let maximumStacks = 20

  /// What is wrong and where, and when the record before it was logged.
  private struct Findings {
    private(set) var list: [(place: String, sentence: String, time: Timestamp?)] = []
    private(set) var count = 0

    /// The maximum number of findings that are listed; all of them are counted.
    private static let maximum = 5000

    mutating func add(_ place: String, _ sentence: String, _ time: Timestamp?) {
      count += 1
      if list.count < Self.maximum { list.append((place, sentence, time)) }
    }
  }

  private struct Session {
    let session: LogReader.Session
    /// The session's number in the page; nil if it is not there.
    var number: Int?
    var records: UInt64 = 0
    var severe: UInt64 = 0
    /// When the session logged last.
    var last: Timestamp
    /// When the session ended.
    var ended: Timestamp
    var ending: SessionEnding?
    var losses: LossLedger?
    var crash: CrashReport?
  }

  /// Makes an empty report.
  public init(zone: LogTimeZone = .local) {
    self.init(zone: zone, of: LogReader.Filter()) { $0.details }
  }

  /// Makes an empty report.
  ///
  /// - Parameters:
  ///   - filter: The filter of the reader. Of its sessions, those within its time are in the page.
  ///   - stack: Makes lines of the functions that were under way at a crash.
  package init(
    zone: LogTimeZone, of filter: LogReader.Filter, stack: @escaping (CrashReport) -> [String]
  ) {
    timestamp = TimeFormatter(zone)
    self.filter = filter
    self.stack = stack
  }

  /// Adds what a reader gave.
  public mutating func add(_ item: LogReader.Item) {
    switch item {
    case .record(let record): add(record)
    case .sessionStarted(let session):
      let index = index(of: session)
      if session.isWithin(filter, until: session.identity.startTime) { show(index) }
    case .losses(let session, let ledger): sessions[index(of: session)].losses = ledger
    case .crashed(let session, let crash): sessions[index(of: session)].crash = crash
    case .sessionEnded(let session, let ending, let lastTime):
      end(index(of: session), ending, lastTime)
    case .corruption(let corruption):
      self.corruption.add(corruption.path, corruption.summary, lastTime)
    case .gap(let gap):
      // Archives that retention has deleted are not missing.
      if gap.isLoss { missing.add("session \(gap.session.id)", gap.summary, lastTime) }
    case .unfinished(let record):
      missing.add("session \(record.session.id)", record.summary, lastTime)
    @unknown default: return
    }
  }

  private mutating func end(_ index: Int, _ ending: SessionEnding, _ lastTime: Timestamp) {
    sessions[index].ending = ending
    sessions[index].last = max(sessions[index].last, lastTime)
    sessions[index].ended = ending.time(lastRecord: sessions[index].last)
    if sessions[index].session.isWithin(filter, until: sessions[index].ended) { show(index) }
  }

  /// Adds a file that could not be read at all, and why.
  public mutating func add(unreadable path: String, _ reason: String) {
    corruption.add(path, reason, nil)
  }

  private mutating func add(_ record: LogReader.Record) {
    let index = index(of: record.session)
    let session = show(index)
    sessions[index].records += 1
    if record.level >= .error { sessions[index].severe += 1 }
    sessions[index].last = max(sessions[index].last, record.time)
    sessions[index].ended = max(sessions[index].ended, record.time)
    levels[Int(record.level.rawValue)] += 1
    lastTime = record.time
    buckets.add(record.time, record.level)
    noteOffset(at: record.time)
    if record.content.flags.contains(.span) { spans.add(.record(record)) }
    records.add(
      record,
      ReportRecords.References(
        site: sites.add(record), label: labels.number(of: Bytewise(record.label.first200)),
        thread: number(of: record.thread), session: session))
  }

  private mutating func number(of thread: LogReader.Thread) -> Int {
    if let lastThread, lastThread.thread === thread { return lastThread.number }
    let number = threads.number(
      of: ThreadIdentity(ordinal: thread.ordinal, id: thread.id, name: thread.name))
    lastThread = (thread, number)
    return number
  }

  private mutating func index(of session: LogReader.Session) -> Int {
    if let lastSession, lastSession.session === session { return lastSession.number }
    let index = sessionNumbers[ObjectIdentifier(session)] ?? sessions.count
    if index == sessions.count {
      sessionNumbers[ObjectIdentifier(session)] = index
      let start = session.identity.startTime
      sessions.append(Session(session: session, last: start, ended: start))
    }
    lastSession = (session, index)
    return index
  }

  /// Puts a session into the page.
  ///
  /// - Returns: The session's number there.
  @discardableResult
  private mutating func show(_ index: Int) -> Int {
    if let number = sessions[index].number { return number }
    sessions[index].number = shown.count
    shown.append(index)
    noteOffset(at: sessions[index].session.identity.startTime)
    return shown.count - 1
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
  ///   - made: When the page is made.
  ///   - output: The buffer that the page is appended to.
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
    let dataStart = output.count
    appendData(made, &output)
    output.escapeLessThan(from: dataStart)
    output.append("</script>\n")
    records.append(to: &output)
    output.append("<script>\n")
    output.append(PackageResources.report_js)
    output.append("</script>\n</body>\n</html>\n")
  }

  private mutating func appendData(_ made: Timestamp, _ output: inout TextBuffer) {
    buckets.widen(toSpan: 1 << 20)
    output.append(#"{"made":""#)
    timestamp.append(made, to: &output)
    output.append(#"","levels":"#)
    output.append(jsonNumbers: levels)
    output.append(#","offsets":["#)
    output.appendList(offsets) { $0.append(text: "[\(inMilliseconds($1.from)),\($1.seconds)]") }
    let limits = [filter.since, filter.until].map { $0.map { "\(inMilliseconds($0))" } ?? "null" }
    output.append(text: #"],"since":\#(limits[0]),"until":\#(limits[1])"#)
    appendBuckets(&output)
    output.append(#","labels":["#)
    output.appendList(labels.all) { $0.append(json: $1.text) }
    output.append("]")
    appendThreads(&output)
    appendSites(&output)
    output.append(#","sessions":["#)
    let detailed = Set(lastCrashes)
    output.appendList(shown) { append(sessions[$1], hasStack: detailed.contains($1), &$0) }
    output.append("]")
    appendSpans(&output)
    append(corruption, "corruption", &output)
    append(missing, "missing", &output)
    output.append("}")
  }

  private func appendBuckets(_ output: inout TextBuffer) {
    output.append(text: #","width":\#(Double(buckets.width) / 1e6),"buckets":["#)
    output.appendList(buckets.sorted) { output, bucket in
      output.append(text: "[\(inMilliseconds(bucket.start))")
      for level in bucket.counts.indices { output.append(text: ",\(bucket.counts[level])") }
      output.append("]")
    }
    output.append("]")
  }

  private func appendThreads(_ output: inout TextBuffer) {
    output.append(#","threads":["#)
    output.appendList(threads.all) { output, thread in
      output.append(text: "[\(thread.id),\(thread.ordinal),")
      output.append(json: thread.name)
      output.append("]")
    }
    output.append("]")
  }

  private func appendSites(_ output: inout TextBuffer) {
    output.append(#","sites":["#)
    output.appendList(sites.entries) { output, entry in
      output.append("[")
      for text in [entry.file, entry.function, entry.template] {
        output.append(json: text)
        output.append(",")
      }
      output.append(
        text: "\(entry.line),\(entry.counts.records),\(entry.counts.bytes),"
          + "\(entry.level.rawValue)]")
    }
    output.append("]")
  }

  private func append(_ findings: Findings, _ name: String, _ output: inout TextBuffer) {
    output.append(text: #","\#(name)Count":\#(findings.count),"\#(name)":["#)
    output.appendList(findings.list) { output, finding in
      output.append("[")
      output.append(json: finding.place)
      output.append(",")
      output.append(json: finding.sentence)
      output.append(text: ",\(finding.time.map { "\(inMilliseconds($0))" } ?? "null")]")
    }
    output.append("]")
  }

  /// The sessions that crashed last, by their indices. The page has a tab about them.
  private var lastCrashes: ArraySlice<Int> {
    shown.filter { sessions[$0].ending?.isCrash == true }
      .sorted { (sessions[$0].ended, $0) > (sessions[$1].ended, $1) }
      .prefix(Self.maximumStacks)
  }

  private func appendSpans(_ output: inout TextBuffer) {
    let all = spans.list
    let listed =
      all.count <= Self.maximumSpans
      ? all : Array(all.sorted { $0.length > $1.length }.prefix(Self.maximumSpans))
    output.append(
      text:
        #","otherSpans":\#(spans.others + spans.otherOpen + all.count - listed.count),"spans":["#)
    var numbers: [SessionID: Int] = [:]
    for (number, index) in shown.enumerated() { numbers[sessions[index].session.id] = number }
    output.appendList(listed) { output, span in
      let outcome = LogSpans.Outcome.allCases.firstIndex(of: span.outcome) ?? 0
      let length = span.duration.map { "\(Double($0.nanoseconds) / 1e6)" } ?? "null"
      output.append(
        text: "[\(numbers[span.session] ?? 0),\(inMilliseconds(span.start)),\(length),\(outcome)")
      let ids = [span.number, span.parent].map { $0.map(LogReader.Span.text) ?? "" }
      for text in [span.title, span.thread, span.label] + ids {
        output.append(",")
        output.append(json: text)
      }
      output.append("]")
    }
    output.append("]")
  }

  private func append(_ session: Session, hasStack: Bool, _ output: inout TextBuffer) {
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
        + #""end":\#(inMilliseconds(session.last)),"ended":\#(inMilliseconds(session.ended)),"#
        + #""records":\#(session.records),"#
        + #""errors":\#(session.severe),"ending":"\#(session.ending?.word ?? "unknown")","crash":"#
    )
    output.append(json: session.crash?.summary ?? "")
    output.append(text: #","thread":\#(session.crash?.threadID ?? 0),"stack":["#)
    output.appendList(hasStack ? session.crash.map(stack) ?? [] : []) { $0.append(json: $1) }
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

/// Elements, each of which gets a number when it first occurs, from 0.
struct Numbered<Element: Hashable> {
  private(set) var all: [Element] = []
  private var numbers: [Element: Int] = [:]
  private var last: (element: Element, number: Int)?
  /// Stands for all further elements if there are too many.
  private let others: Element

  private let maximum: Int

  init(others: Element, maximum: Int = 100_000) { (self.others, self.maximum) = (others, maximum) }

  mutating func number(of element: Element) -> Int {
    if let last, last.element == element { return last.number }
    let hasNumber = numbers[element] != nil || all.count < maximum
    let element = hasNumber ? element : others
    let number = numbers[element] ?? all.count
    if number == all.count {
      numbers[element] = number
      all.append(element)
    }
    last = (element, number)
    return number
  }
}

extension LogSpans.Span {
  /// Open spans count as the longest.
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

  /// Changes JSON that was appended from `start` on, so that no HTML parser sees an end tag or a
  /// comment in it. `<` is only within the JSON's strings.
  fileprivate mutating func escapeLessThan(from start: Int) {
    let text = withBytes(from: start) { Array($0) }
    cut(to: start)
    for byte in text {
      if byte == UInt8(ascii: "<") { append(#"\u003c"#) } else { append(byte) }
    }
  }
}
