import TestSupport
import CommandLineTool
import Glibc
import MMLogSystem

/// Power cuts, in simulation and on a real file system.
enum Power {
  static let kind = Kind(
    "power", "Cuts the power under stores that log; everything synced is there afterwards.",
    description: [
      "First, what a store does to its files is recorded, and files are made as they may be after a cut at any "
        + "moment: of what was not synced, any page, size or name may be old, missing, new or torn. Then, "
        + "for root, a real file system is shut down under a process that logs. "
        + "Nothing else is to be read than what was logged.",
      "check: inspects again an image that failed, in the folder where it was kept; on a copy of it. "
        + "run and log are what is started in processes of their own.",
    ],
    options: [.images, .rounds, .page, .atMost],
    steps: Operands("check|run|log", count: 0...1, "What to do instead."),
    examples: [
      Example("All of it", "mmlog-torture power --images 100000 --rounds 200"),
      Example("What a report names", "mmlog-torture power --images 100 --rounds 0 --seed 4711"),
      Example(
        "A kept image", "mmlog-torture power check --folder /tmp/mmlog-torture.x/run-4711/failed-3"),
    ],
    quick: ["--images", "5000", "--rounds", "20"],
    brief: ["--images", "1000", "--rounds", "5", "--seconds", "30"]
  ) { arguments, seed, output in
    switch arguments.operands.first {
    case nil: return try run(arguments, seed, output)
    case "run": return try simulate(arguments, seed, output)
    case "log": return try LoggingChild.run(arguments, seed)
    case "check": return try check(arguments, output)
    case let step?: throw UsageError("'\(step)' is nothing that can be done")
    }
  }

  private static func run(
    _ arguments: Arguments, _ seed: UInt64, _ output: StandardOutput
  ) throws -> Program.Status {
    let folder = try arguments.workFolder(for: "power cuts", seed, output)
    var campaign = try Campaign(arguments, seed: seed, folder: folder, output)
    let isGood = try campaign.run()
    try output.flush()
    var cuts = try RealCuts(arguments, seed: seed, folder: folder, output)
    let isReallyGood = try cuts.run()
    // The folder stays if something is kept in it.
    rmdir(folder)
    return isGood && isReallyGood ? .success : .failure
  }

  private static func simulate(
    _ arguments: Arguments, _ seed: UInt64, _ output: StandardOutput
  ) throws -> Program.Status {
    let images = try arguments.integer(of: .images, in: 1...Int.max) ?? 1
    let folder = try required(.folder, arguments)
    let outcome = try SimulatedCuts.run(seed: seed, images: images, in: folder)
    if !outcome.failures.isEmpty { try output.append("  \(Plan(seed: seed))\n") }
    for failure in outcome.failures { try output.append("  \(failure)\n") }
    try output.append("\(outcome.images) \(outcome.corrupted) \(outcome.silentHoles)\n")
    return outcome.failures.isEmpty ? .success : .failure
  }

  private static func check(_ arguments: Arguments, _ output: StandardOutput) throws
    -> Program.Status
  {
    let folder = try required(.folder, arguments)
    let text = String(decoding: try Folder.read("\(folder)/expected"), as: UTF8.self)
    let expected = try Expectation(text: text)
    let copy = "\(folder)/copy"
    try Image(reading: "\(folder)/image").write(to: copy)
    defer { Folder.remove(copy) }
    let check = Check(copy, expected)
    try output.append("\(Plan(seed: expected.seed))\n")
    for problem in check.problems { try output.append("\(problem)\n") }
    return check.problems.isEmpty ? .success : .failure
  }

  static func required(_ option: Option, _ arguments: Arguments) throws -> String {
    guard let value = arguments.value(of: option) else {
      throw UsageError("--\(option.long) has to be given")
    }
    return value
  }
}

extension Option {
  static let images = Option(
    "images", value: "N", default: "5000", "How many images of simulated cuts to check.")
  static let rounds = Option(
    "rounds", value: "N", default: "20",
    "How often to cut a real file system off. Only root can; others skip it.")
  static let page = Option("page", value: "FILE", "For log: where to count.")
}
