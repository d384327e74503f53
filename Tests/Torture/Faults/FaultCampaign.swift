import CrashCampaign
import TestSupport
import CommandLineTool
import Glibc
import MMLogSystem

/// Every way for every system call of the scenarios to fail, each in a process of its own: it must
/// not trap or hang.
struct FaultCampaign {
  private struct Job: Hashable {
    let side: Faults.Side
    let combination: Combination?
    var text: String {
      "\(side.rawValue) \(combination.map(String.init(describing:)) ?? "nothing")"
    }
  }

  /// A call of a scenario.
  private struct Target: Hashable {
    let side: Faults.Side
    let call: SystemCall
  }

  /// A job that is under way.
  private struct Run {
    let job: Job
    let folder: String
    let process: ChildProcess
    let deadline: UInt64
    var report: String { "\(folder).report" }
  }

  private let seed: UInt64
  private let jobs: Int
  private let folder: String
  private let output: StandardOutput
  private let only: String?
  /// Whether rings and archives are encrypted, and frames chained.
  private let isSealed: Bool
  /// How many combinations to run; 0: all.
  private let sample: Int
  /// The time after which no more combinations are begun.
  private let end: UInt64
  /// What each scenario begins with.
  private var beginnings: [Faults.Side: [(name: String, bytes: [UInt8])]] = [:]
  private var failures: [String] = []
  private var slowest: [(milliseconds: Int, job: String)] = []
  /// How many faults of each call came about, and how many did not.
  private var struck: [Target: (yes: Int, no: Int)] = [:]

  init(_ arguments: Arguments, seed: UInt64, folder: String, _ output: StandardOutput) throws {
    jobs = try arguments.integer(of: .jobs, in: 1...256) ?? 1
    only = arguments.value(of: .only)
    sample = try arguments.integer(of: .sample, in: 0...Int.max) ?? 0
    (self.seed, self.folder, self.output) = (seed, folder, output)
    end = try arguments.end()
    isSealed =
      !CampaignIdentity.recipients.isEmpty
      && (arguments.isSet(.sealed) || only == nil && seed.isMultiple(of: 2))
  }

  /// Returns whether nothing was found.
  mutating func run() throws -> Bool {
    #if !DEBUG
      throw Failure("forced faults need a build with DEBUG, as Tools/torture makes one")
    #endif
    let start = Clock.monotonic()
    if isSealed { try output.append("rings and archives are encrypted, and frames chained\n") }
    try prepare()
    let all = try list()
    let begun = try go(through: all)
    let seconds = (Clock.monotonic() - start) / 1_000_000_000
    let missed = struck.values.reduce(0) { $0 + $1.no }
    try output.append(
      """
      \(begun) combinations in \(seconds) s: \(failures.count) failed
      \(missed) did not come about, for threads go another way each time

      """)
    let idle = only == nil ? self.idle : []
    for problem in idle { try output.append("\(problem)\n") }
    for slow in slowest.sorted(by: { $0.milliseconds > $1.milliseconds }).prefix(5) {
      try output.append("slowest: \(slow.milliseconds) ms --only '\(slow.job)'\n")
    }
    return failures.isEmpty && idle.isEmpty
  }

  /// Scenarios, and calls in them, for which so few faults came about that it cannot be chance.
  private var idle: [String] {
    var sides: [Faults.Side: (yes: Int, no: Int)] = [:]
    for (target, count) in struck {
      sides[target.side, default: (0, 0)].yes += count.yes
      sides[target.side, default: (0, 0)].no += count.no
    }
    let ofSides = sides.filter { $1.no > $1.yes && $1.no >= Self.countForChance }.map {
      "of the \($0.rawValue) scenario only \($1.yes) of \($1.yes + $1.no) came about"
    }
    let ofCalls = struck.filter { $1.yes == 0 && $1.no >= Self.countForChance }.map {
      "of \($0.side.rawValue) \($0.call) none of \($1.no) came about"
    }
    return (ofSides + ofCalls).sorted()
  }

  /// So many faults do not all miss by chance.
  private static let countForChance = 10

  // MARK: - Before

  /// Makes the files of a session that died, and of one that was closed after it.
  private mutating func prepare() throws {
    let dead = "\(folder)/dead"
    try Folder.make(dead)
    let child = try start(
      ["faults", "fault", "--only", "dead", "--folder", dead], output: "\(dead).report")
    guard child.wait() == .killed(SIGABRT) else {
      throw Failure("making a dead session failed: \(try text("\(dead).report"))")
    }
    beginnings[.write] = try files(of: dead)
    let run = try begin(Job(side: .write, combination: nil), "closed")
    let ending = run.process.wait()
    if ending != .success {
      throw Failure("a run without fault \(ending):\n\(try text(run.report))")
    }
    // Beside the dead session's archives, as its recovery left them, its ring has the same records
    // again.
    let rings = beginnings[.write, default: []].filter { $0.name.hasSuffix(".ring") }
    beginnings[.read] = try files(of: run.folder) + rings
    for name in [dead, "\(dead).report"] { Folder.remove(name) }
    forget(run)
  }

