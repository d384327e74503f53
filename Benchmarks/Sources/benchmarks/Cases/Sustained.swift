import CHarness
import Foundation
import MMLogCalls

/// How many records a second a logger keeps up, until all are written and synced.
struct Sustained {
  /// What a child is instructed to do.
  struct Job: Codable {
    let workload: String
    let records: Int
    let threads: Int
    /// Whether the numbers in order messages are at random instead of rising, and texts all
    /// different instead of one: those need next to no room in an archive.
    var isRandom = false
  }

  /// Texts that differ.
  private struct LineCall<C: Contender>: Call {
    let contender: C
    let lines: Lines

    @inline(__always)
    func make(_ index: Int) { contender.line(lines[index], lines.c(index)) }
  }

  /// Order messages whose numbers are at random: an id of 20 bits, a time of as many, a quantity of
  /// 7.
  private struct RandomOrderCall<C: Contender>: Call {
    let contender: C

    @inline(__always)
    func make(_ index: Int) {
      var random = SplitMix64(state: UInt64(truncatingIfNeeded: index) << 32)
      contender.order(Int(truncatingIfNeeded: random.next() >> 44))
    }
  }

  /// What it has found.
  struct Result: Codable {
    let seconds: Double
    let processorSeconds: Double
    let bytes: Int
    let lost: Int
    /// In KiB, when nothing was logged yet, and at most.
    let startMemory: Int
    let peakMemory: Int
  }

  private let settings: Settings
  init(_ settings: Settings) { self.settings = settings }

  func run(_ results: inout Results) throws {
    try show(.order, threads: 1, isRandom: true, &results)
    try show(.order, threads: 1, &results)
    try show(.sites, threads: 2, &results)
    try show(.text, threads: 1, isRandom: true, &results)
  }

  private func show(
    _ workload: Workload, threads: Int, isRandom: Bool = false, _ results: inout Results
  ) throws {
    let loggers = AnyContender.loggers.filter { $0.workloads.contains(workload) }
    var found: [String: [Result]] = [:]
    for _ in 0..<settings.sustainedRounds {
      for logger in loggers {
        let job = Job(
          workload: workload.rawValue, records: records(of: logger), threads: threads,
          isRandom: isRandom)
        found[logger.name, default: []].append(try run(logger, job))
      }
    }
    var table = Table(
      "sustained-\(workload.rawValue)\(isRandom ? "-random" : "")",
      "Sustained, \(workload.title)\(isRandom ? workload == .text ? ", each another" : " with random numbers" : ""), \(threads == 1 ? "one thread" : "\(threads) threads"): until all is written and synced",
      columns: [
        "records", "records/s", "processor, ns per record", "bytes per record", "lost",
        "memory at start, MiB", "peak, MiB",
      ],
      note:
        "Each logger with its own defaults, made to wait when it is full, in a process of its own.")
    for logger in loggers {
      table.add(logger.name, cells(found[logger.name] ?? [], records(of: logger)))
    }
    results.add(table)
  }

  private func cells(_ results: [Result], _ records: Int) -> [Cell] {
    let count = Double(records)
    func figure(_ value: (Result) -> Double) -> Figure { Figure(results.map(value)) }
    return [
      .number(count, digits: 0), .figure(figure { count / $0.seconds }, digits: 0),
      .median(figure { $0.processorSeconds * 1e9 / count }, digits: 0),
      .median(figure { Double($0.bytes) / count }, digits: 2),
      .number(results.map { Double($0.lost) }.reduce(0, +), digits: 0),
      .median(figure { Double($0.startMemory) / 1024 }, digits: 1),
      .median(figure { Double($0.peakMemory) / 1024 }, digits: 1),
    ]
  }

  private func records(of contender: AnyContender) -> Int {
    contender.name == MMLogContender.name ? settings.sustainedRecords : settings.slowRecords
  }

  private func run(_ contender: AnyContender, _ job: Job) throws -> Result {
    let directory = try Files.folder("\(settings.directory)/sustained")
    defer { Files.remove(directory) }
    return try Self.start(contender, job, in: directory)
  }

  /// Has a child do it.
  static func start(_ contender: AnyContender, _ job: Job, in directory: String) throws -> Result {
    let text = String(decoding: try JSONEncoder().encode(job), as: UTF8.self)
    let child = try Child(
      nil, ["child", "sustain", contender.name, directory, text], capturing: true)
    return try JSONDecoder().decode(Result.self, from: child.finish())
  }

  /// The child's part.
  static func run<C: Contender>(_ type: C.Type, _ directory: String, _ job: Job) throws -> Result {
    let contender = try C(directory: directory, for: .service)
    let startMemory = Machine.peakMemory
    let clock = processorTime()
    let seconds = try Clock.seconds {
      log(job, to: contender)
      try contender.finish()
    }
    let processor = processorTime() - clock
    let (peak, bytes) = (Machine.peakMemory, Files.size(of: Files.list(directory)))
    let lost = job.records - (try C.records(in: directory))
    return Result(
      seconds: seconds, processorSeconds: processor, bytes: bytes, lost: lost,
      startMemory: startMemory, peakMemory: peak)
  }

  private static func log<C: Contender>(_ job: Job, to contender: C) {
    let share = job.records / job.threads
    let many = [Int](0..<job.threads)
    switch Workload(rawValue: job.workload) {
    case .sites: spread(many.map { _ in SitesCall(contender: contender) }, share)
    case .text:
      let lines = Lines()
      spread(many.map { _ in LineCall(contender: contender, lines: lines) }, share)
    default:
      if job.isRandom {
        spread(many.map { _ in RandomOrderCall(contender: contender) }, share)
      } else {
        spread(many.map { _ in OrderCall(contender: contender) }, share)
      }
    }
  }

  private static func spread(_ calls: [some Call], _ share: Int) {
    if calls.count == 1 {
      for index in 0..<share { calls[0].make(index) }
    } else {
      _ = Threads.measure(calls, each: share - Threads.warmUp)
    }
  }

  /// Of all threads of this process, in seconds.
  private static func processorTime() -> Double {
    var usage = rusage()
    getrusage(RUSAGE_SELF.rawValue, &usage)
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
    return seconds(usage.ru_utime) + seconds(usage.ru_stime)
  }
}
