import TestSupport
import CommandLineTool
import CrashRecords
import Glibc
import MMLog
import MMLogReader
import MMLogSystem
import Synchronization

/// A store that logs at a steady pace for long, with archives that are closed and deleted: nothing
/// grows, and nothing is lost.
struct Soak {
  /// What is inspected every so often.
  struct Sample {
    let second: Int
    let residentKiB: Int
    let descriptors: Int
    let diskKiB: Int
    let logged: Int
  }

  private let folder: String
  private let store: LogStore
  private let counts: Counts
  private let checked = Checked()
  private let archiveSize: Int
  /// How many archives the store keeps.
  private static let keptArchives = 8
  private static let threads = 2
  /// About how many bytes a record takes, compressed.
  private static let bytesOfRecord = 24

  static let kind = Kind(
    "soak",
    "Logs at a steady pace for long: memory, descriptors and disk use stay, nothing is lost.",
    description: [
      "Two threads log, archives rotate, and the store deletes old ones, of which each is read before. Every second the process is inspected; the "
        + "greatest value of the first third of the samples and the least of the last are compared, the first tenth left out."
    ],
    options: [.seconds, .rate],
    examples: [Example("Ten minutes", "mmlog-torture soak --seconds 600")],
    quick: ["--seconds", "60", "--rate", "50000"],
    // Brief runs use a debug build, which reads records about as fast on a busy machine.
    brief: ["--seconds", "20", "--rate", "30000"]
  ) { arguments, seed, output in try run(arguments, seed, output) }

  private static func run(
    _ arguments: Arguments, _ seed: UInt64, _ output: StandardOutput
  ) throws -> Program.Status {
    let seconds = try arguments.integer(of: .seconds, in: 3...1_000_000) ?? 600
    let rate = try arguments.integer(of: .rate, in: 1...10_000_000) ?? 200_000
    let folder = try arguments.value(of: .folder) ?? Folder.temporary()
    try Folder.make(folder)
    let problems = try Soak(in: folder, records: seconds * rate, seed: seed)
      .problems(seconds, rate, output)
    for problem in problems { try output.append("\(problem)\n") }
    if problems.isEmpty { Folder.remove(folder) }
    return problems.isEmpty ? .success : .failure
  }

  private init(in folder: String, records: Int, seed: UInt64) throws {
    self.folder = folder
    var configuration = LogStore.Configuration()
    // After a tenth of the time, there are as many archives as are kept: from then on, disk use
    // stays.
    let share = records * Self.bytesOfRecord / (10 * Self.keptArchives)
    archiveSize = min(max(share, 64 << 10), 4 << 20)
    configuration.rotation.size = archiveSize
    configuration.retention = .unlimited
    configuration.retention.count = Self.keptArchives
    configuration.observer = checked
    store = try LogStore(directory: folder, name: "soak", configuration: configuration)
    counts = Counts(lanes: (0..<Self.threads).map { Lane($0, sizes: 20...120, seed: seed) })
  }

  private func problems(_ seconds: Int, _ rate: Int, _ output: StandardOutput) throws -> [String] {
    let logger = store.logger(label: "soak")
    logger.level = .trace
    let end = Clock.monotonic() + UInt64(seconds) * 1_000_000_000
    let threads = try counts.lanes.indices.map { lane in
      try Thread(name: "lane \(lane)") { [counts] in
        counts.log(lane, to: logger, perSecond: rate / Self.threads, until: end)
      }
    }
    var samples: [Sample] = []
    var read = [Int](repeating: 0, count: Self.threads)
    var lost: [String] = []
    try output.append("second    records   resident KiB  descriptors   disk KiB\n")
    let start = end - UInt64(seconds) * 1_000_000_000
    var reported = 0
    while Clock.monotonic() < end {
      usleep(1_000_000)
      try check(&read, &lost)
      let second = Int((Clock.monotonic() - start) / 1_000_000_000)
      let sample = try Sample(second: second, in: folder, logged: counts.total)
      samples.append(sample)
      if second >= reported + seconds / 60 {
        reported = second
        try output.append("\(sample)\n")
        try output.flush()
      }
    }
    for thread in threads { thread.join() }
    _ = try store.rotate(within: .seconds(60))
    try check(&read, &lost)
    try store.close()
    try check(&read, &lost)
    for (lane, count) in counts.all.enumerated() where read[lane] != count || count == 0 {
      lost.append("lane \(lane): \(count) records were logged, and \(read[lane]) are there")
    }
    // A machine that is too slow may not write as many archives as are kept.
    let archives = counts.total * Self.bytesOfRecord / archiveSize
    if archives > 2 * Self.keptArchives && checked.deletedCount == 0 {
      lost.append("of some \(archives) archives none was deleted")
    }
    let pace = Double(counts.total) / Double(seconds)
    try output.append(
      "\(counts.total) records, \(Int(pace)) a second; "
        + "\(checked.deletedCount) archives were deleted\n")
    if pace < Double(rate) * 0.95 {
      try output.append("the machine was too slow for \(rate) a second\n")
    }
    return lost + Trend.problems(samples)
  }

  /// Reads archives that were closed since the last time, and checks that they go on where those
  /// before them ended. Then they may be deleted.
  private func check(_ read: inout [Int], _ lost: inout [String]) throws {
    let new = try store.archives().filter { $0.isSealed && !checked.contains($0) }
    for archive in new where lost.count < 10 {
      check(archive.path, &read, &lost)
      checked.insert(archive)
    }
    if store.missedEvents > 0 { lost.append("the store did not wait for an answer") }
  }