  private func files(of folder: String) throws -> [(name: String, bytes: [UInt8])] {
    // The lock and the trash are left out.
    try Folder.names(folder).filter { !$0.hasPrefix(".") }.map {
      ($0, try Folder.read("\(folder)/\($0)"))
    }
  }

  /// The jobs, listed from the calls that runs without a fault make.
  private func list() throws -> [Job] {
    let words = only?.split(separator: " ").map(String.init) ?? []
    if let side = words.first.flatMap(Faults.Side.init), words.count == 2,
      let combination = Combination(words[1])
    {
      return [Job(side: side, combination: combination)]
    }
    var all: [Job] = []
    for side in Faults.Side.allCases {
      var counts = CallCounts()
      for _ in 0..<3 {
        let run = try begin(Job(side: side, combination: nil), "counted")
        let ending = run.process.wait()
        let report = try text(run.report)
        if ending != .success { throw Failure("a run without fault \(ending): \(report)") }
        counts.raise(to: CallCounts(text: report))
        forget(run)
      }
      try output.append(
        "calls of the \(side.rawValue) scenario until it is open, has worked, is closed:\n\(counts.text)\n"
      )
      if counts.combinations.isEmpty { throw Failure("no call of that scenario was counted") }
      all += counts.combinations.filter { side == .write || $0.duration != .toTheEnd }.map {
        Job(side: side, combination: $0)
      }
    }
    try output.flush()
    if let only {
      all.removeAll { !$0.text.hasPrefix(only) }
      if all.isEmpty { throw UsageError("no combination begins with '\(only)'") }
    }
    guard sample > 0 else { return all }
    var random = SeededGenerator(seed: seed)
    try output.append("\(sample) of \(all.count) combinations, by --seed \(seed)\n")
    return Array(all.shuffled(using: &random).prefix(sample))
  }

  // MARK: - Runs

  /// Returns how many combinations were begun.
  private mutating func go(through all: [Job]) throws -> Int {
    var (next, running) = (0, [Run]())
    var isOpen: Bool { next < all.count && Clock.monotonic() < end }
    while isOpen || !running.isEmpty {
      while running.count < jobs && isOpen {
        running.append(try begin(all[next], "run-\(next)"))
        next += 1
      }
      usleep(500)
      let done = running.filter { !$0.process.isRunning || Clock.monotonic() > $0.deadline }
      running.removeAll { run in done.contains { $0.folder == run.folder } }
      for run in done { try finish(run) }
      if failures.count >= 200 { break }
    }
    return next
  }

  private func begin(_ job: Job, _ name: String) throws -> Run {
    let place = "\(folder)/\(name)"
    // Files of a run that failed in an earlier campaign may have been kept there.
    for path in [place, Scenario.ledger(of: place)] { Folder.remove(path) }
    try Folder.make(place)
    for file in beginnings[job.side, default: []] {
      try Folder.write(file.bytes, to: "\(place)/\(file.name)")
    }
    let process = try start(
      ["faults", "fault", "--only", job.text, "--folder", place], output: "\(place).report")
    // Where a lock is never free, several calls wait for ten seconds, one after the other.
    let timeout: UInt64 = 120_000_000_000
    return Run(
      job: job, folder: place, process: process, deadline: Clock.monotonic() + timeout)
  }

  private func start(_ arguments: [String], output: String) throws -> ChildProcess {
    try ChildProcess(
      ChildProcess.ownPath, arguments + (isSealed ? ["--sealed"] : []), output: output)
  }

  private mutating func finish(_ run: Run) throws {
    let ending = run.process.wait(seconds: 0)
    let report = try text(run.report)
    let words = report.split(separator: "\n").first?.split(separator: " ").map(String.init) ?? []
    if words.count == 3, let milliseconds = Int(words[1]) {
      slowest.append((milliseconds, run.job.text))
      if let combination = run.job.combination {
        let target = Target(side: run.job.side, call: combination.call)
        struck[target, default: (0, 0)].yes += words[2] == "missed" ? 0 : 1
        struck[target, default: (0, 0)].no += words[2] == "missed" ? 1 : 0
      }
    }
    if ending == .success { return forget(run) }
    failures.append(run.job.text)
    try output.append(
      "--only '\(run.job.text)'\(isSealed ? " --sealed" : ""), kept in \(run.folder): \(ending)\n\(report)\n"
    )
    try output.flush()
  }

  private func forget(_ run: Run) {
    for path in [run.folder, Scenario.ledger(of: run.folder), run.report] { Folder.remove(path) }
  }

  private func text(_ path: String) throws -> String {
    String(decoding: try Folder.read(path), as: UTF8.self)
  }
}
