import CHarness

/// The order message as the logger quill measures itself: bursts of 20 calls, 2 ms apart.
struct Bursts {
  private let settings: Settings
  init(_ settings: Settings) { self.settings = settings }

  func run(_ results: inout Results) throws {
    let rounds = settings.quick ? 2 : 5
    var histograms: [String: Histogram] = [:]
    var means: [String: Figure] = [:]
    let opened = try Contestant.all.map { contestant in
      (contestant, try contestant.open(Files.folder("\(settings.directory)/\(contestant.name)")))
    }
    harness_pin(0)
    for round in 0...rounds {
      for (contestant, logger) in opened {
        var histogram = Histogram()
        logger.loops[.order]?.bursts(round == 0 ? 10 : settings.bursts / rounds, &histogram)
        try logger.drain()
        if round == 0 { continue }
        histograms[contestant.name, default: Histogram()].add(histogram)
        let mean = histogram.lowMean / Double(Measure.burstSize)
        means[contestant.name, default: Figure()].add(mean)
      }
    }
    harness_unpin()
    for (contestant, logger) in opened {
      try logger.finish()
      Files.remove("\(settings.directory)/\(contestant.name)")
    }
    results.add(table(means, histograms))
  }

  private func table(_ means: [String: Figure], _ histograms: [String: Histogram]) -> Table {
    var table = Table(
      "bursts", "Order message in bursts of 20, 2 ms apart: nanoseconds per call",
      columns: ["mean of lower 99 %", "p50", "p99", "p99.9", "max"],
      note: "The method of quill's own benchmark: a sample is the mean of a burst.")
    for contestant in Contestant.all {
      guard let all = histograms[contestant.name], let mean = means[contestant.name] else {
        continue
      }
      let quantiles = [0.5, 0.99, 0.999].map { all.quantile($0) } + [all.maximum]
      table.add(
        contestant.name,
        [.figure(mean, digits: 1)]
          + quantiles.map { .number($0 / Double(Measure.burstSize), digits: 1) })
    }
    return table
  }
}
