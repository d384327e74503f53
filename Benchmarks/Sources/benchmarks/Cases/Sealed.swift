import CHarness
import MMLog

/// What encryption costs: the same calls to a store without recipients and to one with.
struct Sealed {
  private static let contenders = [AnyContender(MMLogContender.self), AnyContender.sealed]
  private let settings: Settings
  init(_ settings: Settings) { self.settings = settings }

  func run(_ results: inout Results) throws {
    try results.add(calls())
    try results.add(sustained())
    try results.add(values())
  }

  /// A single value in a store that is clear: `privacy: .sealed`.
  private func values() throws -> Table {
    let directory = try Files.folder("\(settings.directory)/value")
    defer { Files.remove(directory) }
    var configuration = LogStore.Configuration()
    configuration.ringSize = 64 << 20
    let store = try LogStore(directory: directory, name: "value", configuration: configuration)
    let log = store.logger(label: "payments")
    try MMLog.Logger.sealValues(for: [Recipient(SealedContender.recipient)])
    let (calls, card) = (20_000, "4929 1234 5678 9012")
    var (clear, sealed) = (Figure(), Figure())
    for round in 0...settings.rounds {
      for isSealed in round % 2 == 0 ? [false, true] : [true, false] {
        let seconds =
          isSealed
          ? Clock.seconds {
            for _ in 0..<calls { log.info("paid with \(card, privacy: .sealed)") }
          }
          : Clock.seconds { for _ in 0..<calls { log.info("paid with \(card)") } }
        try store.flush(.archive)
        if round == 0 { continue }
        let nanoseconds = seconds * 1e9 / Double(calls)
        if isSealed { sealed.add(nanoseconds) } else { clear.add(nanoseconds) }
      }
    }
    try store.close()
    var table = Table(
      "sealed-value", "A sealed value in a clear store: nanoseconds per call",
      columns: ["clear", "sealed"], note: "A text of 19 bytes, for one recipient.")
    table.add("one value", [.figure(clear, digits: 0), .figure(sealed, digits: 0)])
    return table
  }

  private func calls() throws -> Table {
    let opened = try Self.contenders.map {
      try $0.open(Files.folder("\(settings.directory)/\($0.name)"))
    }
    var table = Table(
      "sealed-calls", "A store with recipients: nanoseconds per call",
      columns: ["back to back, clear", "encrypted", "ratio", "paced, clear", "encrypted", "more"],
      note: "Paced: mean of the lower 99 %, with the harness's own cost in it.")
    harness_pin(0)
    for workload in SealedContender.workloads {
      var (backToBack, paced) = ([Figure(), Figure()], [Figure(), Figure()])
      for round in 0...settings.rounds {
        for index in round % 2 == 0 ? [0, 1] : [1, 0] {
          guard let loops = opened[index].loops[workload] else { continue }
          var histogram = Histogram()
          loops.paced(round > 0 ? settings.pacedCalls : 1_000, &histogram)
          try opened[index].drain()
          let cost = loops.backToBack(SealedContender.calls)
          try opened[index].drain()
          if round == 0 { continue }
          backToBack[index].add(cost)
          paced[index].add(histogram.lowMean)
        }
      }
      table.add(
        workload.title,
        [
          .figure(backToBack[0], digits: 1), .figure(backToBack[1], digits: 1),
          .figure(backToBack[1].ratio(to: backToBack[0]), digits: 2),
          .figure(paced[0], digits: 1), .figure(paced[1], digits: 1),
          .figure(paced[1].minus(paced[0]), digits: 1),
        ])
    }
    harness_unpin()
    for logger in opened { try logger.finish() }
    for contender in Self.contenders { Files.remove("\(settings.directory)/\(contender.name)") }
    return table
  }

  private func sustained() throws -> Table {
    var table = Table(
      "sealed-sustained", "A store with recipients: until all is written and synced",
      columns: [
        "records/s, clear", "encrypted", "ratio", "processor, ns per record, clear", "encrypted",
        "bytes per record, clear", "encrypted", "peak memory, MiB, clear", "encrypted",
      ],
      note: "Each in a process of its own, made to wait when the ring is full. "
        + "Peak memory includes the texts that are logged.")
    for (workload, threads) in [(Workload.order, 1), (.order, 2), (.text, 1)] {
      var job = Sustained.Job(workload: workload.rawValue, threads: threads)
      job.records = settings.sustainedRecords
      var found: [[Sustained.Result]] = [[], []]
      for round in 0..<(settings.quick ? 3 : 7) {
        for index in round % 2 == 0 ? [0, 1] : [1, 0] {
          let directory = try Files.folder("\(settings.directory)/sealed")
          defer { Files.remove(directory) }
          let result = try Sustained.start(Self.contenders[index], job, in: directory)
          guard result.lost == 0 else { throw BenchmarkError("\(result.lost) records were lost") }
          found[index].append(result)
        }
      }
      func figures(_ value: (Sustained.Result) -> Double) -> [Figure] {
        found.map { Figure($0.map(value)) }
      }
      let rates = figures { Double(job.records) / $0.seconds }
      let times = figures { $0.processorSeconds * 1e9 / Double(job.records) }
      let sizes = figures { Double($0.bytes) / Double(job.records) }
      let memory = figures { Double($0.peakMemory) / 1024 }
      table.add(
        "\(workload.title), \(threads == 1 ? "one thread" : "\(threads) threads")",
        [
          .figure(rates[0], digits: 0), .figure(rates[1], digits: 0),
          .figure(rates[1].ratio(to: rates[0]), digits: 2),
          .median(times[0], digits: 0), .median(times[1], digits: 0),
          .median(sizes[0], digits: 2), .median(sizes[1], digits: 2),
          .median(memory[0], digits: 1), .median(memory[1], digits: 1),
        ])
    }
    return table
  }
}
