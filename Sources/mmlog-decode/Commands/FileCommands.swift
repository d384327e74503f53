import CommandLineTool
import LogCommands
import MMLogAnalysis
import MMLogReader
import MMLogSystem

// Commands about files instead of records.

extension Command {
  static let verify = Command(
    "verify",
    description: [
      "Checks every checksum, order and count, and prints a line for each file. Of copies of "
        + "one file, it prints one line.",
      """
      If frames are chained by hashes, the hashes are checked, too. --anchor names hashes that \
      were noted before. Then verify finds whatever was changed, left out or put in before these \
      hashes, back to the last archive that is gone.
      """,
    ],
    options: inputOptions + [.anchor] + zoneOptions + [.silent], operands: inputOperands,
    examples: [
      Example(
        "Find out whether somebody changed a log since yesterday",
        "mmlog-decode verify --anchor heads.txt /var/log/orders")
    ]
  ) { arguments, output in
    let isSilent = arguments.isSet(.silent)
    let anchors = try arguments.values(of: .anchor).map { try Anchors(file: $0) }
    var time = TimeFormatter(try arguments.zone())
    return try arguments.withFiles(.unbounded) { files in
      let status = try verify(files, isSilent: isSilent, &time, output)
      guard output.hasReader else { return status }
      let areIntact = try check(anchors, files, isSilent: isSilent, output)
      return areIntact ? status : .corruptionOrLoss
    }
  }

  static let inspect = Command(
    "inspect",
    description: [
      "Describes files: file headers, notes about archives, and each frame or segment."
    ],
    options: inputOptions + zoneOptions, operands: inputOperands
  ) { arguments, output in
    let zone = try arguments.zone()
    return try arguments.withFiles { files in try describe(files.inspect(), zone, output) }
  }

  static let repair = Command(
    "repair",
    description: [
      "Writes clean archives of everything that can be read.",
      "In the place of each corrupted part, the archives have a record with the label "
        + "mmlog.repair.",
    ],
    options: [.directory] + inputOptions + zoneOptions + [.silent], operands: inputOperands
  ) { arguments, output in
    let directory = arguments.required(.directory)
    if directory == "-" {
      throw UsageError("a repair makes several files; name a directory in place of '-'")
    }
    try InputPaths(arguments.inputs(arguments.paths())).check(directory: directory)
    let isSilent = arguments.isSet(.silent)
    var time = TimeFormatter(try arguments.zone())
    return try arguments.withFiles(.unbounded) { files in
      try repair(files, directory, isSilent: isSilent, &time, output)
    }
  }

  static let recover = Command(
    "recover",
    description: [
      """
      Moves the records that are left in rings of dead processes into archives, as the next start \
      of their service would do. Then it seals archives whose ring is gone.
      """
    ],
    options: [.archives, .silent],
    operands: Operands("DIR", count: 0...1, "Where the rings are; else the directory in MMLOG_DIR.")
  ) { arguments, output in
    let directory = try arguments.directories(takesRings: false)[0]
    return try recover(
      directory, arguments.value(of: .archives), isSilent: arguments.isSet(.silent), output)
  }

  private static func verify(
    _ files: LogFiles, isSilent: Bool, _ time: inout TimeFormatter, _ output: StandardOutput
  ) throws -> Program.Status {
    var status = Program.Status.success
    try files.verify(progress: { _ in output.hasReader }) { report in
      if let unchecked = report.unchecked {
        complain(unchecked)
        status = .corruptionOrLoss
      }
      if isSilent, report.corruption.isEmpty { return }
      try output.append(report.verdict.escapedForTerminal + "\n")
      for corruption in report.corruption {
        try output.append("  \(corruption.summary)\n".escapedControls)
      }
      try output.flush()
      if !report.corruption.isEmpty { status = .corruptionOrLoss }
    }
    guard output.hasReader else { return status }
    let sessions = files.overview()
    if complain(sessions.flatMap(\.gaps), &time) { status = .corruptionOrLoss }
    for overview in sessions where !overview.losses.isEmpty {
      complain("\(overview.session.title): \(overview.losses)")
      status = .corruptionOrLoss
    }
    return status
  }

  /// Prints what has become of the heads that were noted.
  ///
  /// - Returns: Whether everything is intact, or was deleted as limits delete.
  private static func check(
    _ anchors: [Anchors], _ files: LogFiles, isSilent: Bool, _ output: StandardOutput
  ) throws -> Bool {
    var areIntact = true
    for anchors in anchors {
      for (line, report) in zip(anchors.lines, files.check(anchors.heads)) {
        if !report.isGood { areIntact = false }
        if isSilent, report.isGood { continue }
        try output.append("\(anchors.path):\(line): \(report.summary)\n".escapedControls)
      }
    }
    return areIntact
  }

