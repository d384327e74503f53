import CommandLineTool
import LogCommands
import MMLogReader
import MMLogStorage

extension Command {
  static let prune = Command(
    "prune",
    description: [
      "Deletes the archives that a limit does not allow.",
      """
      With options for limits, only these limits apply. Without them, the limits of each store's \
      configuration apply, which its service has noted in the file NAME.settings of the directory. \
      Zero stands for no limit. --crashes deletes nothing by itself: give it together with a \
      limit. --free-space leaves the newest 64 MiB. prune is safe beside running services: \
      archives that are pinned or being written stay. If a limit cannot be reached, the status is \
      1, and prune prints which archives stay, with reasons.
      """,
    ],
    options: pruneOptions,
    operands: Operands("DIR", "Directories of archives; else the one in MMLOG_DIR."),
    examples: [
      Example(
        "What a limit would delete",
        "mmlogctl prune --total-size 2G --dry-run /var/log/orders")
    ]
  ) { try Prune($0, $1).run() }
}

/// Applies limits to directories of archives.
private struct Prune {
  private let directories: [String]
  /// Nil: the limits that each store has noted.
  private let retention: Retention?
  private let store: String?
  private let rings: String?
  private let isDry: Bool
  private let explains: Bool
  private let isSilent: Bool
  private let output: StandardOutput

  init(_ arguments: Arguments, _ output: StandardOutput) throws(UsageError) {
    directories = try arguments.directories(takesRings: false)
    retention = try arguments.retention()
    guard retention?.hasLimit != false else {
      throw UsageError(
        "prune deletes nothing without a limit; add --count, --total-size, --age or "
          + "--free-space, or no limit at all for those of each store")
    }
    store = arguments.value(of: .store)
    rings = arguments.value(of: .rings)
    isDry = arguments.isSet(.dryRun)
    explains = arguments.isSet(.explain)
    isSilent = arguments.isSet(.silent)
    self.output = output
  }

  /// - Returns: `corruptionOrLoss` if something could not be read or deleted, or a limit is not
  ///   reached.
  func run() throws -> Program.Status {
    var isComplete = true
    for directory in directories {
      try prune(Pruning(of: directory, rings: rings), directory) { problem in
        isComplete = false
        Command.complain(problem)
      }
    }
    return isComplete ? .success : .corruptionOrLoss
  }

  private func prune(
    _ pruning: Pruning, _ directory: String, _ complain: (String) -> Void
  ) throws {
    do {
      var judgment = try pruning.judge(retention, store: store, problem: complain)
      if let store, !judgment.stores.contains(store) {
        // The store may have no archive yet: this is no failure.
        Command.complain("\(directory): there is no archive of the store \(store)")
      }
      if isDry {
        for verdict in judgment.verdicts { try report("would go", verdict) }
      } else {
        try pruning.delete(
          judgment.verdicts, deleted: { try? report("deleted ", $0) }, failed: { complain("\($0)") }
        )
        // Something may have been pinned since.
        judgment = try pruning.judge(retention, store: store, problem: { _ in })
      }
      try reportRest(judgment)
      for (store, rule) in judgment.unmet {
        complain("\(directory): \(rule.shortfall) for \(store), \(judgment.reasons(store))")
      }
    } catch {
      complain("\(error)")
    }
  }

  /// Says what is deleted, and by which limit.
  private func report(_ what: String, _ verdict: Pruning.Verdict) throws {
    guard let rule = verdict.rule, !isSilent else { return }
    try output.append("\(what)  \(verdict.archive.line): \(rule.sentence)\n".escapedControls)
  }

  /// Prints what stays, and why: everything if asked for; otherwise what keeps a limit from being
  /// reached.
  private func reportRest(_ judgment: Pruning.Judgment) throws {
    let short = Set(judgment.unmet.map(\.store))
    for verdict in judgment.verdicts where verdict.rule == nil {
      let isToBlame = verdict.obstacle != nil && short.contains(verdict.archive.storeName)
      if (explains && !isSilent) || isToBlame {
        try output.append(
          "stays     \(verdict.archive.line): \(verdict.whyItStays)\n".escapedControls)
      }
    }
  }
}

extension Retention.Rule {
  fileprivate var sentence: String {
    switch self {
    case .age: "older than the limit age"
    case .count: "more archives than the limit count"
    case .totalSize: "archives take more than the limit total-size"
    case .freeSpace: "less is free than the limit free-space"
    case .request: "asked for"
    }
  }

  fileprivate var shortfall: String {
    switch self {
    case .freeSpace:
      "less is free than the limit free-space, because of other files on the disk"
    case .age: "the limit age is not reached"
    case .count: "the limit count is not reached"
    case .totalSize: "the limit total-size is not reached"
    case .request: "not everything that was asked for can be deleted"
    }
  }
}

extension Pruning.Judgment {
  /// What keeps limits from being reached, in a few words.
  fileprivate func reasons(_ store: String) -> String {
    let kept = verdicts.filter { $0.archive.storeName == store }.compactMap(\.obstacle)
    let parts = Retention.Obstacle.allCases.compactMap { obstacle -> String? in
      let count = kept.count { $0 == obstacle }
      return count == 0 ? nil : "\(count) \(obstacle.words)"
    }
    if parts.isEmpty { return "and no archive is left to delete" }
    return "and these archives may not be deleted: \(parts.joined(separator: ", "))"
  }
}

extension ArchiveInfo {
  fileprivate var line: String { "\(path) (\(sizeText(allocatedSize)))" }
}

extension Pruning.Verdict {
  fileprivate var whyItStays: String {
    if obstacle == .pinned, let reason = archive.state.pinned, !reason.isEmpty {
      return "it is pinned: \(reason)"
    }
    if let obstacle { return "it is \(obstacle.words)" }
    return archive.state.isUploaded
      ? "no limit asks for it; it is uploaded" : "no limit asks for it"
  }
}
