import TestSupport
import CommandLineTool
import MMLogSystem

/// Runs, each from a seed of its own: some in each process, and some processes at a time. A finding
/// may end or hang a process; the others go on.
struct Batches {
  /// One process's share.
  struct Batch {
    /// The seed of its first run; each later run has the next seed.
    let seed: UInt64
    /// Where it makes files. It is removed if nothing was found.
    let folder: String
    /// What the process printed.
    fileprivate(set) var report = ""
  }

  /// How many processes at a time.
  let jobs: Int
  let folder: String
  let output: StandardOutput
  /// How long a process may take, in seconds.
  let timeout: UInt64
  /// How many batches have failed. After ten, no more are begun.
  private(set) var failures = 0

  init(_ arguments: Arguments, folder: String, _ output: StandardOutput, timeout: UInt64) throws {
    jobs = try arguments.integer(of: .jobs, in: 1...256) ?? 1
    (self.folder, self.output, self.timeout) = (folder, output, timeout)
  }

  /// Runs all batches.
  ///
  /// - Parameters:
  ///   - seeds: The first seed of each batch.
  ///   - goesOn: Whether more batches may be begun; default: always.
  ///   - arguments: The command line for one batch, for this very program. Status 0: nothing was
  ///     found.
  ///   - done: Called with each batch that has ended, however it ended.
  mutating func run(
    _ seeds: [UInt64], while goesOn: () -> Bool = { true }, _ arguments: (Batch) -> [String],
    done: (Batch) -> Void
  ) throws {
    var waiting = seeds.reversed() as [UInt64]
    var running: [(batch: Batch, process: ChildProcess, deadline: UInt64)] = []
    var isOpen: Bool { failures < 10 && goesOn() }
    while !running.isEmpty || (!waiting.isEmpty && isOpen) {
      while isOpen, running.count < jobs, let seed = waiting.popLast() {
        let batch = Batch(seed: seed, folder: "\(folder)/run-\(seed)")
        try Folder.make(batch.folder)
        let process = try ChildProcess(
          ChildProcess.ownPath, arguments(batch), output: "\(batch.folder)/report")
        running.append((batch, process, Clock.monotonic() + timeout * 1_000_000_000))
      }
      Sleep.nanoseconds(2_000_000)
      for index in running.indices.reversed()
      where !running[index].process.isRunning || Clock.monotonic() > running[index].deadline {
        var (batch, process, _) = running.remove(at: index)
        let ending = process.wait(seconds: 0)
        batch.report = Folder.text("\(batch.folder)/report")
        try finish(batch, ending)
        done(batch)
      }
    }
  }

  private mutating func finish(_ batch: Batch, _ ending: Ending) throws {
    if ending == .success { return Folder.remove(batch.folder) }
    failures += 1
    try output.append("--seed \(batch.seed), kept in \(batch.folder): \(ending)\n\(batch.report)\n")
    try output.flush()
  }
}
