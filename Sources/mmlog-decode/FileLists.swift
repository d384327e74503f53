import CommandLineTool
import MMLogAnalysis
import MMLogReader

/// Lists sessions, one on a line, and behind one whose process died what was in flight then.
struct SessionList {
  private var time: Timestamp
  private var spans: OpenSpanLines

  init(_ zone: LogTimeZone) {
    time = Timestamp(zone)
    spans = OpenSpanLines(zone)
  }

  consuming func print(
    _ files: LogFiles, _ filter: LogReader.Filter, _ output: StandardOutput
  ) throws -> Program.Status {
    let sessions = files.overview(filter: filter)
    for session in sessions {
      try output.append(line(session).escapedForTerminal + "\n")
      guard session.ending.isCrash else { continue }
      for line in spans.lines(files.openSpans(of: session.session.id)) {
        try output.append("  \(line)".escapedForTerminal + "\n")
      }
    }
    return sessions.contains { !$0.losses.isEmpty } ? .corruptionOrLoss : .success
  }

  private mutating func line(_ overview: SessionOverview) -> String {
    let identity = overview.session.identity
    var parts = [
      "\(identity.session)  \(identity.storeName)  \(identity.processName)[\(identity.processID)]"
        + "@\(identity.hostName)",
      "from \(time.text(of: identity.startTime))",
    ]
    if let last = overview.lastTime { parts.append("to \(time.text(of: last))") }
    parts.append(ending(overview.ending))
    if let crash = overview.crash {
      parts.append("\(crash.summary), at \(time.text(of: crash.time))")
    }
    parts.append(
      "\(count(overview.recordCount, "record")) in \(count(overview.archiveCount, "archive"))"
        + (overview.hasRing ? " and a ring" : ""))
    parts.append(overview.losses.isEmpty ? "none lost" : "\(overview.losses)")
    return parts.joined(separator: "  ")
  }

  private mutating func ending(_ ending: SessionEnding) -> String {
    switch ending {
    case .ended(let end): time.text(of: end) + recovery(end)
    case .running: "running"
    case .unknown: "end unknown"
    }
  }

  private mutating func recovery(_ end: SessionEnd) -> String {
    if end.how == .closed { return "" }
    return end.recovered.map { ", recovered at \(time.text(of: $0))" } ?? ", not recovered"
  }
}

/// Describes files: a line for each, and one for each frame or segment.
struct FileDescription {
  private var time: Timestamp

  init(_ zone: LogTimeZone) { time = Timestamp(zone) }

  consuming func print(_ reports: [FileReport], _ output: StandardOutput) throws -> Program.Status {
    for report in reports {
      try output.append(head(report).escapedForTerminal + "\n")
      for part in report.parts {
        try output.append("  \(line(part))".escapedForTerminal + "\n")
      }
    }
    return .success
  }

  private mutating func head(_ report: FileReport) -> String {
    let identity = report.identity
    let kind = report.isRing ? "ring" : "archive \(report.number)"
    return "\(report.path): \(kind) of session \(identity.session), \(report.state); store "
      + "\(identity.storeName), process \(identity.processName) (\(identity.processID)) on "
      + "\(identity.hostName), zone \(identity.timeZone), started \(time.text(of: identity.startTime)); "
      + "\(count(report.recordCount, "record"))"
  }

  private mutating func line(_ part: FileReport.Part) -> String {
    var text = "at \(part.offset), \(part.size) bytes: \(part.what)"
    if part.recordCount > 0 { text += ", \(count(part.recordCount, "record"))" }
    if let times = part.times {
      text += ", \(time.text(of: times.lowerBound)) to \(time.text(of: times.upperBound))"
    }
    return text
  }
}
