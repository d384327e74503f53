import TestSupport
import CommandLineTool
import CrashRecords
import Glibc
import MMLogSystem

/// Cuts off a real file system, in a file of its own, under a process that logs at full rate.
struct RealCuts {
  private let seed: UInt64
  private let rounds: Int
  private let folder: String
  private let output: StandardOutput
  private var failures = 0

  init(_ arguments: Arguments, seed: UInt64, folder: String, _ output: StandardOutput) throws {
    rounds = try arguments.integer(of: .rounds, in: 0...Int.max) ?? 0
    (self.seed, self.folder, self.output) = (seed, folder, output)
  }

  /// Returns whether nothing was found.
  mutating func run() throws -> Bool {
    if rounds == 0 { return true }
    guard CurrentProcess.effectiveUserID == 0 else {
      try output.append("no real cuts: only root can mount a file system\n")
      return true
    }
    let start = Clock.monotonic()
    var (flushed, others, seed) = (0, 0, self.seed)
    for _ in 0..<rounds where failures < 5 {
      // Skips plans whose full ring may lose records: any flushed record may be missing.
      while Plan(seed: seed).mayLose { seed &+= 1 }
      let cut = try cut(seed)
      seed &+= 1
      flushed += cut.flushed
      others += cut.others
    }
    let seconds = (Clock.monotonic() - start) / 1_000_000_000
    try output.append(
      """
      \(rounds) real cuts in \(seconds) s: \(failures) failed
      \(flushed) records were flushed, \(others) more were logged until the cut

      """)
    return failures == 0
  }

  /// One round: log, cut off, mount again, read and recover.
  private mutating func cut(_ seed: UInt64) throws -> (flushed: Int, others: Int) {
    let place = "\(folder)/cut-\(seed)"
    try Folder.make(place)
    let disk = try Disk(in: place)
    try disk.mount()
    defer { disk.unmount() }
    let (expected, logged) = try log(seed, disk, place)
    try disk.remount()
    let image = try Image(reading: "\(disk.folder)/store")
    // Checks in a process of its own, since reading may end it.
    try image.write(to: "\(place)/image")
    try Folder.write(Array(expected.text.utf8), to: "\(place)/expected")
    let check = try ChildProcess(
      ChildProcess.ownPath, ["power", "check", "--folder", place], output: "\(place)/report")
    let flushed = expected.required.reduce(0, +)
    let ending = check.wait(seconds: 120)
    if ending == .success {
      disk.unmount()
      Folder.remove(place)
      return (flushed, logged - flushed)
    }
    failures += 1
    let report = Folder.text("\(place)/report")
    try output.append("--seed \(seed), kept in \(place): \(ending)\n  \(report)\n")
    try output.flush()
    return (flushed, 0)
  }

  /// Makes a process log until the file system is cut off, and returns what is to be found.
  private func log(
    _ seed: UInt64, _ disk: Disk, _ place: String
  ) throws -> (expected: Expectation, logged: Int) {
    var random = SeededGenerator(seed: seed)
    let path = "\(place)/page"
    let (counts, flushed) = (try CountPage(path), try CountPage("\(path).flushed"))
    let child = try ChildProcess(
      ChildProcess.ownPath,
      ["power", "log", "--seed", "\(seed)", "--folder", "\(disk.folder)/store", "--page", path],
      output: "\(place)/output")
    let deadline = Clock.monotonic() + 20_000_000_000
    while !flushed.isReady {
      guard child.isRunning, Clock.monotonic() < deadline else {
        let said = Folder.text("\(place)/output")
        throw Failure("the process that logs does not come to flush anything: \(said)")
      }
      usleep(1000)
    }
    usleep(UInt32.random(in: 0...300_000, using: &random))
    // Counts before the cut: what is flushed meanwhile may survive or not.
    let safe = flushed.counts
    try disk.cutOff()
    usleep(UInt32.random(in: 0...20_000, using: &random))
    child.kill()
    _ = child.wait()
    var expected = Expectation(seed: seed, begun: counts.counts.map { $0 + 1 })
    expected.required = safe
    return (expected, counts.counts.reduce(0, +))
  }
}
