import CommandLineTool
import MMLogAnalysis
import MMLogReader
import MMLogStorage

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

  /// Describes files: a line for each, and one for each thing that is noted about an archive, and
  /// for each frame or segment.
  func describe(
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
