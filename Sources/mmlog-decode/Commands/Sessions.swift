import CommandLineTool
import MMLogAnalysis
import MMLogReader
import MMLogStorage

extension Command {
  static let sessions = Command(
    "sessions",
    description: [
      "Lists sessions: process, start, last record, how it ended, records, losses.",
      "Below one whose process died is what was in flight then.",
    ],
    options: [.recursive, .session, .process] + zoneOptions + [.quiet], operands: inputOperands
  ) { arguments, output in
    var time = TimeFormatter(try arguments.zone())
    let filter = try arguments.sessionFilter()
    return try arguments.withFiles { files in
      let sessions = files.overview(filter: filter)
      for session in sessions {
        try output.append(time.line(session).escapedForTerminal + "\n")
        guard session.ending.isCrash else { continue }
        for line in time.lines(files.openSpans(of: session.session.id)) {
          try output.append("  in flight when it died: \(line)".escapedForTerminal + "\n")
        }
      }
      return sessions.contains { !$0.losses.isEmpty } ? .corruptionOrLoss : .success
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

/// Lines that have times in them.
extension TimeFormatter {
  fileprivate mutating func line(_ overview: SessionOverview) -> String {
    let identity = overview.session.identity
    var parts = [
      "\(identity.session)  \(identity.storeName)  \(identity.processName)[\(identity.processID)]"
        + "@\(identity.hostName)",
      "from \(text(of: identity.startTime))",
    ]
    if let last = overview.lastTime { parts.append("to \(text(of: last))") }
    parts.append(ending(overview.ending))
    if let crash = overview.crash {
      parts.append("\(crash.summary), at \(text(of: crash.time))")
    }
    parts.append(
      "\(count(overview.recordCount, "record")) in \(count(overview.archiveCount, "archive"))"
        + (overview.hasRing ? " and a ring" : ""))
    parts.append(overview.losses.isEmpty ? "none lost" : "\(overview.losses)")
    return parts.joined(separator: "  ") + overview.session.fieldText
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
