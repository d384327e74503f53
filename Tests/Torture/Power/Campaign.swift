import CommandLineTool
import Glibc
import MMLogSystem

/// Simulated cuts of many runs, each in a process of its own: reading must not end or hang it.
struct Campaign {
  private let seed: UInt64
  private let images: Int
  private let jobs: Int
  private let folder: String
  private let output: StandardOutput
  private var outcome = SimulatedCuts.Outcome()
  private var failedRuns = 0
  private static let imagesOfRun = 100

  init(_ arguments: Arguments, seed: UInt64, folder: String, _ output: StandardOutput) throws {
    images = try arguments.integer(of: .images, in: 0...Int.max) ?? 0
    jobs = try arguments.integer(of: .jobs, in: 1...256) ?? 1
    (self.seed, self.folder, self.output) = (seed, folder, output)
  }

  /// A run that is under way.
  private struct Run {
    let seed: UInt64
    let folder: String
    let process: ChildProcess
    let deadline: UInt64
    var report: String { "\(folder)/report" }
  }

  private static var canRecord: Bool {
    #if DEBUG
      true
    #else
      false
    #endif
  }

  /// Returns whether nothing was found.
  mutating func run() throws -> Bool {
    if images == 0 { return true }
    guard Self.canRecord else {
      throw Failure("simulated cuts need a build with DEBUG, as Tools/torture makes one")
    }
    let start = Clock.monotonic()
    let count = (images + Self.imagesOfRun - 1) / Self.imagesOfRun
    var (next, running) = (0, [Run]())
    while next < count || !running.isEmpty {
      while running.count < jobs && next < count {
        running.append(try startRun(next))
        next += 1
      }
      usleep(2000)
      let done = running.filter { !$0.process.isRunning || Clock.monotonic() > $0.deadline }
      running.removeAll { run in done.contains { $0.seed == run.seed } }
      for run in done { try finish(run) }
      if failedRuns >= 10 { break }
    }
    let seconds = (Clock.monotonic() - start) / 1_000_000_000
    try output.append(
      """
      \(outcome.images) images of \(next) runs in \(seconds) s: \(failedRuns) runs failed
      \(outcome.damaged) images with damage told, \(outcome.silentHoles) with holes of which nothing tells

      """)
    return failedRuns == 0
  }

  private func startRun(_ index: Int) throws -> Run {
    let seed = self.seed &+ UInt64(index)
    let folder = "\(self.folder)/run-\(seed)"
    try Folder.make(folder)
    let count = min(Self.imagesOfRun, images - index * Self.imagesOfRun)
    let process = try ChildProcess(
      ChildProcess.ownPath,
      ["power", "run", "--seed", "\(seed)", "--images", "\(count)", "--folder", folder],
      output: "\(folder)/report")
    return Run(
      seed: seed, folder: folder, process: process,
      deadline: Clock.monotonic() + 300_000_000_000)
  }

  private mutating func finish(_ run: Run) throws {
    let ending = run.process.wait(seconds: 0)
    let report = String(decoding: try Folder.read(run.report), as: UTF8.self)
    let counts = report.split(separator: "\n").last?.split(separator: " ").compactMap { Int($0) }
    if let counts, counts.count == 3 {
      outcome.images += counts[0]
      outcome.damaged += counts[1]
      outcome.silentHoles += counts[2]
    }
    guard let ending else { return Folder.remove(run.folder) }
    failedRuns += 1
    let isThere = access("\(run.folder)/image", F_OK) == 0
    let image = isThere ? "; the last image is in \(run.folder)" : ""
    try output.append("--seed \(run.seed): \(ending)\(image)\n\(report)\n")
    try output.flush()
  }
}
