import CHarness
import Glibc
import MMLog
import MMLogCalls

/// What the first call at a call site costs, and later ones.
struct FirstCalls {
  private let settings: Settings
  private let orders = Orders()
  init(_ settings: Settings) { self.settings = settings }

  private struct Found {
    var store = Histogram(), thread = Histogram()
    var first = Histogram(), second = Histogram(), later = Histogram()
  }

  func run(_ results: inout Results) throws {
    // The first round does not count: it pages the program's code in.
    var discarded = Found()
    try measure(&discarded)
    var found = Found()
    for _ in 0..<(settings.quick ? 10 : 50) { try measure(&found) }
    results.add(
      table([
        ("first call of a store", found.store), ("first call at a call site", found.first),
        ("second call at it", found.second), ("later calls", found.later),
        ("a thread's first calls at sites that are known", found.thread),
      ]))
  }

  /// Measures with a new store, whose dictionary is empty: its call sites are new to it.
  private func measure(_ found: inout Found) throws {
    let directory = try Files.folder("\(settings.directory)/first")
    defer { Files.remove(directory) }
    let logger = try MMLogContender(directory: directory, for: .service)
    harness_pin(0)
    Self.time(1, &found.store) { logger.order(orders[$0]) }
    Self.time(TwentySites.count, &found.first) { logger.site($0, orders[$0]) }
    Self.time(TwentySites.count, &found.second) { logger.site($0, orders[$0]) }
    for _ in 0..<10 { Self.time(TwentySites.count, &found.later) { logger.site($0, orders[$0]) } }
    harness_unpin()
    let thread = Self.onAnotherThread {
      // This leaves out the cost of making the thread's place in the store.
      logger.order(orders[0])
      Self.time(TwentySites.count, &$0) { logger.site($0, orders[$0]) }
    }
    found.thread.add(thread)
    try logger.finish()
  }

  @inline(__always)
  private static func time(_ calls: Int, _ histogram: inout Histogram, _ call: (Int) -> Void) {
    for index in 0..<calls {
      let start = harness_ticks()
      call(index)
      histogram.add(harness_ticks() - start)
    }
  }

  private func table(_ rows: [(String, Histogram)]) -> Table {
    var table = Table(
      "first", "mmlog's first calls: nanoseconds",
      columns: ["p50", "p90", "p99", "max"],
      note: "A new store each round, then 20 call sites, each call timed on its own.")
    for (name, histogram) in rows {
      table.add(
        name,
        [0.5, 0.9, 0.99].map { .number(histogram.quantile($0), digits: 0) }
          + [.number(histogram.maximum, digits: 0)])
    }
    return table
  }

  /// Proof of `@unchecked Sendable`: used by one thread, then by the one that has joined it.
  private final class Box: @unchecked Sendable {
    let body: (inout Histogram) -> Void
    var histogram = Histogram()
    init(_ body: @escaping (inout Histogram) -> Void) { self.body = body }
  }

  private static func onAnotherThread(_ body: @escaping (inout Histogram) -> Void) -> Histogram {
    let box = Box(body)
    var thread = pthread_t()
    pthread_create(
      &thread, nil,
      { @Sendable argument in
        guard let argument else { return nil }
        let box = Unmanaged<Box>.fromOpaque(argument).takeRetainedValue()
        box.body(&box.histogram)
        return nil
      }, Unmanaged.passRetained(box).toOpaque())
    pthread_join(thread, nil)
    return box.histogram
  }
}
