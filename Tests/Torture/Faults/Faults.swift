import CommandLineTool
import Glibc
import MMLogSystem

/// System calls that are made to fail, and real failures of file systems, files, limits and clocks.
enum Faults {
  static let kind = Kind(
    "faults", "Has system calls fail, disks fill up and files go away; nothing is lost in silence.",
    description: [
      "First by force, in every other campaign with archives that are encrypted and chained: every system call of a store's life, and of reading its files, fails in every way that it can, "
        + "each time that it is made: once, or until the store has been at work for a while, or until it is closed. "
        + "The process has to live and go on, every record to be there once or counted, and the failure to be reported.",
      "Then really: disks that are full or turn read-only, files and directories that are deleted or cut, "
        + "limits of the process, a wall clock that is set. Only root can mount what some of them need.",
      "fault is what is started in a process of its own.",
    ],
    options: [.only, .sample, .real, .sealed, .atMost],
    steps: Operands("fault", count: 0...1, "What to do instead."),
    examples: [
      Example("All of it", "mmlog-torture faults"),
      Example("What a report names", "mmlog-torture faults --only 'write fdatasync:EIO:3:once'"),
      Example("All of one call", "mmlog-torture faults --only 'write fdatasync'"),
      Example("One real fault", "mmlog-torture faults --only 'real full-tmpfs'"),
    ],
    quick: ["--sample", "500"],
    brief: ["--sample", "200", "--seconds", "30"]
  ) { arguments, seed, output in
    switch arguments.operands.first {
    case nil: return try run(arguments, seed, output)
    case "fault": return try runOne(arguments, output)
    case let step?: throw UsageError("'\(step)' is nothing that can be done")
    }
  }

  /// Which scenario fails.
  enum Side: String, CaseIterable {
    case write, read
  }

  private static func run(
    _ arguments: Arguments, _ seed: UInt64, _ output: StandardOutput
  ) throws -> Program.Status {
    let folder = try arguments.workFolder(for: "faults", seed, output)
    var isGood = true
    let isReal = arguments.value(of: .only)?.hasPrefix("real ")
    if isReal != true && !arguments.isSet(.real) {
      var campaign = try FaultCampaign(arguments, seed: seed, folder: folder, output)
      isGood = try campaign.run()
    }
    if isReal != false {
      isGood = try RealFaults.run(arguments, folder: folder, output) && isGood
    }
    // The folder stays if something is kept in it.
    rmdir(folder)
    return isGood ? .success : .failure
  }

  /// One run of a scenario, in a process of its own; what it finds is printed.
  private static func runOne(_ arguments: Arguments, _ output: StandardOutput) throws
    -> Program.Status
  {
    guard let folder = arguments.value(of: .folder), let only = arguments.value(of: .only) else {
      throw UsageError("--folder and --only have to be given")
    }
    if only == "dead" {
      try Scenario.dieLogging(in: folder, isSealed: arguments.isSet(.sealed))
    }
    let words = only.split(separator: " ").map(String.init)
    if words.first == "real", words.count == 2 {
      return try RealFaults.runOne(words[1], folder, output)
    }
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
      case .write: try Scenario(combination, in: folder, isSealed: arguments.isSet(.sealed)).run()
      case .read: ReadScenario.run(combination, folder)
      }
    let milliseconds = (Clock.monotonic() - start) / 1_000_000
    if combination == nil {
      try output.append(outcome.counts.text + "\n")
    } else {
      try output.append("took \(milliseconds) \(outcome.isStruck ? "struck" : "missed")\n")
    }
    for text in outcome.reported { try output.append("  reported: \(text)\n") }
    for problem in outcome.problems { try output.append("  wrong: \(problem)\n") }
    return outcome.problems.isEmpty ? .success : .failure
  }
}

extension Option {
  static let only = Option(
    "only", value: "WHAT",
    "The combination to run, or the beginning of those, as a report names it.")
  static let sample = Option(
    "sample", value: "N", default: "0", "Run so many combinations only, by --seed. 0: all.")
  static let real = Option("real", "Only the real ones.")
  static let sealed = Option(
    "sealed", "Encrypt and chain archives. Otherwise, --seed says whether that is done.")
}
