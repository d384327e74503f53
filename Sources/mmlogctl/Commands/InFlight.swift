import CommandLineTool
import Glibc
import LogCommands
import MMLogFormat
import MMLogReader
import MMLogStorage
import MMLogSystem

extension Command {
  static let inFlight = Command(
    "in-flight",
    description: [
      """
      Shows what running processes are doing: each thread's last record and its age, and the spans \
      that have begun and not ended.
      """,
      """
      The command asks the process for nothing, so it also shows a process that hangs or is \
      stopped (SIGSTOP). With --older-than DURATION, it shows only spans that have been open, and \
      threads that have logged nothing, for at least DURATION, and --exec runs a command once for \
      each process that has such a span or thread: a watchdog. The command gets MMLOG_PID, \
      MMLOG_PROCESS, MMLOG_SESSION, MMLOG_STORE, MMLOG_SPANS and MMLOG_THREADS (how many), \
      MMLOG_AGE (of the oldest, in seconds), and MMLOG_SPAN and MMLOG_SPAN_NAME (of the oldest \
      span) in its environment. MMLOG_PID is empty if the command does not see a process with that \
      number and name that has the ring: in a container, processes have other numbers.
      """,
      """
      The command reads all records of these processes' sessions. With --since, it reads only \
      records from that time on, and does not know spans that began earlier.
      """,
    ],
    options: [
      .olderThan, .spansOnly, .exec, .since, .identity, .jsonSummary, .exitCode,
    ] + zoneOptions + [.silent],
    operands: storeOperands,
    examples: [
      Example("What hangs", "mmlogctl in-flight --older-than 5s /var/log/orders"),
      Example(
        "A watchdog, each second, that has the service write a core dump",
        """
        watch -n 1 "mmlogctl in-flight --spans-only --older-than 30s --exec 'kill -ABRT \
        \\$MMLOG_PID' /var/log/orders"
        """),
    ]
  ) { arguments, output in
    let minimum = try arguments.value(
      of: .olderThan, expected: "a time such as 5s, 10m or 2h", durationArgument)
    let command = arguments.value(of: .exec)
    if command != nil, minimum == nil {
      throw UsageError("--exec is for what takes too long; give --older-than, too")
    }
    let zone = try arguments.zone()
    var time = TimeFormatter(zone)
    var filter = LogReader.Filter()
    try arguments.setTimes(of: &filter, zone)
    let found = try FoundRings(arguments.directories(), withArchives: false)
    if found.running.isEmpty { return found.reportNone() }
    let reading = InFlightReading(found, filter, try arguments.identities())
    var isComplete = found.isComplete && reading.isComplete
    var isAny = false
    var asked: Set<String> = []
    for ring in found.running {
      let state = reading.state(
        of: ring, olderThan: minimum ?? .zero, hasThreads: !arguments.isSet(.spansOnly))
      let isFound = !state.spans.isEmpty || !state.threads.isEmpty
      isAny = isAny || isFound
      if minimum != nil, !isFound { continue }
      if !arguments.isSet(.silent) {
        let lines =
          arguments.isSet(.jsonSummary) ? [time.json(state).text] : time.lines(state)
        for line in lines { try output.append(line.escapedForTerminal + "\n") }
        try output.flush()
      }
      // A process may have several stores. A process of another namespace has no number here.
      let identity = ring.identity
      let process = ring.processState == nil ? "\(identity.session)" : "\(identity.processID)"
      if let command, isFound, asked.insert(process).inserted, !state.run(command) {
        Command.complain("the command failed for \(identity.processTitle): \(command)")
        isComplete = false
      }
    }
    if !isComplete { return .corruptionOrLoss }
    return !isAny && arguments.isSet(.exitCode) ? .nothingMatched : .success
  }
}

/// What a process is doing.
private struct InFlight {
  /// A thread's last record.
  struct LastRecord {
    let thread: LogReader.Thread
    let time: Timestamp
    let level: Level
    /// The first 200 characters of each.
    let (label, message): (String, String)

    init(_ record: LogReader.Record) {
      (thread, time, level) = (record.thread, record.time, record.level)
      (label, message) = (record.label.first200, record.message.first200)
    }
  }

  let ring: RingStatus
  /// The spans that have not ended, the oldest first.
  var spans: [OpenSpans.Open]
  /// The present threads, the one that has been silent longest first.
  var threads: [LastRecord]
  let now: Timestamp

  func age(since time: Timestamp) -> Duration { max(.zero, now - time) }

  /// Runs a command of a shell.
  ///
  /// - Returns: Whether it succeeded.
  func run(_ command: String) -> Bool {
    let identity = ring.identity
    let oldest = [spans.first?.time, threads.first?.time].compactMap(\.self).min() ?? now
    // In another namespace, the number belongs to another process here.
    let id = ring.processState == nil ? "" : "\(identity.processID)"
    let variables = [
      "PID": id, "PROCESS": identity.processName,
      "SESSION": "\(identity.session)", "STORE": identity.storeName, "SPANS": "\(spans.count)",
      "THREADS": "\(threads.count)", "AGE": "\(age(since: oldest).components.seconds)",
      "SPAN": spans.first.map { LogReader.Span.text(of: $0.number) } ?? "",
      "SPAN_NAME": spans.first?.message ?? "",
    ]
    for (name, value) in variables { setenv("MMLOG_\(name)", value, 1) }
    guard let program = PipedProgram.reading(command) else { return false }
    close(program.pipe)
    return program.wait() == 0
  }
}

/// Reads the sessions of running processes: their open spans, and each thread's last record.
private struct InFlightReading {
  private var spans = OpenSpans()
  private var threads: [SessionID: [UInt32: InFlight.LastRecord]] = [:]
  private let now = Timestamp.now
  /// Whether all could be read.
  private(set) var isComplete = true

