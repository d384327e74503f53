import CommandLineTool
import MMLogAnalysis
import MMLogFormat
import MMLogReader

extension Command {
  static let crash = Command(
    "crash",
    description: [
      "Prints what a session died of, and what it did last.",
      """
      That is the fatal signal, the functions that were under way, the registers, the spans that \
      had begun and not ended, and the last records of each thread. It is about the session that \
      ended last without being closed, unless --session names another one.
      """,
    ],
    options: [.recursive, .session, .process, .records] + zoneOptions + [.quiet],
    operands: inputOperands
  ) { arguments, output in
    let zone = try arguments.zone()
    let filter = try arguments.sessionFilter()
    let count = try arguments.integer(of: .records, in: 0...100_000_000) ?? 20
    return try arguments.withFiles { files in
      guard let session = files.lastCrashedSession(filter: filter) else {
        complain("no session crashed")
        return .success
      }
      return try CrashOutput(files, session, zone).print(recordsOfThread: count, to: output)
    }
  }
}

/// What `mmlog-decode crash` prints of a session.
private struct CrashOutput {
  private let files: LogFiles
  private let session: LogReader.Session
  private let zone: LogTimeZone

  init(_ files: LogFiles, _ session: LogReader.Session, _ zone: LogTimeZone) {
    (self.files, self.session, self.zone) = (files, session, zone)
  }

  func print(recordsOfThread count: Int, to output: StandardOutput) throws -> Program.Status {
    var filter = LogReader.Filter()
    filter.sessions = [session.id.description]
    var text = TextBuffer()
    var threads = LastRecords(count)
    var unfinished: [String] = []
    var status = Program.Status.success
    for item in files.lastCrash(recordsOfThread: count, filter: filter) ?? LogReader(files) {
      switch item {
      case .record(let record): threads.add(record)
      case .unfinished(let record): unfinished.append(record.summary)
      case .corruption(let corruption):
        Command.complain("\(corruption.path): corrupted: \(corruption.summary)")
        status = .corruptionOrLoss
      case .losses(_, let ledger):
        Command.complain("\(session.title): \(ledger)")
        status = .corruptionOrLoss
      case .gap, .crashed, .sessionStarted, .sessionEnded: continue
      }
    }
    let overview = files.overview(filter: filter).first
    appendHead(overview, &text)
    append("In flight when it died", inFlight, &text)
    append("Unfinished", unfinished, &text)
    threads.append(crashed: overview?.crash?.threadID, zone, to: &text)
    try text.withUnsafeBytes { try output.append($0.bytes) }
    return status
  }

  private func appendHead(_ overview: SessionOverview?, _ text: inout TextBuffer) {
    var time = TimeFormatter(zone)
    text.append("\(session.title), started at \(time.text(of: session.identity.startTime))", .plain)
    text.append("\n")
    guard let overview else { return }
    text.append(time.ending(overview.ending), .plain)
    text.append("\n")
    guard let crash = overview.crash else { return }
    append(crash.summary, crash.details, &text)
  }

  private var inFlight: [String] {
    var time = TimeFormatter(zone)
    return time.lines(files.openSpans(of: session.id)).map { "  \($0)" }
  }

  private func append(_ title: String, _ lines: [String], _ text: inout TextBuffer) {
    if lines.isEmpty { return }
    text.append("\n")
    text.append(title, .plain)
    text.append(":\n")
    for line in lines {
      text.append(line, .plain)
      text.append("\n")
    }
  }
}

/// The last records of each thread.
private struct LastRecords {
  private let count: Int
  private var threads: [UInt32: [LogReader.Record]] = [:]

  init(_ count: Int) { self.count = count }

  mutating func add(_ record: LogReader.Record) {
    threads[record.thread.ordinal, default: []].append(record)
  }

  /// The thread that crashed comes first.
  func append(crashed: UInt32?, _ zone: LogTimeZone, to text: inout TextBuffer) {
    var formatter = TextFormatter(zone: zone)
    let sorted = threads.sorted { a, b in
      let isFirst = (a.value[0].thread.id == crashed, b.value[0].thread.id == crashed)
      return isFirst.0 != isFirst.1 ? isFirst.0 : a.key < b.key
    }
    for (_, records) in sorted {
      let thread = records[0].thread
      let name = thread.name.isEmpty ? "" : " \(thread.name)"
      let what = thread.id == crashed ? ", which crashed" : ""
      text.append("\n")
      text.append("Last records of thread \(thread.id)\(name)\(what):", .plain)
      text.append("\n")
      for record in records { formatter.append(record, to: &text) }
    }
  }
}

extension Option {
  fileprivate static let records = Option(
    "tail", short: "n", value: "N", "The last N records of each thread: 20 without it.")
}
