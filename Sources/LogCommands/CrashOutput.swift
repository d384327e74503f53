import MMLogAnalysis
package import MMLogFormat
package import MMLogReader

/// What `mmlog-decode crash` prints of a session.
package struct CrashOutput {
  private let session: LogReader.Session
  private let zone: LogTimeZone
  /// The width of the terminal; nil if the output is no terminal.
  private let columns: Int?
  private let hasColors: Bool
  private let overview: SessionOverview?
  private let inFlight: OpenSpans
  private var threads: [UInt32: [LogReader.Record]] = [:]
  /// What the kept records take in memory, and how many records were forgotten to make room.
  private var (kept, keptBytes, forgotten) = (KeptBytes(), 0, 0)
  private static let maximumKeptBytes = 128 << 20
  private var unfinished: [String] = []
  /// Whether nothing of the session is missing.
  package private(set) var isComplete = true
  private let complaint: (String) -> Void

  /// Reads a session.
  ///
  /// - Parameters:
  ///   - count: How many of the last records of each thread to keep.
  ///   - columns: The width of the terminal; nil if the output is no terminal.
  ///   - hasColors: Whether the text has colors.
  ///   - complain: Receives a sentence for each thing that is missing.
  package init(
    _ files: LogFiles, _ session: LogReader.Session, _ zone: LogTimeZone,
    recordsOfThread count: Int, columns: Int? = nil, hasColors: Bool = false,
    complain: @escaping (String) -> Void
  ) {
    (self.session, self.zone, complaint) = (session, zone, complain)
    (self.columns, self.hasColors) = (columns, hasColors)
    var filter = LogReader.Filter()
    filter.sessions = [session.id.description]
    overview = files.overview(filter: filter).first
    inFlight = files.openSpans(of: session.id)
    guard let reader = files.lastCrash(recordsOfThread: count, filter: filter) else { return }
    for item in reader { add(item) }
    if forgotten > 0 {
      complain("\(forgotten) of the last records of threads are left out: they are too large")
    }
  }

  private mutating func add(_ item: LogReader.Item) {
    switch item {
    case .record(let record):
      keep(record)
      if keptBytes > Self.maximumKeptBytes { forgetEarliest() }
    case .unfinished(let record): unfinished.append(record.summary)
    case .corruption(let corruption):
      complain("\(corruption.path): corrupted: \(corruption.summary)")
    case .losses(_, let ledger): complain("\(session.title): \(ledger)")
    case .gap, .crashed, .sessionStarted, .sessionEnded: return
    }
  }

  private mutating func keep(_ record: LogReader.Record) {
    threads[record.thread.ordinal, default: []].append(record)
    // An array that grows may have room for as many records again.
    keptBytes += kept.add(record) + MemoryLayout<LogReader.Record>.stride
  }

  /// Forgets the earlier half of the records: even a record of a few bytes may keep a frame in
  /// memory.
  private mutating func forgetEarliest() {
    let all = threads.values.joined().sorted { $0.time < $1.time }
    let rest = all.suffix(max(1, all.count / 2))
    forgotten += all.count - rest.count
    (threads, kept, keptBytes) = ([:], KeptBytes(), 0)
    for record in rest { keep(record) }
  }

  private mutating func complain(_ sentence: String) {
    complaint(sentence)
    isComplete = false
  }

  /// The records of each thread. Those of the thread that crashed come first.
  private var sortedThreads: [(thread: LogReader.Thread, hasCrashed: Bool, [LogReader.Record])] {
    let all = threads.sorted { $0.key < $1.key }
    // The system may have given the crashed thread's id to threads that ended earlier.
    let crashed = all.last { $1[0].thread.id == overview?.crash?.threadID }?.key
    let marked = all.map { ($1[0].thread, $0 == crashed, $1) }
    return marked.filter(\.1) + marked.filter { !$0.1 }
  }

  // MARK: - As text

  /// Makes the text for people.
  ///
  /// - Parameter handOn: Takes the text made so far, whenever it is large: all messages together
  ///   may be larger than memory.
  package func printText(_ handOn: (borrowing TextBuffer) throws -> Void) rethrows {
    var text = TextBuffer()
    var time = TimeFormatter(zone)
    append("\(session.title), started at \(time.text(of: session.identity.startTime))", &text)
    if let overview { append(time.ending(overview.ending), &text) }
    if let crash = overview?.crash {
      let stack = SourceLines.added(to: crash.stack)
      append(crash.summary, crash.details(of: stack, columns: columns ?? 104), &text)
    }
    append("Last state", overview?.stateInWords.texts.map { "  \($0)" } ?? [], &text)
    append("In flight when it died", time.lines(inFlight).map { "  \($0)" }, &text)
    append("Unfinished", unfinished, &text)
    var formatter: any LogFormatter = TextFormatter(zone: zone, colors: hasColors)
    if let columns {
      formatter = TerminalFormatter(zone: zone, colors: hasColors, columns: columns)
    }
    for (thread, hasCrashed, records) in sortedThreads {
      let name = thread.name.isEmpty ? "" : " \(thread.name)"
      text.append("\n")
      append(
        "Last records of thread \(thread.id)\(name)\(hasCrashed ? ", which crashed" : ""):", &text)
      for record in records {
        formatter.append(record, to: &text)
        try handOnMuch(of: &text, handOn)
      }
    }
    try handOn(text)
  }

  private func handOnMuch(
    of text: inout TextBuffer, _ handOn: (borrowing TextBuffer) throws -> Void
  ) rethrows {
    guard text.count >= Self.much else { return }
    try handOn(text)
    text.removeAll(keeping: Self.much)
  }

  /// The number of bytes that are handed on at a time.
  private static let much = 1 << 20

  private func append(_ title: String, _ lines: [String], _ text: inout TextBuffer) {
    if lines.isEmpty { return }
    text.append("\n")
    append("\(title):", &text)
    for line in lines { append(line, &text) }
  }

  private func append(_ line: String, _ text: inout TextBuffer) {
    let escaped = line.escapedForTerminal
    TerminalFormatter.append(escaped, columns ?? .max, indent: 6, to: &text)
    text.append("\n")
  }

  // MARK: - As JSON

  /// Makes the text for programs.
  ///
  /// - Parameter handOn: As that of ``printText(_:)``.
  package func printJSON(_ handOn: (borrowing TextBuffer) throws -> Void) rethrows {
    var text = TextBuffer()
    var time = TimeFormatter(zone)
    var object = JSONObject()
    object.add(session)
    object.add("start_time", session.identity.startTime, &time)
    if let overview { time.add(overview.ending, to: &object) }
    if let crash = overview?.crash { object.add("crash", json: crash.json.text) }
    object.add("state", json: overview?.stateInWords.json.text)
    object.add("in_flight", json: JSONObject.array(inFlight.list.map { time.json($0).text }))
    object.add("unfinished", json: JSONObject.array(unfinished.map(JSONObject.text)))
    text.append(text: object.text)
    text.append(member: "threads")
    for (index, (thread, hasCrashed, records)) in sortedThreads.enumerated() {
      if index > 0 { text.append(",") }
      text.append(text: json(thread, hasCrashed).text)
      text.append(member: "records")
      var formatter = JSONFormatter(zone: zone)
      for (index, record) in records.enumerated() {
        if index > 0 { text.append(",") }
        formatter.append(record, to: &text)
        text.removeLast()
        try handOnMuch(of: &text, handOn)
      }
      text.append("]}")
    }
    text.append("]}\n")
    try handOn(text)
  }

  private func json(_ thread: LogReader.Thread, _ hasCrashed: Bool) -> JSONObject {
    var object = JSONObject()
    object.add("thread_id", thread.id)
    object.add("thread_ordinal", thread.ordinal)
    if !thread.name.isEmpty { object.add("thread_name", thread.name) }
    object.add("crashed", json: "\(hasCrashed)")
    return object
  }
}