  init(_ found: FoundRings, _ filter: LogReader.Filter, _ identities: LogIdentities) {
    File.raiseOpenLimit()
    var filter = filter
    filter.sessions = found.running.map { $0.identity.session.description }
    let files = LogFiles(found.folders.map(LogReader.Input.path), identities: identities)
    let complaints = Complaints(Command.complain)
    for error in files.unreadable { complaints.add(error.message) }
    complaints.end()
    isComplete = files.unreadable.isEmpty
    let reader = LogReader(files, filter: filter)
    var corruption = 0
    while let chunk = reader.nextChunk() {
      switch chunk {
      case .records(let records): add(records)
      case .item(.record(let record)):
        spans.add(record)
        threads[record.session.id, default: [:]][record.thread.ordinal] = .init(record)
      case .item(.corruption): corruption += 1
      case .item: continue
      }
    }
    if corruption > 0 {
      complain("\(count(corruption, "place")) could not be read; mmlog-decode verify has each")
    }
  }

  private mutating func complain(_ sentence: String) {
    Command.complain(sentence)
    isComplete = false
  }

  /// Makes the message of each thread's last record only: there may be millions of records.
  private mutating func add(_ records: LogReader.Records) {
    var last: [UInt32: LogReader.Record] = [:]
    var newest: LogReader.Record?
    records.forEach { record in
      spans.add(record)
      // A record is only noted if one of another thread follows: mostly, the same thread goes on.
      if let newest, newest.thread !== record.thread { last[newest.thread.ordinal] = newest }
      newest = record
    }
    if let newest { last[newest.thread.ordinal] = newest }
    for (ordinal, record) in last {
      threads[record.session.id, default: [:]][ordinal] = .init(record)
    }
  }

  func state(of ring: RingStatus, olderThan minimum: Duration, hasThreads: Bool) -> InFlight {
    let session = ring.identity.session
    let writing = Set(ring.writers.map(\.thread.ordinal))
    let all = hasThreads ? Array((threads[session] ?? [:]).values) : []
    let present = all.filter { writing.contains($0.thread.ordinal) || ring.hasThread($0.thread.id) }
    var result = InFlight(
      ring: ring, spans: spans.list.filter { $0.session == session },
      threads: present.sorted { ($0.time, $0.thread.ordinal) < ($1.time, $1.thread.ordinal) },
      now: now)
    result.spans = result.spans.filter { result.age(since: $0.time) >= minimum }
    result.threads = result.threads.filter { result.age(since: $0.time) >= minimum }
    return result
  }
}

extension RingStatus {
  /// Whether the process has a thread, as far as the kernel says: a thread that has left its
  /// segment may go on without logging.
  fileprivate func hasThread(_ id: UInt32) -> Bool {
    processState != nil
      && (try? File.status(ofPath: "/proc/\(identity.processID)/task/\(id)")) != nil
  }
}

extension TimeFormatter {
  fileprivate mutating func lines(_ state: InFlight) -> [String] {
    let ring = state.ring
    var lines = [
      "\(ring.identity.processTitle)  \(ring.stateName)  session \(ring.identity.session), "
        + "last sign of life \(ageText(ring.silence)) ago"
    ]
    for span in state.spans {
      let parent = span.parent.map { ", part of \(LogReader.Span.text(of: $0))" } ?? ""
      lines.append(
        "  span    \(age(state, span.time))  \(span.message)  (\(span.label), thread "
          + "\(span.thread), span \(LogReader.Span.text(of: span.number))\(parent))")
    }
    for last in state.threads {
      let name = last.thread.name.isEmpty ? "" : " \(last.thread.name)"
      lines.append(
        "  thread  \(age(state, last.time))  \(last.thread.id)\(name)  \(last.level) "
          + "\(last.label): \(last.message)")
    }
    return lines
  }

  private func age(_ state: InFlight, _ time: Timestamp) -> String {
    let text = ageText(state.age(since: time))
    return text + String(repeating: " ", count: max(0, 12 - text.count))
  }

  fileprivate mutating func json(_ state: InFlight) -> JSONObject {
    var object = JSONObject()
    object.add(LogReader.Session(state.ring.identity))
    object.add("process_state", state.ring.stateName)
    object.add("silence_ns", state.ring.silence.nanoseconds)
    var spans: [String] = []
    for span in state.spans {
      var entry = json(span)
      entry.add("age_ns", state.age(since: span.time).nanoseconds)
      spans.append(entry.text)
    }
    var threads: [String] = []
    for last in state.threads {
      var entry = JSONObject()
      entry.add("thread_id", last.thread.id)
      entry.add("thread_ordinal", last.thread.ordinal)
      if !last.thread.name.isEmpty { entry.add("thread_name", last.thread.name) }
      entry.add("age_ns", state.age(since: last.time).nanoseconds)
      entry.add("time", last.time, &self)
      entry.add("severity_text", last.level.description)
      entry.add("scope_name", last.label)
      entry.add("body", last.message)
      threads.append(entry.text)
    }
    object.add("spans", json: JSONObject.array(spans))
    object.add("threads", json: JSONObject.array(threads))
    return object
  }
}

extension Option {
  fileprivate static let olderThan = Option(
    "older-than", value: "DURATION",
    """
    Only spans that have been open, and threads that have been silent, for DURATION or longer, \
    such as 5s or 10m.
    """)
  fileprivate static let spansOnly = Option(
    "spans-only", "Only spans: a thread that waits for work also logs nothing.")
  fileprivate static let exec = Option(
    "exec", value: "COMMAND", "Run a line of shell for each process that is shown.")
}
