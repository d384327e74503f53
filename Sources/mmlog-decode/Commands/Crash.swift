import CommandLineTool
import LogCommands
import MMLogAnalysis
import MMLogReader

extension Command {
  static let crash = Command(
    "crash",
    description: [
      "Prints what a session died of, and what it did last.",
      """
      The output has the fatal signal, what the runtime said, the functions that were under way, \
      the registers, what was in the state slots, the spans that had begun and not ended, and the \
      last records of each thread. The command shows the session that crashed or was killed last, \
      unless --session names another one.
      """,
    ],
    options: inputOptions + [.session, .process, .records, .jsonSummary, .color] + zoneOptions
      + [.quiet, .exitCode, .noPager],
    operands: inputOperands
  ) { arguments, output in
    let zone = try arguments.zone()
    let filter = try arguments.sessionFilter()
    let count = try arguments.integer(of: .records, in: 0...100_000_000) ?? 20
    let complaints = Complaints(complain)
    return try arguments.withFiles(needsKeys: true, complaints) { files in
      guard let session = files.lastCrashedSession(filter: filter) else {
        return arguments.noCrash(of: filter, files)
      }
      if !arguments.isSet(.quiet) { reportOthers(than: session, files.overview(filter: filter)) }
      let crash = CrashOutput(
        files, session, zone, recordsOfThread: count, columns: arguments.columns,
        hasColors: arguments.hasColors, complain: complaints.add)
      return try arguments.paging(output) {
        let print = arguments.isSet(.jsonSummary) ? crash.printJSON : crash.printText
        try print { try $0.withUnsafeBytes { try output.append($0.bytes) } }
        return crash.isComplete ? .success : .corruptionOrLoss
      }
    }
  }
}

extension Arguments {
  /// Says that no session matches what was asked for.
  func noSession(of filter: LogReader.Filter, _ files: LogFiles) -> Program.Status {
    nothing(NothingFound.sentence(noSessionOf: filter, files.overview()))
  }

  fileprivate func noCrash(of filter: LogReader.Filter, _ files: LogFiles) -> Program.Status {
    let sessions = files.overview(filter: filter)
    if sessions.isEmpty { return noSession(of: filter, files) }
    let isChosen = !filter.sessions.isEmpty || !filter.processes.isEmpty
    return nothing(isChosen ? "none of these sessions crashed" : "no session crashed")
  }

  private func nothing(_ sentence: String) -> Program.Status {
    if !isSet(.quiet) { Command.complain(sentence) }
    return isSet(.exitCode) ? .nothingMatched : .success
  }
}

/// Says which sessions crashed besides the one that is shown.
private func reportOthers(than shown: LogReader.Session, _ sessions: [SessionOverview]) {
  let others = sessions.filter { $0.ending.isCrash && $0.session.id != shown.id }
  if others.isEmpty { return }
  let ids = others.suffix(10).map { $0.session.id.description.prefix(8) }.joined(separator: ", ")
  let rest = others.count > 10 ? ", the last of which are" : ":"
  Command.complain(
    "\(count(others.count, "other session")) ended in a crash\(rest) \(ids); --session shows one")
}

extension Option {
  fileprivate static let records = Option(
    "tail", short: "n", value: "N", "The last N records of each thread: 20 without it.")
}
