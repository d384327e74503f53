import CHarness
import MMLog
import MMLogCalls

/// What recording an HTTP exchange costs, and redacting a body.
struct Exchanges {
  private let settings: Settings
  private let orders = Orders()
  init(_ settings: Settings) { self.settings = settings }

  private struct Exchange: Call {
    let http: HTTPCalls, orders: Orders
    func values(_ index: Int) -> Order { orders[index] }
    func make(_ order: Order) { http.exchange(order) }
  }

  func run(_ results: inout Results) throws {
    let directory = try Files.folder("\(settings.directory)/exchanges")
    defer { Files.remove(directory) }
    let store = try LogStore(directory: directory, name: "exchanges")
    let http = HTTPCalls(store.logger(label: "http"))
    harness_pin(0)
    defer { harness_unpin() }
    var (on, off, body) = (Figure(), Figure(), Figure())
    for round in 0...settings.rounds {
      let recorded = Measure.backToBack(Exchange(http: http, orders: orders), calls: 2000)
      // This makes the next calls write into warm pages.
      try store.flush(.archive)
      let unrecorded = timeOfUnrecorded(http)
      let rate = redactionRate(http)
      if round == 0 { continue }
      on.add(recorded)
      off.add(unrecorded)
      body.add(rate)
    }
    try store.close()
    var table = Table(
      "http", "HTTP exchanges, and a body of JSON of 4 KiB", columns: ["", ""],
      note: "An exchange is begun and ended, back to back, with one value in its query.")
    table.add("begin and end", [.figure(on, digits: 0), .text("ns")])
    table.add("the same below its level", [.figure(off, digits: 2), .text("ns")])
    table.add("redacting the body", [.figure(body, digits: 0), .text("MB/s")])
    results.add(table)
  }

  /// Returns the nanoseconds for each exchange.
  private func timeOfUnrecorded(_ http: HTTPCalls) -> Double {
    let (count, start) = (100_000, harness_ticks())
    http.unrecorded(times: count)
    return Double(harness_ticks() - start) * Clock.nanosecondsPerTick / Double(count)
  }

  /// Returns the rate in megabytes per second.
  private func redactionRate(_ http: HTTPCalls) -> Double {
    let (count, start) = (200, harness_ticks())
    var size = 0
    for _ in 0..<count { size += http.redact() }
    precondition(size > 0)
    let nanoseconds = Double(harness_ticks() - start) * Clock.nanosecondsPerTick
    return Double(count * http.bodySize) / nanoseconds * 1000
  }
}
