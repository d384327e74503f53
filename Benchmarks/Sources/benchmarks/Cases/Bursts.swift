import CHarness

/// The order message as the logger quill measures itself: bursts of 20 calls, 2 ms apart.
struct Bursts {
  private let settings: Settings
  init(_ settings: Settings) { self.settings = settings }

  func run(_ results: inout Results) throws {
    let rounds = settings.quick ? 2 : 5
    var histograms: [String: Histogram] = [:]
    var means: [String: Figure] = [:]
    let opened = try AnyContender.all.map { contender in
      (contender, try contender.open(Files.folder("\(settings.directory)/\(contender.name)")))
    }
    harness_pin(0)
    for round in 0...rounds {
      for (contender, logger) in round % 2 == 0 ? opened : opened.reversed() {
        var histogram = Histogram()
        logger.loops[.order]?.bursts(round == 0 ? 10 : settings.bursts / rounds, &histogram)
        try logger.drain()
        if round == 0 { continue }
        histograms[contender.name, default: Histogram()].add(histogram)
        let mean = histogram.lowMean / Double(Measure.burstSize)
        means[contender.name, default: Figure()].add(mean)
      }
    }
    harness_unpin()
    for (contender, logger) in opened {
      try logger.finish()
      Files.remove("\(settings.directory)/\(contender.name)")
    }
    results.add(table(means, histograms))
  }

  private func table(_ means: [String: Figure], _ histograms: [String: Histogram]) -> Table {
    var table = Table(
      "bursts", "Order message in bursts of 20, 2 ms apart: nanoseconds per call",
      columns: ["mean of lower 99 %", "p50", "p99", "p99.9", "max"],
      note: "The method of quill's own benchmark: a sample is the mean of a burst.")
    for contender in AnyContender.all {
      guard let all = histograms[contender.name], let mean = means[contender.name] else {
        continue
      }
      let quantiles = [0.5, 0.99, 0.999].map { all.quantile($0) } + [all.maximum]
      table.add(
        contender.name,
        [.figure(mean, digits: 1)]
          + quantiles.map { .number($0 / Double(Measure.burstSize), digits: 1) })
    }
    return table
  }
}
