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
  /// The time after which no more batches are begun, of the monotonic clock.
  private let end: UInt64
  /// How many batches were begun.
  private(set) var begun = 0
  /// How many batches have failed. After ten, no more are begun.
  private(set) var failures = 0

  init(_ arguments: Arguments, folder: String, _ output: StandardOutput, timeout: UInt64) throws {
    jobs = try arguments.integer(of: .jobs, in: 1...256) ?? 1
    (self.folder, self.output, self.timeout) = (folder, output, timeout)
    end = try arguments.end()
  }

  /// Runs all batches, or those that can be begun in time.
  ///
  /// - Parameters:
  ///   - seeds: The first seed of each batch.
  ///   - arguments: The command line for one batch, for this very program. Status 0: nothing was
  ///     found.
  ///   - done: Called with each batch that has ended, however it ended.
  mutating func run(
    _ seeds: [UInt64], _ arguments: (Batch) -> [String], done: (Batch) -> Void
  ) throws {
    var waiting = seeds.reversed() as [UInt64]
    var running: [(batch: Batch, process: ChildProcess, deadline: UInt64)] = []
    var isOpen: Bool { failures < 10 && Clock.monotonic() < end }
    while !running.isEmpty || (!waiting.isEmpty && isOpen) {
      while isOpen, running.count < jobs, let seed = waiting.popLast() {
        let batch = Batch(seed: seed, folder: "\(folder)/run-\(seed)")
        try Folder.make(batch.folder)
        let process = try ChildProcess(
          ChildProcess.ownPath, arguments(batch), output: "\(batch.folder)/report")
        running.append((batch, process, Clock.monotonic() + timeout * 1_000_000_000))
        begun += 1
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

extension Option {
  static let atMost = Option(
    "seconds", value: "S", "Begin nothing more after so many seconds. Default: no limit.")
}

extension Arguments {
  /// The time after which nothing more is begun, of the monotonic clock.
  func end() throws -> UInt64 {
    let seconds = try integer(of: .atMost, in: 1...1_000_000)
    return seconds.map { Clock.monotonic() + UInt64($0) * 1_000_000_000 } ?? .max
  }
}
