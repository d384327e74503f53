import CommandLineTool
import LogCommands
import MMLogAnalysis
import MMLogFormat
import MMLogReader
import MMLogStorage

extension Command {
  static let sessions = Command(
    "sessions",
    description: [
      "Lists sessions: process, start, last record, records, how it ended.",
      """
      Below each session are its fields, its losses, what is missing or cannot be read, what the \
      session died of, and what was in flight then. The command does not read the records of \
      archives to find what is missing or cannot be read: verify does.
      """,
    ],
    options: inputOptions + [.session, .process, .jsonSummary] + zoneOptions
      + [.quiet, .exitCode, .noPager],
    operands: inputOperands
  ) { arguments, output in
    var time = TimeFormatter(try arguments.zone())
    let filter = try arguments.sessionFilter()
    let (isJSON, columns) = (arguments.isSet(.jsonSummary), arguments.columns)
    return try arguments.withFiles { files in
      let sessions = files.overview(filter: filter)
      if sessions.isEmpty { return arguments.noSession(of: filter, files) }
      return try arguments.paging(output) {
        let table = SessionTable(sessions.map { time.cells($0) }, columns: columns)
        if !isJSON { try output.append(table.title + "\n") }
        for (index, session) in sessions.enumerated() {
          let open = try spans(of: session, files, output)
          if !output.hasReader || Interruption.isRequested { break }
          if isJSON {
            try output.append(time.json(session, open).text.escapedForTerminal + "\n")
          } else {
            let text = table.text(of: index, time.details(session, open))
            try text.withUnsafeBytes { try output.append($0.bytes) }
          }
        }
        return sessions.contains(where: \.isIncomplete) ? .corruptionOrLoss : .success
      }
    }
  }

  /// The spans in flight when a session crashed; a part of them if nobody reads the output any
  /// more.
  private static func spans(
    of session: SessionOverview, _ files: LogFiles, _ output: StandardOutput
  ) throws -> OpenSpans {
    // Nothing is written meanwhile that would find the pipe of a pager closed.
    try output.pause(milliseconds: 0)
    guard session.ending.isCrash else { return OpenSpans() }
    return files.openSpans(of: session.session.id) {
      try? output.pause(milliseconds: 0)
      return output.hasReader && !Interruption.isRequested
    }
  }

  /// Describes files: a line for each, a line for each note about an archive, and a line for each
  /// frame or segment.
  static func describe(
    _ reports: [FileReport], _ zone: LogTimeZone, _ output: StandardOutput
  ) throws -> Program.Status {
    var (time, status) = (TimeFormatter(zone), Program.Status.success)
    for report in reports {
      try output.append(time.head(report).escapedForTerminal + "\n")
      for note in time.notes(of: report) {
        try output.append("  noted: \(note)".escapedForTerminal + "\n")
      }
      for part in report.parts {
        try output.append("  \(time.line(part))".escapedForTerminal + "\n")
      }
      for corruption in report.corruption {
        try output.append("  corrupted: \(corruption.summary)".escapedForTerminal + "\n")
        status = .corruptionOrLoss
      }
    }
    return status
  }
}

extension SessionOverview {
  /// Whether something cannot be read, or is lost and no limit of retention can have deleted it.
  fileprivate var isIncomplete: Bool {
    !losses.isEmpty || !corruption.isEmpty || gaps.contains(where: \.isLoss)
  }
}

/// Lines that have times in them.
extension TimeFormatter {
  /// A row of the table.
  fileprivate mutating func cells(_ overview: SessionOverview) -> [String] {
    let identity = overview.session.identity
    return [
      String(identity.session.description.prefix(8)),
      "\(identity.processName)[\(identity.processID)]", text(of: identity.startTime, digits: 0),
      overview.lastTime.map { text(of: $0, digits: 0) } ?? "-", "\(overview.recordCount)",
      ending(overview.ending),
    ]
  }

  /// What else is known of a session.
  fileprivate mutating func details(_ overview: SessionOverview, _ open: OpenSpans) -> [String] {
    let identity = overview.session.identity
    var details = ["\(identity.session)  store \(identity.storeName)  host \(identity.hostName)"]
    details[0] +=
      "  \(count(overview.archiveCount, "archive"))"
      + (overview.hasRing ? " and a ring" : "") + overview.session.fieldText
    if !overview.losses.isEmpty { details.append("\(overview.losses)") }
    details += overview.gaps.map { $0.summary(&self) }
    details += overview.corruption.prefix(20).map { "\($0.path): corrupted: \($0.summary)" }
    let others = overview.corruption.count - 20
    if others > 0 { details.append(count(others, "more place") + " corrupted") }
    if let crash = overview.crash {
      details.append("\(crash.summary), at \(text(of: crash.time))")
      if !crash.message.isEmpty { details.append("said: \(crash.message)") }
    }
    if !overview.state.isEmpty {
      details.append("state: \(overview.stateInWords.texts.joined(separator: " "))")
    }
    return details + lines(open).map { "in flight when it died: \($0)" }
  }

  fileprivate mutating func head(_ report: FileReport) -> String {
    let identity = report.identity
    let kind = report.isRing ? "ring" : "archive \(report.number)"
    return "\(report.path): \(kind) of session \(identity.session), \(report.state); store "
      + "\(identity.storeName), process \(identity.processName) (\(identity.processID)) on "
      + "\(identity.hostName), zone \(identity.timeZone), started "
      + "\(text(of: identity.startTime)); "
      + "\(count(report.recordCount, "record"))"
  }

  /// The notes about a file; none if it cannot be read, for example because it was just deleted.
  fileprivate mutating func notes(of report: FileReport) -> [String] {
    if report.isRing {
      return (try? ControlPage(ofRingAt: report.path))?.notes ?? []
    }
    return (try? ArchiveInfo.State(ofArchiveAt: report.path)).map { notes($0) } ?? []
  }

  /// The notes about an archive, such as `pinned: its incident is open`.
  fileprivate mutating func notes(_ state: ArchiveInfo.State) -> [String] {
    var notes: [String] = []
    if let uploaded = state.uploaded {
      let receipt = state.receipt.map { ", receipt \($0)" } ?? ""
      notes.append("uploaded at \(text(of: uploaded))\(receipt)")
    }
    if let reason = state.pinned { notes.append("pinned: \(reason)") }
    if let lease = state.lease {
      notes.append("leased by \(lease.owner) until \(text(of: lease.expiry))")
    }
    return notes
      + state.attributes.sorted { $0.key < $1.key }.map { "attribute \($0.key): \($0.value)" }
  }

  fileprivate mutating func line(_ part: FileReport.Part) -> String {
    var text = "at \(part.offset), \(part.size) bytes: \(part.what)"
    if part.recordCount > 0 { text += ", \(count(part.recordCount, "record"))" }
    if let times = part.times {
      text += ", \(self.text(of: times.lowerBound)) to \(self.text(of: times.upperBound))"
    }
    return text
  }
}

extension ControlPage {
  /// What a process says in its ring about records that it leaves out, and the rules from outside.
  fileprivate var notes: [String] {
    let rules = overrides.map { "rule from outside: \($0.rule)" }
    if suppressedCount == 0 { return rules }
    return ["\(count(Int(clamping: suppressedCount), "record")) suppressed by rate limits"] + rules
  }
}
