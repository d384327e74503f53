import CHarness
import Foundation
import MMLogCalls

/// How many records a second a logger sustains, until all are written and synced.
struct Sustained {
  /// What a child is instructed to do.
  struct Job: Codable {
    var workload = Workload.order.rawValue
    var records = 0
    var threads = 1
    /// How many call sites, if they are chosen at random.
    var sites = 0
    /// A file whose lines are logged; nil: made-up lines.
    var lines: String?
  }

  /// What the child has found.
  struct Result: Codable {
    let seconds: Double
    let processorSeconds: Double
    let bytes: Int
    let lost: Int
    /// The memory in KiB: before anything was logged, and at its peak.
    let startMemory: Int
    let peakMemory: Int
  }

  private let settings: Settings
  init(_ settings: Settings) { self.settings = settings }

  func run(_ results: inout Results) throws {
    for threads in [1, 2, 8, 64] { try show(Job(threads: threads), &results) }
    try show(Job(workload: Workload.sites.rawValue, threads: 2), &results)
    for sites in [100, 2000, 10_000] {
      try show(Job(workload: Workload.manySites.rawValue, sites: sites), &results)
    }
    try show(Job(workload: Workload.text.rawValue), &results)
    try show(Job(workload: Workload.line.rawValue, lines: settings.lines), &results)
  }

  private func show(_ job: Job, _ results: inout Results) throws {
    let loggers = AnyContender.loggers.filter {
      $0.workloads.map(\.rawValue).contains(job.workload)
    }
    var found: [String: [Result]] = [:]
    for round in 0..<settings.sustainedRounds {
      for logger in round % 2 == 0 ? loggers : loggers.reversed() {
        var job = job
        job.records = records(of: logger)
        found[logger.name, default: []].append(try run(logger, job))
      }
    }
    var table = Table(
      "sustained-\(job.workload)-\(job.threads)-\(job.sites)",
      "Sustained, \(title(of: job)): until all is written and synced",
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

  private func title(of job: Job) -> String {
    let threads = job.threads == 1 ? "one thread" : "\(job.threads) threads"
    let what =
      switch Workload(rawValue: job.workload) {
      case .manySites: "\(job.sites) call sites at random"
      case .line: job.lines == nil ? "made log lines" : "real log lines"
      case let workload: workload?.title ?? job.workload
      }
    return "\(what), \(threads)"
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
    contender.isFast ? settings.sustainedRecords : settings.slowRecords
  }

  private func run(_ contender: AnyContender, _ job: Job) throws -> Result {
    let directory = try Files.folder("\(settings.directory)/sustained")
    defer { Files.remove(directory) }
    return try Self.start(contender, job, in: directory)
  }

  /// Makes a child do the job.
  static func start(_ contender: AnyContender, _ job: Job, in directory: String) throws -> Result {
    let text = String(decoding: try JSONEncoder().encode(job), as: UTF8.self)
    let child = try Child(
      nil, ["child", "sustain", contender.name, directory, text], capturing: true)
    return try JSONDecoder().decode(Result.self, from: child.finish())
  }

  /// The child's part.
  static func run<C: Contender>(_ type: C.Type, _ directory: String, _ job: Job) throws -> Result {
    let contender = try C(directory: directory, for: .service)
    let log = try calls(of: job, to: contender)
    // This includes the texts to be logged, which are not the logger's memory.
    let startMemory = Machine.peakMemory
    let clock = processorTime()
    let seconds = try Clock.seconds {
      log()
      try contender.finish()
    }
    let processor = processorTime() - clock
    let (peak, bytes) = (Machine.peakMemory, Files.size(of: Files.list(directory)))
    let logged = job.records / job.threads * job.threads
    let lost = logged - (try C.records(in: directory))
    return Result(
      seconds: seconds, processorSeconds: processor, bytes: bytes, lost: lost,
      startMemory: startMemory, peakMemory: peak)
  }

  /// Returns what is to be timed. What it logs is made here, before.
  private static func calls<C: Contender>(
    of job: Job, to contender: C
  ) throws -> () -> Void {
    let orders = Orders()
    switch Workload(rawValue: job.workload) {
    case .sites: return spread(SitesCall(contender: contender, orders: orders), job)
    case .manySites:
      return spread(ManySitesCall(contender: contender, orders: orders, count: job.sites), job)
    case .text:
      return spread(TextCall(contender: contender, texts: .words(Texts.many)), job)
    case .line:
      let lines = try job.lines.map { try Texts.lines(Files.text($0)) } ?? .lines(Texts.many)
      return spread(TextCall(contender: contender, texts: lines), job)
    default: return spread(OrderCall(contender: contender, orders: orders), job)
    }
  }

  private static func spread(_ call: some Call, _ job: Job) -> () -> Void {
    let share = job.records / job.threads
    guard job.threads > 1 else { return { for index in 0..<share { call.make(at: index) } } }
    let calls = (0..<job.threads).map { Share(call: call, first: $0 * share) }
    return { _ = Threads.measure(calls, each: share - Threads.warmUp) }
  }

  /// Each thread has records of its own.
  private struct Share<C: Call>: Call {
    let call: C
    let first: Int

    @inline(__always) func values(_ index: Int) -> C.Values { call.values(first + index) }
    @inline(__always) func make(_ values: C.Values) { call.make(values) }
  }

  /// The processor time of all threads of this process, in seconds.
  private static func processorTime() -> Double {
    var usage = rusage()
    getrusage(RUSAGE_SELF.rawValue, &usage)
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
    return seconds(usage.ru_utime) + seconds(usage.ru_stime)
  }
}
