import CommandLineTool
import MMLogStorage

/// `mmlog-decode --prune`: applies limits to directories of archives.
struct Prune {
  private let directories: [String]
  private let retention: Retention
  private let store: String?
  private let rings: String?
  private let isDry: Bool
  private let explains: Bool
  private let output: StandardOutput

  init(_ arguments: Arguments, _ output: StandardOutput) throws(UsageError) {
    directories = arguments.operands
    if directories.contains("-") {
      throw UsageError("--prune needs directories, not '-'; name one")
    }
    retention = try PruneOptions.retention(arguments)
    guard retention != .unlimited else {
      throw UsageError(
        "--prune deletes nothing without a limit; add --max-count, --max-size, --max-age or "
          + "--keep-free")
    }
    store = arguments.value(of: PruneOptions.store)
    rings = arguments.value(of: PruneOptions.rings)
    isDry = arguments.isSet(PruneOptions.dryRun)
    explains = arguments.isSet(PruneOptions.explain)
    self.output = output
  }

  /// - Returns: `damageOrLoss` if something could not be read or deleted.
  func run() throws -> Program.Status {
    var isComplete = true
    for directory in directories {
      try prune(Pruning(of: directory, rings: rings)) { problem in
        isComplete = false
        Command.decode.report(problem)
      }
    }
    return isComplete ? .success : .damageOrLoss
  }

  private func prune(_ pruning: Pruning, _ complain: (String) -> Void) throws {
    do {
      let verdicts = try pruning.verdicts(retention, store: store, problem: complain)
      var deleted: Set<String> = []
      defer { try? tell(verdicts, deleted) }
      if isDry { return }
      try pruning.delete(
        verdicts, deleted: { deleted.insert($0.archive.fileName) }, failed: { complain("\($0)") })
    } catch {
      complain("\(error)")
    }
  }

  private func tell(_ verdicts: [Pruning.Verdict], _ deleted: Set<String>) throws {
    for verdict in verdicts {
      let archive = verdict.archive
      let line = "\(archive.path) (\(archive.allocatedSize >> 10) KiB)"
      if let rule = verdict.rule {
        if isDry {
          try output.append("would go  \(line): \(rule.sentence)\n")
        } else if deleted.contains(archive.fileName) {
          try output.append("deleted   \(line): \(rule.sentence)\n")
        }
      } else if explains {
        try output.append("stays     \(line): \(archive.whyItStays)\n")
      }
    }
  }
}

extension RetentionRule {
  fileprivate var sentence: String {
    switch self {
    case .age: "older than --max-age"
    case .count: "more archives than --max-count"
    case .totalSize: "archives take more than --max-size"
    case .freeSpace: "less is free than --keep-free"
    case .request: "asked for"
    }
  }
}

extension ArchiveInfo {
  /// In the order in which it counts.
  fileprivate var whyItStays: String {
    if isActive { return "a process is writing it" }
    if let reason = state.held { return reason.isEmpty ? "it is held" : "it is held: \(reason)" }
    if contents?.ending == .died { return "its session died at its end, or no limit asks for it" }
    return state.isUploaded ? "no limit asks for it; it is uploaded" : "no limit asks for it"
  }
}
