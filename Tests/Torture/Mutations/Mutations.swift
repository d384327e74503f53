import TestSupport
import CommandLineTool
import Glibc
import MMLogSystem

/// Directories of several sessions, mutated: stale and misdirected blocks and frames, lost headers,
/// removed files.
enum Mutations {
  static let kind = Kind(
    "mutations",
    "Puts blocks, frames and files where they do not belong; nothing wrong is given, and "
      + "nothing is missing in silence.",
    description: [
      "Each batch makes a directory with real stores: sessions that close, or die at some step, "
        + "one after the other or side by side, with several archives, in files of their own or "
        + "behind one another, with fragments, flight records and crashes, and with archives that "
        + "limits have deleted. What was logged is known, and where it lies.",
      "Then each copy suffers one to three mutations and is read. Every record that is given has "
        + "to be one that was logged, in its session, with its text and its attributes, once, and "
        + "in its thread's order. Where records are missing, something has to be reported about "
        + "their session or their file; but for what nobody can know, which is counted apart. "
        + "asRetained: the oldest archives of a session are gone, as limits delete them. "
        + "asNeverThere: no byte of the session is left. asBefore: what a dead process left is as "
        + "it was before its newest records: of a ring those of a thread, of an archive those of "
        + "the session.",
      "Of some copies also: verifying finds what reading found, repairing and recovering keep "
        + "just the records that reading gave, and mmlog-decode prints them and ends with the "
        + "right status.",
      "In so many copies that each mutation has its turn, each has to have made a difference.",
      "run is what is started in processes of its own.",
    ],
    options: [.copies, .first, .atMost, .findings],
    steps: Operands("run", count: 0...1, "What to do instead."),
    examples: [
      Example("A full run", "mmlog-torture mutations --copies 50000"),
      Example(
        "What a report names",
        "mmlog-torture mutations run --seed 4711 --copies 18 --from 17 --folder /tmp/check"),
    ],
    quick: ["--copies", "1000"],
    brief: ["--copies", "200", "--seconds", "30"]
  ) { arguments, seed, output in
    switch arguments.operands.first {
    case nil: return try runAll(arguments, seed, output)
    case "run": return try run(arguments, seed, output)
    case let step?: throw UsageError("'\(step)' is nothing that can be done")
    }
  }

  /// How many copies of one directory each child process makes.
  private static let batchSize = 100
  /// One of so many copies is also verified, repaired, recovered and decoded.
  private static let sampling = 10
  /// The number of copies after which each mutation has happened often enough.
  private static let copiesForAll = 5000
  /// The limits of a process, in bytes of memory and in seconds of a processor: many times what it
  /// needs.
  private static let (maximumMemory, maximumWork) = (4 << 30, 600)

  private static func runAll(
    _ arguments: Arguments, _ seed: UInt64, _ output: StandardOutput
  ) throws -> Program.Status {
    let copies = try arguments.integer(of: .copies, in: 1...100_000_000) ?? 1
    let folder = try arguments.workFolder(for: "mutated directories", seed, output)
    let start = Clock.monotonic()
    var batches = try Batches(arguments, folder: folder, output, timeout: 3600)
    var counts = MutationCounts()
    let count = (copies + batchSize - 1) / batchSize
    try batches.run((0..<count).map { seed &+ UInt64($0) }) { batch in
      let share = min(batchSize, copies - Int(batch.seed &- seed) * batchSize)
      return [
        "mutations", "run", "--seed", "\(batch.seed)", "--copies", "\(share)", "--folder",
        batch.folder,
      ]
    } done: { batch in
      counts.add(MutationCounts(report: batch.report))
    }
    try output.append(counts.summary(seconds: Double(Clock.monotonic() - start) / 1e9))
    // The folder stays if something is kept in it.
    rmdir(folder)
    let idle = counts.copies >= copiesForAll ? counts.idle : []
    if !idle.isEmpty {
      let names = idle.map { "\($0)" }.joined(separator: ", ")
      try output.append("made no difference: \(names)\n")
    }
    return batches.failures == 0 && idle.isEmpty ? .success : .failure
  }

  private static func run(
    _ arguments: Arguments, _ seed: UInt64, _ output: StandardOutput
  ) throws -> Program.Status {
    guard let folder = arguments.value(of: .folder) else {
      throw UsageError("--folder has to be given")
    }
    let copies = try arguments.integer(of: .copies, in: 1...100_000_000) ?? 1
    let first = try arguments.integer(of: .first, in: 0...copies) ?? 0
    try Folder.make(folder)
    // A reader that asks for more than any log of this size can need ends here.
    limit(RLIMIT_AS, maximumMemory)
    limit(RLIMIT_CPU, maximumWork)
    var run = try MutationRun(seed: seed, in: folder, output)
    let maximum = try arguments.integer(of: .findings, in: 1...1_000_000) ?? 1
    try run.run(first..<copies, sampling: sampling, maximum: maximum)
    try output.append("\(run.counts.text)\n")
    return run.counts.findings == 0 ? .success : .failure
  }

  private static func limit(_ resource: __rlimit_resource, _ value: Int) {
    var limit = rlimit(rlim_cur: rlim_t(value), rlim_max: rlim_t(value))
    setrlimit(__rlimit_resource_t(resource.rawValue), &limit)
  }
}

extension Option {
  fileprivate static let copies = Option(
    "copies", value: "N", default: "50000", "How many directories to mutate.")
  fileprivate static let first = Option(
    "from", value: "N", default: "0", "For run: which copy to begin with.")
  fileprivate static let findings = Option(
    "findings", value: "N", default: "10", "For run: after how many findings to end.")
}
