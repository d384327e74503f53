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
      "Below each are its fields, its losses, what it died of, and what was in flight then.",
    ],
    options: [.recursive, .session, .process, .jsonSummary] + zoneOptions + [.quiet, .noPager],
    operands: inputOperands
  ) { arguments, output in
    var time = TimeFormatter(try arguments.zone())
    let filter = try arguments.sessionFilter()
    let isJSON = arguments.isSet(.jsonSummary)
    return try arguments.withFiles { files in
      let sessions = files.overview(filter: filter)
      return try arguments.paging(output) {
        if !isJSON { try output.append(sessionTitles + "\n") }
        for session in sessions {
          let open = session.ending.isCrash ? files.openSpans(of: session.session.id) : OpenSpans()
          let lines = isJSON ? [time.json(session, open).text] : time.lines(session, open)
          for line in lines { try output.append(line.escapedForTerminal + "\n") }
        }
        return sessions.contains { !$0.losses.isEmpty } ? .corruptionOrLoss : .success
      }
    }
  }

  /// Describes files: a line for each, and one for each thing that is noted about an archive, and
  /// for each frame or segment.
  static func describe(
    _ reports: [FileReport], _ zone: LogTimeZone, _ output: StandardOutput
  ) throws -> Program.Status {
    var time = TimeFormatter(zone)
    for report in reports {
      try output.append(time.head(report).escapedForTerminal + "\n")
      // Nothing is said where it cannot be read, as of an archive that was deleted meanwhile.
      if !report.isRing, let state = try? ArchiveInfo.State(ofArchiveAt: report.path) {
        for note in time.notes(state) {
          try output.append("  noted: \(note)".escapedForTerminal + "\n")
        }
      }
      for part in report.parts {
        try output.append("  \(time.line(part))".escapedForTerminal + "\n")
      }
    }
    return .success
  }
}

extension TimeFormatter {
  /// Spans that had begun and not ended when their process died, a line for each; none if there was
  /// nothing in flight.
  mutating func lines(_ spans: OpenSpans) -> [String] {
    var lines: [String] = []
    for span in spans.list.prefix(20) { lines.append(line(span)) }
    let others = spans.count - lines.count
    return others > 0 ? lines + [count(others, "more span")] : lines
  }

  private mutating func line(_ span: OpenSpans.Open) -> String {
    let parent = span.parent.map { ", part of \(LogReader.Span.text(of: $0))" } ?? ""
    let label = span.label.isEmpty ? "" : "\(span.label), "
    return "\(span.message) (\(label)thread \(span.thread), since \(text(of: span.time)), span "
      + "\(LogReader.Span.text(of: span.number))\(parent))"
  }

  /// `ended by SIGTERM from process 4711 at 2026-11-21T09:00:00.000000000Z`
  mutating func text(of end: SessionEnd) -> String {
    let isCertain = end.how != .killed && end.how != .powerLost
    return "\(end.summary)\(isCertain ? "" : ", last sign of life") at \(text(of: end.time))"
  }
}

private let sessionTitles =
  ["SESSION", "PROCESS", "STARTED", "LAST RECORD", "RECORDS", "ENDED"].inColumns

extension [String] {
  /// The cells of a row of the table of sessions.
  fileprivate var inColumns: String {
    zip(self, [10, 22, 27, 27, 9, 0]).map { cell, width in
      cell + String(repeating: " ", count: Swift.max(2, width - cell.count))
    }.joined().trimmed
  }
}

extension String {
  fileprivate var trimmed: String { String(reversed().drop { $0 == " " }.reversed()) }
}

extension LossLedger {
  /// Counts by cause and level.
  fileprivate var json: String {
    var object = JSONObject()
    for cause in Cause.allCases where total(cause) > 0 {
      var levels = JSONObject()
      for level in Level.allCases where self[cause, level] > 0 {
        levels.add(level.description, self[cause, level])
      }
      object.add("\(cause)", json: levels.text)
    }
    return object.text
  }
}

/// Lines that have times in them.
extension TimeFormatter {
  /// A line of the table, and what else there is to know below it.
  fileprivate mutating func lines(_ overview: SessionOverview, _ open: OpenSpans) -> [String] {
    let identity = overview.session.identity
    let row = [
      String(identity.session.description.prefix(8)),
      "\(identity.processName)[\(identity.processID)]", text(of: identity.startTime, digits: 0),
      overview.lastTime.map { text(of: $0, digits: 0) } ?? "-", "\(overview.recordCount)",
      ending(overview.ending),
    ]
    var details = ["\(identity.session)  store \(identity.storeName)  host \(identity.hostName)"]
    details[0] +=
      "  \(count(overview.archiveCount, "archive"))"
      + (overview.hasRing ? " and a ring" : "") + overview.session.fieldText
    if !overview.losses.isEmpty { details.append("\(overview.losses)") }
    if let crash = overview.crash {
      details.append("\(crash.summary), at \(text(of: crash.time))")
    }
    details += lines(open).map { "in flight when it died: \($0)" }
    return [row.inColumns] + details.map { "  \($0)" }
  }

  /// The same for programs.
  fileprivate mutating func json(_ overview: SessionOverview, _ open: OpenSpans) -> JSONObject {
    var object = JSONObject()
    object.add(overview.session)
    object.add("start_time", overview.session.identity.startTime, &self)
    object.add("last_record_time", overview.lastTime, &self)
    object.add("records", overview.recordCount)
    object.add("archives", overview.archiveCount)
    object.add("has_ring", json: "\(overview.hasRing)")
    add(overview.ending, to: &object)
    object.add("crash", overview.crash?.summary)
    if !overview.losses.isEmpty { object.add("lost", json: overview.losses.json) }
    if overview.ending.isCrash { object.add("in_flight", open.count) }
    return object
  }

  mutating func add(_ ending: SessionEnding, to object: inout JSONObject) {
    switch ending {
    case .running: object.add("ending", "running")
    case .unknown: object.add("ending", "unknown")
    case .ended(let end):
      object.add("ending", "\(end.how)")
      object.add("is_crash", json: "\(end.how.isCrash)")
      object.add("ending_text", end.summary)
      object.add("ending_time", end.time, &self)
      if end.signal != 0 { object.add("ending_signal", end.signal) }
      if end.sender != 0 { object.add("ending_sender", end.sender) }
      object.add("recovered_time", end.recovered, &self)
    }
  }

  mutating func ending(_ ending: SessionEnding) -> String {
    switch ending {
    case .ended(let end): text(of: end) + recovery(end)
    case .running: "running"
    case .unknown: "end unknown"
    }
  }

  private mutating func recovery(_ end: SessionEnd) -> String {
    if end.how == .closed { return "" }
    return end.recovered.map { ", recovered at \(text(of: $0))" } ?? ", not recovered"
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

  /// What is noted about an archive, such as `pinned: its incident is open`.
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
