import CHarness

/// The order message with the ring on a disk and in memory, alone and beside a process that writes
/// and syncs.
struct Places {
  private static let folders = ["null", "floor", "disk", "memory", "async", "sync"]
  private let settings: Settings
  init(_ settings: Settings) { self.settings = settings }

  private struct Place {
    let name: String
    let logger: Opened
    var quiet = Histogram()
    var noisy = Histogram()
  }

  func run(_ results: inout Results) throws {
    var places = try open()
    harness_pin(0)
    for round in 0...(settings.quick ? 2 : 6) {
      let order = round % 2 == 0 ? Array(places.indices) : places.indices.reversed()
      for index in order { try measure(places[index].logger, &places[index].quiet) }
      // The neighbor may run anywhere; only the producer is pinned.
      harness_unpin()
      try Neighbor.with(in: settings.directory) {
        harness_pin(0)
        for index in order { try measure(places[index].logger, &places[index].noisy) }
      }
      if round > 0 { continue }
      for index in order {
        places[index].quiet = Histogram()
        places[index].noisy = Histogram()
      }
    }
    harness_unpin()
    for place in places {
      try place.logger.finish()
      results.latencies["\(place.name), noisy disk"] = place.noisy.curve
    }
    for name in Self.folders { Files.remove("\(settings.directory)/\(name)") }
    results.add(table(places))
  }

  private func open() throws -> [Place] {
    func folder(_ name: String) throws -> String {
      try Files.folder("\(settings.directory)/\(name)")
    }
    // The first two show what the neighbor does to calls that have nothing to do with a disk, or
    // with a drainer.
    var places = [
      Place(
        name: NullCall.name, logger: Opened(try NullCall(directory: folder("null"), for: .service))),
      Place(
        name: Floor.name, logger: Opened(try Floor(directory: folder("floor"), for: .service))),
      Place(
        name: "mmlog, ring on the disk",
        logger: Opened(try MMLogContender(directory: folder("disk"), for: .service))),
    ]
    if !settings.memoryDirectory.isEmpty {
      let store = try MMLogContender(
        directory: folder("memory"), ring: settings.memoryDirectory, for: .service)
      places.append(Place(name: "mmlog, ring on tmpfs", logger: Opened(store)))
    }
    places.append(
      Place(
        name: SpdlogAsync.name,
        logger: Opened(try SpdlogAsync(directory: folder("async"), for: .service))))
    places.append(
      Place(
        name: SpdlogSync.name,
        logger: Opened(try SpdlogSync(directory: folder("sync"), for: .service))))
    return places
  }

  private func measure(_ logger: Opened, _ histogram: inout Histogram) throws {
    logger.loops[.order]?.paced(settings.pacedCalls * 4, &histogram)
    try logger.drain()
  }

  private func table(_ places: [Place]) -> Table {
    var table = Table(
      "places", "Order message, paced, beside a process that writes and syncs: nanoseconds",
      columns: ["mean of lower 99 %", "p50", "p99", "p99.9", "p99.99", "max"],
      note: "Loggers with their own defaults. All rounds together.")
    for place in places {
      table.add("\(place.name), alone", cells(place.quiet))
      table.add("\(place.name), noisy disk", cells(place.noisy))
    }
    return table
  }

  private func cells(_ histogram: Histogram) -> [Cell] {
    [.number(histogram.lowMean, digits: 1)]
      + [0.5, 0.99, 0.999].map { .number(histogram.quantile($0), digits: 1) }
      + [.number(histogram.quantile(0.9999), digits: 0), .number(histogram.maximum, digits: 0)]
  }
}
