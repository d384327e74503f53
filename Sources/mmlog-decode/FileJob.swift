import CommandLineTool
import MMLogAnalysis
import MMLogReader
import MMLogSystem

/// What is done with files instead of printing their records.
enum FileJob {
  case sessions(LogTimeZone)
  case info(LogTimeZone)
  case verify
  case repair(String)
  case recover(String, archives: String?)

  /// Does it.
  func run(_ settings: DecodeSettings, _ output: StandardOutput) throws -> Program.Status {
    File.raiseOpenLimit()
    if case .recover(let directory, let archives) = self {
      return try recover(directory, archives, output)
    }
    let files = LogFiles(settings.inputs)
    for error in files.unreadable { Command.decode.report(error.message.escapedForTerminal) }
    if files.fileCount == 0 { return .nothingReadable }
    let status = try run(files, settings, output)
    return files.unreadable.isEmpty ? status : .corruptionOrLoss
  }

  private func run(
    _ files: LogFiles, _ settings: DecodeSettings, _ output: StandardOutput
  ) throws -> Program.Status {
    switch self {
    case .sessions(let zone):
      return try list(files, settings.filter, zone, output)
    case .info(let zone): return try describe(files.inspect(), zone, output)
    case .verify: return try verify(files, output)
    case .repair(let directory): return try repair(files, directory, output)
    case .recover: return .success
    }
  }

  private func verify(_ files: LogFiles, _ output: StandardOutput) throws -> Program.Status {
    var status = Program.Status.success
    for report in files.verify(progress: { _ in output.hasReader }) {
      try output.append(report.verdict.escapedForTerminal + "\n")
      for corruption in report.corruption {
        try output.append("  \(corruption.summary)\n")
      }
      try output.flush()
      if !report.corruption.isEmpty { status = .corruptionOrLoss }
    }
    let sessions = files.overview()
    if report(sessions.flatMap(\.gaps)) { status = .corruptionOrLoss }
    for overview in sessions where !overview.losses.isEmpty {
      Command.decode.report("\(overview.session.title): \(overview.losses)")
      status = .corruptionOrLoss
    }
    return status
  }

  /// - Returns: Whether anything is lost.
  private func report(_ gaps: [LogReader.Gap]) -> Bool {
    for gap in gaps {
      Command.decode.report("\(gap.session.title): \(gap.summary)".escapedForTerminal)
    }
    return gaps.contains(where: \.isLoss)
  }

  private func repair(
    _ files: LogFiles, _ directory: String, _ output: StandardOutput
  ) throws -> Program.Status {
    Interruption.watch()
    let result = try LogRepair.write(files, to: directory) { Interruption.isRequested }
    guard let result else { Interruption.end() }
    for corruption in result.corruption {
      Command.decode.report(
        "\(corruption.path): corrupted: \(corruption.summary)".escapedForTerminal)
    }
    try output.append(
      "\(directory): \(result.recordCount) records of \(count(result.sessionCount, "session"))\n"
        .escapedControls)
    let isLoss = report(result.gaps)
    return result.corruption.isEmpty && !isLoss ? .success : .corruptionOrLoss
  }

  private func recover(
    _ directory: String, _ archives: String?, _ output: StandardOutput
  ) throws -> Program.Status {
    var status = Program.Status.success
    let sessions = try LogRecovery.recover(directory, archiveDirectory: archives) { error in
      Command.decode.report(error.message.escapedForTerminal)
      status = .corruptionOrLoss
    }
    for session in sessions {
      let title =
        "session \(session.identity.session) (\(session.identity.processName), pid "
        + "\(session.identity.processID))"
      try output.append(
        "\(title): \(count(session.recordCount, "record")) moved from its ring to an archive\n"
          .escapedControls)
      for corruption in session.corruption {
        Command.decode.report("\(title): corrupted: \(corruption)".escapedForTerminal)
        status = .corruptionOrLoss
      }
    }
    if sessions.isEmpty { Command.decode.report("\(directory) has no ring of a dead process") }
    return status
  }
}

extension String {
  /// The text escaped for a terminal, but for its last line end.
  fileprivate var escapedControls: String { String(dropLast()).escapedForTerminal + "\n" }
}

/// `1 session`, `2 sessions`.
func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }

extension FileReport {
  /// `a.mmlog: good: archive 1 of session 01…, closed, 12 records in 3 frames`
  fileprivate var verdict: String {
    let kind = isRing ? "ring" : "archive \(number)"
    let size =
      "\(count(recordCount, "record")) in \(count(parts.count, isRing ? "segment" : "frame"))"
    let word = corruption.isEmpty ? "good" : "CORRUPTED in \(count(corruption.count, "place"))"
    return "\(path): \(word): \(kind) of session \(identity.session), \(state), \(size)"
  }
}
