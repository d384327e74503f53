import CommandLineTool
import MMLogAnalysis
import MMLogReader

extension FileJob {
  /// Lists sessions, one on a line, and behind one whose process died what was in flight then.
  func list(
    _ files: LogFiles, _ filter: LogReader.Filter, _ zone: LogTimeZone, _ output: StandardOutput
  ) throws -> Program.Status {
    var time = TimeFormatter(zone)
    let sessions = files.overview(filter: filter)
    for session in sessions {
      try output.append(time.line(session).escapedForTerminal + "\n")
      guard session.ending.isCrash else { continue }
      for line in files.openSpans(of: session.session.id).lines(&time) {
        try output.append("  \(line)".escapedForTerminal + "\n")
      }
    }
    return sessions.contains { !$0.losses.isEmpty } ? .corruptionOrLoss : .success
  }

  /// Describes files: a line for each, and one for each frame or segment.
  func describe(
    _ reports: [FileReport], _ zone: LogTimeZone, _ output: StandardOutput
  ) throws -> Program.Status {
    var time = TimeFormatter(zone)
    for report in reports {
      try output.append(time.head(report).escapedForTerminal + "\n")
      for part in report.parts {
        try output.append("  \(time.line(part))".escapedForTerminal + "\n")
      }
    }
    return .success
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

  fileprivate mutating func ending(_ ending: SessionEnding) -> String {
    switch ending {
    case .ended(let end): text(of: end) + recovery(end)
    case .running: "running"
    case .unknown: "end unknown"
    }
  }

  fileprivate mutating func recovery(_ end: SessionEnd) -> String {
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

  fileprivate mutating func line(_ part: FileReport.Part) -> String {
    var text = "at \(part.offset), \(part.size) bytes: \(part.what)"
    if part.recordCount > 0 { text += ", \(count(part.recordCount, "record"))" }
    if let times = part.times {
      text += ", \(self.text(of: times.lowerBound)) to \(self.text(of: times.upperBound))"
    }
    return text
  }
}
