import CHarness

/// What a call costs: paced and back to back, for every contender and workload, in alternating
/// rounds.
struct Latency {
  private let settings: Settings
  private var samples: [Key: Samples] = [:]

  private struct Key: Hashable {
    let name: String
    let workload: Workload
  }

  private struct Samples {
    var mean = Figure(), median = Figure(), p99 = Figure(), p999 = Figure()
    var backToBack = Figure()
    var all = Histogram()
    var allocations = 0.0

    mutating func add(_ round: Histogram) {
      mean.add(round.lowMean)
      median.add(round.quantile(0.5))
      p99.add(round.quantile(0.99))
      p999.add(round.quantile(0.999))
      all.add(round)
    }
  }

  init(_ settings: Settings) { self.settings = settings }

  mutating func run(_ results: inout Results) throws {
    let opened = try AnyContender.all.map { contender in
      (contender, try contender.open(Files.folder("\(settings.directory)/\(contender.name)")))
    }
    // The loggers' threads exist by now, and are not pinned.
    harness_pin(0)
    for workload in Workload.allCases {
      let takers = opened.filter { $0.0.workloads.contains(workload) }
      for round in 0...settings.rounds {
        // With both orders, each contender has each neighbor before it equally often.
        for (contender, logger) in round % 2 == 0 ? takers : takers.reversed() {
          try measure(contender, logger, workload, keep: round > 0)
        }
      }
    }
    harness_unpin()
    for (contender, logger) in opened {
      try logger.finish()
      Files.remove("\(settings.directory)/\(contender.name)")
    }
    show(&results)
  }

  /// A round of one contender. The first is not kept: it meets every call site and page for the
  /// first time.
  private mutating func measure(
    _ contender: AnyContender, _ logger: Opened, _ workload: Workload, keep: Bool
  ) throws {
    guard let loops = logger.loops[workload] else { return }
    var histogram = Histogram()
    loops.paced(keep ? settings.pacedCalls : 1_000, &histogram)
    try logger.drain()
    let backToBack = loops.backToBack(contender.calls)
    try logger.drain()
    let allocations = loops.allocations(1_000)
    try logger.drain()
    guard keep else { return }
    let key = Key(name: contender.name, workload: workload)
    samples[key, default: Samples()].add(histogram)
    samples[key]?.backToBack.add(backToBack)
    samples[key]?.allocations = allocations
  }

  // MARK: - Tables

  private func show(_ results: inout Results) {
    results.add(pacedOrder())
    results.add(
      table(
        "paced", "Paced calls, each workload: nanoseconds, mean of the lower 99 %",
        "The harness's own cost (null call) is included."
      ) { .figure($0.mean, digits: 1) })
    results.add(backToBack())
    results.add(
      table("allocations", "Allocations per call, by the calling thread", "") {
        .number($0.allocations, digits: 2)
      })
    for (key, samples) in self.samples where key.workload == .order {
      results.latencies[key.name] = samples.all.curve
    }
  }

  private func pacedOrder() -> Table {
    var table = Table(
      "paced-order", "Order message, a call every 1 to 2 µs: nanoseconds",
      columns: [
        "mean of lower 99 %", "less null call", "p50", "p99", "p99.9", "p99.9 / p50", "max",
      ],
      note: "Median of rounds (minimum–maximum); max of all rounds.")
    guard let null = samples[Key(name: NullCall.name, workload: .order)] else { return table }
    for contender in AnyContender.all {
      guard let own = samples[Key(name: contender.name, workload: .order)] else { continue }
      table.add(
        contender.name,
        [
          .figure(own.mean, digits: 1), .median(own.mean.minus(null.mean), digits: 1),
          .figure(own.median, digits: 1), .figure(own.p99, digits: 1), .figure(own.p999, digits: 1),
          .median(own.p999.ratio(to: own.median), digits: 1), .number(own.all.maximum, digits: 0),
        ])
    }
    return table
  }

  private func backToBack() -> Table {
    var table = Table(
      "back-to-back", "Back to back: nanoseconds per call",
      columns: Workload.allCases.map(\.title) + ["order / floor"],
      note: "Loggers have room for all of a round's calls.")
    let floor = samples[Key(name: Floor.name, workload: .order)]?.backToBack ?? Figure()
    for contender in AnyContender.all {
      let cells = Workload.allCases.map { workload -> Cell in
        let own = samples[Key(name: contender.name, workload: workload)]
        return own.map { .figure($0.backToBack, digits: 1) } ?? .none
      }
      let order = samples[Key(name: contender.name, workload: .order)]?.backToBack ?? Figure()
      table.add(contender.name, cells + [.median(order.ratio(to: floor), digits: 2)])
    }
    return table
  }

  private func table(
    _ id: String, _ title: String, _ note: String, cell: (Samples) -> Cell
  ) -> Table {
    var table = Table(id, title, columns: Workload.allCases.map(\.title), note: note)
    for contender in AnyContender.all {
      table.add(
        contender.name,
        Workload.allCases.map {
          samples[Key(name: contender.name, workload: $0)].map(cell) ?? .none
        })
    }
    return table
  }
}
