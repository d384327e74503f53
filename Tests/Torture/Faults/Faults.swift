import CommandLineTool
import Glibc
import MMLogSystem

/// The things that the command does.
enum Faults {
  /// Which scenario a combination is for: `write` and `read`.
  enum Side: String, CaseIterable {
    case write, read
  }

  static func run(
    _ arguments: Arguments, _ seed: UInt64, _ output: StandardOutput
  ) throws -> Program.Status {
    let folder = try arguments.value(of: .folder) ?? Folder.temporary()
    try Folder.make(folder)
    var isGood = true
    if !arguments.isSet(.real) {
      var campaign = try FaultCampaign(arguments, seed: seed, folder: folder, output)
      isGood = try campaign.run()
    }
    // It stays if something is kept in it.
    rmdir(folder)
    return isGood ? .success : .failure
  }

  /// One run of a scenario, in a process of its own; what it finds is printed.
  static func runOne(_ arguments: Arguments, _ output: StandardOutput) throws -> Program.Status {
    guard let folder = arguments.value(of: .folder), let only = arguments.value(of: .only) else {
      throw UsageError("--folder and --only have to be given")
    }
    if only == "dead" {
      try Scenario.dieLogging(in: folder)
    }
    let words = only.split(separator: " ").map(String.init)
    guard let side = words.first.flatMap(Side.init), words.count == 2 else {
      throw UsageError("--only takes 'write CALL:ERRNO:N:DURATION', or 'read …'")
    }
    let combination = Combination(words[1])
    if combination == nil && words[1] != "nothing" {
      throw UsageError("'\(words[1])' is no way for a call to fail")
    }
    let start = Clock.monotonic()
    let outcome =
      switch side {
      case .write: try Scenario(combination, in: folder).run()
      case .read: ReadScenario.run(combination, folder)
      }
    let milliseconds = (Clock.monotonic() - start) / 1_000_000
    if combination == nil {
      try output.append(outcome.counts.text + "\n")
    } else {
      try output.append("took \(milliseconds) \(outcome.isStruck ? "struck" : "missed")\n")
    }
    for text in outcome.told { try output.append("  told: \(text)\n") }
    for problem in outcome.problems { try output.append("  wrong: \(problem)\n") }
    return outcome.problems.isEmpty ? .success : .failure
  }
}
