import TestSupport
import CommandLineTool
import CrashCampaign
import Glibc
import MMLogStorage
import MMLogSystem

/// Processes that are killed, at any instant and at every step of what they do.
enum Crash {
  static let kind = Kind(
    "crash", "Kills processes that log and recover; everything acknowledged is there, once.",
    description: [
      "In each round, processes log into one store: with threads that come and go, log calls inside others, signal handlers, "
        + "children by fork and all policies, as the seed says. They are killed from outside, or die at "
        + "a test point, in its turn, or in the middle of a system call. Others recover what they left, and are killed too. "
        + "At the end every acknowledged record has to be there, once, in its thread's order, byte for byte, or be counted as lost, where "
        + "the policy allows that.",
      "In some rounds limits delete archives meanwhile, others lease, mark, pin and remove them, and a process prunes. What was deleted "
        + "can still be read by another name, so that it has to be right too; leases, marks and pins have to outlive whoever made them.",
      "Sessions are closed, or end by exit, SIGTERM, a fatal signal or SIGKILL, and each has to be reported as what it was; some "
        + "survive a fatal signal before, also while the ring is full. Messages go through functions, and limits are set before forks. "
        + "In every second round, three in seven records have fields, a trace and a span of a bound logger or a task, which are compared; in "
        + "every second, threads keep in state slots how far they are.",
      "In every third round rings and archives are encrypted, and no value may stand in a file in clear; in every third, frames are chained by hashes: "
        + "each has to be right at the end, and what was known of them between deaths has to hold.",
      "In so many rounds that every test point has had four turns, eight times as many as there are, at each a process must have died, "
        + "and each of these things must have happened.",
      "run is what is started in processes of its own.",
    ],
    options: [.crashRounds, .atMost], steps: Operands("run", count: 0...1, "What to do instead."),
    examples: [
      Example("A full run", "mmlog-torture crash --rounds 10000"),
      Example("What a report names", "mmlog-torture crash --rounds 1 --seed 4711"),
    ],
    quick: ["--rounds", "500"],
    brief: ["--rounds", "120", "--seconds", "30"]
  ) { arguments, seed, output in
    let rounds = try arguments.integer(of: .crashRounds, in: 1...1_000_000) ?? 1
    switch arguments.operands.first {
    case nil: return try runAll(arguments, rounds, seed, output)
    case "run": return try run(arguments, rounds, seed, output)
    case let step?: throw UsageError("'\(step)' is nothing that can be done")
    }
  }

  /// How many rounds each child process does.
  private static let batchSize = 20

  /// The number of rounds after which each test point has had four turns. In one turn, the process
  /// may be killed or end before it comes to its point.
  private static var roundsForAllPoints: Int { 8 * TestPoint.allCases.count }

  private static func runAll(
    _ arguments: Arguments, _ rounds: Int, _ seed: UInt64, _ output: StandardOutput
  ) throws -> Program.Status {
    let folder = try arguments.workFolder(for: "crash rounds", seed, output)
    let start = Clock.monotonic()
    var counts = CrashCounts()
    var batches = try Batches(arguments, folder: folder, output, timeout: 3600)
    let seeds = stride(from: 0, to: rounds, by: batchSize).map { seed &+ UInt64($0) }
    try batches.run(seeds) { batch in
      let count = min(batchSize, rounds - Int(batch.seed &- seed))
      return [
        "crash", "run", "--seed", "\(batch.seed)", "--rounds", "\(count)", "--folder", batch.folder,
      ]
    } done: { batch in
      counts.add(CrashCounts(report: batch.report))
    }
    let seconds = Double(Clock.monotonic() - start) / 1e9
    try output.append(counts.summary(seconds: seconds))
    // The folder stays if something is kept in it.
    rmdir(folder)
    if !counts.missed.isEmpty {
      let names = counts.missed.map { "\($0)" }.joined(separator: ", ")
      try output.append("nobody died at \(names)\n")
    }
    if !counts.idle.isEmpty {
      let names = counts.idle.map { "\($0)" }.joined(separator: ", ")
      try output.append("never happened: \(names)\n")
    }
    let isComplete =
      counts.rounds < roundsForAllPoints || counts.missed.isEmpty && counts.idle.isEmpty
    return batches.failures == 0 && isComplete ? .success : .failure
  }

  private static func run(
    _ arguments: Arguments, _ rounds: Int, _ seed: UInt64, _ output: StandardOutput
  ) throws -> Program.Status {
    guard let folder = arguments.value(of: .folder) else {
      throw UsageError("--folder has to be given")
    }
    var counts = CrashCounts()
    for seed in (0..<rounds).map({ seed &+ UInt64($0) }) {
      let path = "\(folder)/round-\(seed)"
      try Folder.make(path)
      // Written before the round, in case the round ends this process.
      try Folder.write(Array("\(seed)\n".utf8), to: "\(folder)/under-way")
      var round = try CrashRound(seed: seed, in: path)
      let outcome = try round.run()
      counts.add(outcome)
      if outcome.problems.isEmpty {
        Folder.remove(path)
      } else {
        try output.append(report(seed, round.settings, outcome, path))
        try output.flush()
      }
    }
    try output.append("\(counts.text)\n")
    return counts.failed == 0 ? .success : .failure
  }

  private static func report(
    _ seed: UInt64, _ settings: Settings, _ outcome: CrashRound.Outcome, _ path: String
  ) -> String {
    let problems = outcome.problems.map { "    \($0)\n" }.joined()
    return "  crash --rounds 1 --seed \(seed), kept in \(path):\n    \(settings)\n\(problems)"
  }
}

extension Option {
  fileprivate static let crashRounds = Option(
    "rounds", value: "N", default: "500", "How many rounds to play.")
}