  private func check(_ path: String, _ read: inout [Int], _ lost: inout [String]) {
    for item in LogReader(paths: [path]) {
      switch item {
      case .record(let record):
        guard let (lane, sequence) = Lane.position(of: record.messageBytes), lane < read.count
        else {
          lost.append("a record that nobody logged")
          continue
        }
        if sequence != read[lane] + 1 {
          lost.append("lane \(lane): record \(sequence) comes after \(read[lane])")
        }
        read[lane] = sequence
      case .corruption(let corruption): lost.append("\(corruption)")
      case .losses(_, let losses): lost.append("losses: \(losses)")
      default: break
      }
    }
  }
}

/// Lets the store delete only archives that were read.
private final class Checked: LogStore.Observer {
  private let names = Mutex<Set<String>>([])
  private let deleted = Atomic(0)

  var deletedCount: Int { deleted.load(ordering: .relaxed) }

  func insert(_ archive: ArchiveInfo) { names.withLock { _ = $0.insert(archive.fileName) } }

  func contains(_ archive: ArchiveInfo) -> Bool {
    names.withLock { $0.contains(archive.fileName) }
  }

  func handle(_ event: LogStore.Event) {
    if case .deleted(let archive, _) = event {
      names.withLock { _ = $0.remove(archive.fileName) }
      deleted.wrappingAdd(1, ordering: .relaxed)
    }
  }

  func mayDelete(_ archive: ArchiveInfo, for rule: LogStore.Retention.Rule) -> Bool {
    contains(archive)
  }
}

/// What was logged, and who logs it.
private final class Counts: Sendable {
  let lanes: [Lane]
  private let page: CountPage?

  init(lanes: [Lane]) {
    self.lanes = lanes
    page = try? CountPage("/dev/shm/mmlog-soak.\(getpid())")
    unlink("/dev/shm/mmlog-soak.\(getpid())")
  }

  var all: [Int] { lanes.indices.map { page?[$0] ?? 0 } }
  var total: Int { all.reduce(0, +) }

  /// Logs a lane's records at a pace: a few each millisecond.
  func log(_ lane: Int, to logger: Logger, perSecond rate: Int, until end: UInt64) {
    let start = Clock.monotonic()
    var sequence = 0
    while true {
      let now = Clock.monotonic()
      if now >= end { return }
      let due = Int(Double(now - start) / 1e9 * Double(rate))
      while sequence < due {
        sequence += 1
        lanes[lane].log(sequence, to: logger)
        page?.acknowledge(lane)
      }
      usleep(1000)
    }
  }
}

extension Soak.Sample: CustomStringConvertible {
  fileprivate init(second: Int, in folder: String, logged: Int) throws {
    self.second = second
    self.logged = logged
    let status = String(decoding: try Folder.stream("/proc/self/status"), as: UTF8.self)
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
    residentKiB = line.split(separator: " ").compactMap { Int($0) }.first ?? 0
    descriptors = try Folder.names("/proc/self/fd").count
    let directory = try Directory.open(folder)
    diskKiB =
      try directory.names().reduce(0) {
        $0 + (try directory.status(of: $1)?.allocatedBytes ?? 0)
      } / 1024
  }

  var description: String {
    func column(_ number: Int, _ width: Int) -> String {
      let text = String(number)
      return String(repeating: " ", count: max(0, width - text.utf8.count)) + text
    }
    return column(second, 6) + column(logged, 11) + column(residentKiB, 15)
      + column(descriptors, 13) + column(diskKiB, 11)
  }
}

/// Compares the first and the last third, without the first tenth, in which everything fills.
private enum Trend {
  static func problems(_ samples: [Soak.Sample]) -> [String] {
    let steady = Array(samples.dropFirst(max(1, samples.count / 10)))
    let third = steady.count / 3
    guard third > 0 else { return [] }
    let (first, last) = (steady.prefix(third), steady.suffix(third))
    func problem(
      _ what: String, _ slack: Int, _ value: (Soak.Sample) -> Int
    ) -> String? {
      // Rotation makes the value go up and down, and far up if the machine stands still for
      // seconds. A value that grows does not come down again to what it was.
      let (before, after) = (first.map(value).max() ?? 0, last.map(value).min() ?? 0)
      return after > before + slack
        ? "\(what) grew from \(before) in the first third to \(after) in the last" : nil
    }
    let disk = (first.map(\.diskKiB).max() ?? 0) / 5
    return [
      problem("resident memory in KiB", 2048, \.residentKiB),
      problem("the number of file descriptors", 1, \.descriptors),
      problem("disk use in KiB", max(disk, 5120), \.diskKiB),
    ].compactMap { $0 }
  }
}

extension Folder {
  /// The contents of a file that has no size, as those of /proc.
  fileprivate static func stream(_ path: String) throws -> [UInt8] {
    let file = try File.open(path, .read)
    return try [UInt8](unsafeUninitializedCapacity: 1 << 16) { buffer, filled in
      filled = try file.readFully(into: UnsafeMutableRawBufferPointer(buffer), at: 0)
    }
  }
}

extension Option {
  static let seconds = Option("seconds", value: "N", default: "600", "How long to log.")
  static let rate = Option("rate", value: "N", default: "200000", "How many records a second.")
}
