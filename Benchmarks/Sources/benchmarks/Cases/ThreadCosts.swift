/// The order message from several threads at once.
struct ThreadCosts {
  private static let counts = [1, 2, 4]
  private let settings: Settings
  init(_ settings: Settings) { self.settings = settings }

  private struct Key: Hashable {
    let name: String
    let threads: Int
  }

  func run(_ results: inout Results) throws {
    var wall: [Key: Figure] = [:]
    var processor: [Key: Figure] = [:]
    let opened = try AnyContender.all.map { contender in
      (contender, try contender.open(Files.folder("\(settings.directory)/\(contender.name)")))
    }
    for round in 0...settings.rounds {
      for (contender, logger) in round % 2 == 0 ? opened : opened.reversed() {
        for threads in Self.counts {
          guard let loops = logger.loops[.order] else { continue }
          let cost = try loops.threads(threads, contender.calls / (threads > 2 ? 2 : 1))
          if round == 0 { continue }
          let key = Key(name: contender.name, threads: threads)
          wall[key, default: Figure()].add(cost.wall)
          processor[key, default: Figure()].add(cost.processor)
        }
      }
    }
    for (contender, logger) in opened {
      try logger.finish()
      Files.remove("\(settings.directory)/\(contender.name)")
    }
    results.add(table(wall, processor))
  }

  private func table(_ wall: [Key: Figure], _ processor: [Key: Figure]) -> Table {
    var table = Table(
      "threads", "Order message from several threads, back to back: nanoseconds per record",
      columns: Self.counts.map { "processor, \($0)" } + ["4 / 1"]
        + Self.counts.map { "elapsed, \($0)" },
      note: "Processor time of the callers, and elapsed time divided by all threads' records.")
    for contender in AnyContender.all {
      let keys = Self.counts.map { Key(name: contender.name, threads: $0) }
      let costs = keys.compactMap { processor[$0] }
      guard costs.count == keys.count else { continue }
      table.add(
        contender.name,
        costs.map { .figure($0, digits: 1) } + [.median(costs[2].ratio(to: costs[0]), digits: 2)]
          + keys.compactMap { wall[$0] }.map { .figure($0, digits: 1) })
    }
    return table
  }
}