extension TextBuffer {
  /// Reopens an object that is complete, and begins an array as its last member.
  fileprivate mutating func append(member name: StaticString) {
    removeLast()
    append(",\"")
    append(name)
    append("\":[")
  }

  fileprivate mutating func removeLast() { cut(to: count - 1) }
}

extension CrashReport {
  fileprivate var json: JSONObject {
    var object = JSONObject()
    object.add("summary", summary)
    object.add("signal", signalName)
    object.add("signal_number", signal)
    object.add("signal_code", code)
    if sender != 0 { object.add("sender", sender) }
    if hasAddress { object.add("address", "0x\(String(address, radix: 16))") }
    object.add("thread_id", threadID)
    if !threadName.isEmpty { object.add("thread_name", threadName) }
    let stack = SourceLines.added(to: self.stack)
    object.add("said", said(at: stack))
    object.add("frames", json: JSONObject.array(stack.map(\.json.text)))
    var values = JSONObject()
    for (name, value) in zip(registerNames, registers) {
      values.add(name, "0x\(String(value, radix: 16))")
    }
    object.add("registers", json: values.text)
    return object
  }
}

extension CrashReport.Frame {
  fileprivate var json: JSONObject {
    var object = JSONObject()
    object.add("address", "0x\(String(address, radix: 16))")
    object.add("function", function?.name)
    object.add("offset", function?.offset)
    object.add("source", line)
    object.add("module", path)
    if path != nil { object.add("module_offset", "0x\(String(place, radix: 16))") }
    return object
  }
}