  /// - Returns: Whether any records are lost.
  private static func complain(_ gaps: [LogReader.Gap], _ time: inout TimeFormatter) -> Bool {
    for gap in gaps { complain("\(gap.session.title): \(gap.summary(&time))") }
    return gaps.contains(where: \.isLoss)
  }

  private static func repair(
    _ files: LogFiles, _ directory: String, isSilent: Bool, _ time: inout TimeFormatter,
    _ output: StandardOutput
  ) throws -> Program.Status {
    Interruption.watch()
    let result = try LogRepair.write(files, to: directory) { Interruption.isRequested }
    guard let result else { Interruption.end() }
    for corruption in result.corruption {
      complain("\(corruption.path): corrupted: \(corruption.summary)")
    }
    if !isSilent {
      try output.append(
        "\(directory): \(result.recordCount) records of \(count(result.sessionCount, "session"))\n"
          .escapedControls)
    }
    let isLoss = complain(result.gaps, &time)
    for (session, ledger) in result.losses { complain("\(session.title): \(ledger)") }
    return result.corruption.isEmpty && !isLoss && result.losses.isEmpty
      ? .success : .corruptionOrLoss
  }

  private static func recover(
    _ directory: String, _ archives: String?, isSilent: Bool, _ output: StandardOutput
  ) throws -> Program.Status {
    File.raiseOpenLimit()
    var status = Program.Status.success
    var sealed: [String] = []
    let problem = { (error: LogError) in
      complain(error.message)
      status = .corruptionOrLoss
    }
    let sessions = try LogRecovery.recover(
      directory, archiveDirectory: archives, problem: problem)
    try LogRecovery.sealRingless(
      directory, archiveDirectory: archives, sealed: { sealed.append($0.path) }, problem: problem)
    for session in sessions {
      let title = session.identity.title
      if !isSilent {
        try output.append(
          "\(title): \(count(session.recordCount, "record")) moved from its ring to an archive\n"
            .escapedControls)
      }
      for corruption in session.corruption {
        complain("\(title): corrupted: \(corruption)")
        status = .corruptionOrLoss
      }
    }
    if !isSilent {
      for path in sealed {
        try output.append("\(path): sealed; its ring is gone\n".escapedControls)
      }
    }
    // If files cannot be read, this is not known.
    if sessions.isEmpty, sealed.isEmpty, status == .success, !isSilent {
      complain("\(directory) has no ring of a dead process")
    }
    return status
  }
}

extension Arguments {
  /// Opens the files to read.
  ///
  /// - Parameters:
  ///   - needsKeys: Whether records are needed that may be encrypted.
  ///   - complaints: Counts the lines on standard error.
  ///   - body: Works on the files.
  func withFiles(
    needsKeys: Bool = false, _ complaints: Complaints = Complaints(Command.complain),
    _ body: (LogFiles) throws -> Program.Status
  ) throws -> Program.Status {
    File.raiseOpenLimit()
    let files = LogFiles(inputs(try paths()), identities: try identities())
    let unreadable = needsKeys ? files.unreadable : files.unreadableWithKeys
    for error in unreadable { complaints.add(error.message) }
    defer { complaints.end() }
    if files.fileCount == 0 { return .nothingReadable }
    let status = try body(files)
    return unreadable.isEmpty ? status : .corruptionOrLoss
  }
}

extension Complaints {
  /// For commands that print every line.
  fileprivate static var unbounded: Complaints {
    Complaints(maximum: .max, Command.complain)
  }
}

extension AnchorReport {
  fileprivate var isGood: Bool { verdict == .intact || verdict == .deleted }

  fileprivate var summary: String {
    let frames = count(Int(clamping: head.frames), "frame")
    let what = "session \(head.session), archive \(head.archive), \(frames)"
    return switch verdict {
    case .intact: "intact: \(what), and what comes before"
    case .deleted: "deleted, as limits do: \(what)"
    case .broken(let how): "NOT INTACT: \(what): \(how)"
    case .unchecked(let why): "not checked: \(what): \(why)"
    @unknown default: what
    }
  }
}

extension Option {
  fileprivate static let anchor = Option(
    "anchor", value: "FILE", repeatable: true,
    "Check what 'mmlogctl head' printed: all lines of FILE with a head in them.")
  fileprivate static let directory = Option(
    "output", short: "o", value: "DIR", required: true, "Write the archives into DIR.")
  fileprivate static let archives = Option(
    "archives", value: "DIR",
    "Move the records into archives in DIR, and not in the rings' directory.")
}

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
