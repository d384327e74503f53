import CommandLineTool
import CrashRecords
import Glibc
import MMLog

/// Logs and flushes until its file system is cut off and it is killed, and reports elsewhere how
/// far it is.
enum LoggingChild {
  static func run(_ arguments: Arguments, _ seed: UInt64) throws -> Program.Status {
    // Ends the process if nobody kills it.
    alarm(60)
    let path = try Power.required(.page, arguments)
    let (counts, flushed) = (try CountPage(path), try CountPage("\(path).flushed"))
    let workload = try Workload(
      Plan(seed: seed), in: try Power.required(.folder, arguments), counts)
    let threads = try workload.start(records: .max, resting: seed.isMultiple(of: 2))
    counts.isReady = true
    var random = workload.plan.generator
    while true {
      usleep(UInt32.random(in: 0...20_000, using: &random))
      let counts = workload.counts
      // Once the file system is cut off, every flush fails, and the next is tried.
      guard (try? flush(workload)) != nil else { continue }
      for lane in threads.indices {
        for _ in flushed[lane]..<counts[lane] { flushed.acknowledge(lane) }
      }
      flushed.isReady = true
    }
  }

  /// If the store syncs everything at once, an archive is as good as the disk.
  private static func flush(_ workload: Workload) throws {
    let syncsAll = workload.plan.configuration.syncLevel == .trace
    try workload.store.flush(syncsAll ? .archive : .disk)
  }
}
