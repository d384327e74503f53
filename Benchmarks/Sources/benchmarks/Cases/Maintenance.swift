import CHarness
import Foundation
import Glibc
import MMLog
import MMLogCalls

/// What closing and maintaining archives costs: log calls while archives are closed again and
/// again, a roll itself, and a directory with very many archives.
struct Maintenance {
  private let settings: Settings
  init(_ settings: Settings) { self.settings = settings }

  func run(_ results: inout Results) throws {
    results.add(try rolling())
    results.add(try rolls())
    results.add(try manyArchives(settings.quick ? 10_000 : 100_000))
  }

  // MARK: - Calls while archives are closed

  /// How long it is between two rolls, in microseconds.
  private static let pause: UInt32 = 50_000

  private func rolling() throws -> Table {
    let folders = ["still", "rolling"].map { "\(settings.directory)/\($0)" }
    defer { for folder in folders { Files.remove(folder) } }
    let stores = try folders.map {
      try MMLogContender(directory: Files.folder($0), for: .service)
    }
    let (still, rolled) = (Opened(stores[0]), Opened(stores[1]))
    let roller = Roller(stores[1].store)
    var figures = [Figure(), Figure()]
    var all = [Histogram(), Histogram()]
    for round in 0...settings.rounds {
      for side in round % 2 == 0 ? [0, 1] : [1, 0] {
        var histogram = Histogram()
        let measure = {
          harness_pin(0)
          // Half a second: ten rolls.
          (side == 0 ? still : rolled).loops[.order]?.paced(settings.pacedCalls * 16, &histogram)
          harness_unpin()
        }
        if side == 0 { measure() } else { try roller.roll(every: Self.pause, during: measure) }
        try (side == 0 ? still : rolled).drain()
        if round == 0 { continue }
        figures[side].add(histogram.quantile(0.999))
        all[side].add(histogram)
      }
    }
    for store in stores { try store.finish() }
    var table = Table(
      "rolling", "Order message, paced, while an archive is closed every 50 ms: nanoseconds",
      columns: ["p50", "p99", "p99.9", "p99.9 / without", "max"],
      note: "Alternating rounds; \(roller.count) archives were closed.")
    for (side, name) in ["without", "every 50 ms"].enumerated() {
      table.add(
        name,
        [
          .number(all[side].quantile(0.5), digits: 0), .number(all[side].quantile(0.99), digits: 0),
          .figure(figures[side], digits: 0),
          .median(figures[side].ratio(to: figures[0]), digits: 2),
          .number(all[side].maximum, digits: 0),
        ])
    }
    return table
  }

  /// Closes archives on a thread of its own.
  ///
  /// Proof of `@unchecked Sendable`: `isOver` is touched by atomic operations only; `count` by the
  /// thread, and by others once it is joined.
  private final class Roller: @unchecked Sendable {
    private let store: LogStore
    private let isOver = UnsafeMutablePointer<UInt64>.allocate(capacity: 1)
    private(set) var count = 0

    init(_ store: LogStore) {
      self.store = store
      isOver.initialize(to: 0)
    }

    deinit { isOver.deallocate() }

    func roll(every pause: UInt32, during body: () -> Void) throws {
      isOver.pointee = 0
      var thread = pthread_t()
      let code = pthread_create(
        &thread, nil,
        { @Sendable argument in
          guard let argument else { return nil }
          Unmanaged<Roller>.fromOpaque(argument).takeRetainedValue().run()
          return nil
        }, Unmanaged.passRetained(self).toOpaque())
      guard code == 0 else { throw BenchmarkError("a thread cannot be started") }
      body()
      _ = harness_add(isOver, 1)
      pthread_join(thread, nil)
    }

    private func run() {
      while harness_load_acquire(isOver) == 0 {
        usleep(Maintenance.pause)
        if let archive = try? store.rotate(within: .seconds(60)), archive.isSealed { count += 1 }
      }
    }
  }

  // MARK: - A roll itself

  /// Measures the time from the request to the answer, when only the archive's end is still to be
  /// written.
  private func rolls() throws -> Table {
    var table = Table(
      "rolls", "Closing an archive into which everything is written already: milliseconds",
      columns: ["p50", "p90", "max"],
      note: "From the request to the sealed archive, with what makes it safe from a power cut.")
    for (name, place) in settings.places {
      let folder = "\(place)/rolls"
      defer { Files.remove(folder) }
      let logger = try MMLogContender(directory: Files.folder(folder), for: .service)
      var times = Figure()
      for round in 0...(settings.quick ? 20 : 100) {
        let orders = Orders()
        for index in 0..<10_000 { logger.order(orders[index]) }
        try logger.drain()
        let seconds = try Clock.seconds { _ = try logger.store.rotate(within: .seconds(60)) }
        if round > 0 { times.add(1000 * seconds) }
      }
      try logger.finish()
      let sorted = times.values.sorted()
      table.add(
        name,
        [
          .number(times.median, digits: 2), .number(sorted[sorted.count * 9 / 10], digits: 2),
          .number(times.maximum, digits: 2),
        ])
    }
    return table
  }

  // MARK: - Many archives

  private func manyArchives(_ count: Int) throws -> Table {
    let folder = try Files.folder("\(settings.directory)/many")
    defer { Files.remove(folder) }
    try make(count, in: folder)
    var table = Table(
      "many", "A directory with \(decimal(Double(count), 0)) archives: seconds", columns: ["once"],
      note: "Closing comes while the archives are inspected for the first time.")
    var configuration = LogStore.Configuration()
    configuration.retention = .unlimited
    func add(_ name: String, _ body: () throws -> Void) rethrows {
      table.add(name, [.number(try Clock.seconds(body), digits: 3)])
    }
    func open() throws -> LogStore {
      try LogStore(
        directory: folder, name: MMLogContender.storeName, configuration: configuration)
    }
    var store = try open()
    try add("closing") { try store.close() }
    try add("start") { store = try open() }
    try add("first scan of all") { try store.applyRetention(within: .seconds(600)) }
    try add("listing") { _ = try store.archives() }
    try add("applying limits that hold") { try store.applyRetention(within: .seconds(600)) }
    var retention = LogStore.Retention.unlimited
    retention.count = count - 100
    try store.update { $0.retention = retention }
    try add("deleting 100 of them") { try store.applyRetention(within: .seconds(600)) }
    try add("closing, when all are known") { try store.close() }
    return table
  }

  /// Gives one archive many names, each as if it were another archive of its session.
  private func make(_ count: Int, in folder: String) throws {
    let source = "\(folder)-source"
    defer { Files.remove(source) }
    let logger = try MMLogContender(directory: Files.folder(source), for: .service)
    logger.order(Orders()[1])
    try logger.finish()
    guard let path = Files.list(source, suffix: ".mmlog").first,
      let end = path.range(of: "-", options: .backwards), let slash = path.lastIndex(of: "/")
    else { throw BenchmarkError("there is no archive in \(source)") }
    let stem = path[path.index(after: slash)..<end.lowerBound]
    var current = path
    for number in 1...count {
      let digits = String(repeating: "0", count: max(0, 6 - "\(number)".count)) + "\(number)"
      let name = "\(folder)/\(stem)-\(digits).mmlog"
      // A file has room for a limited number of names, on ext4 65,000.
      if number % 50_000 == 1 {
        try FileManager.default.copyItem(atPath: path, toPath: name)
        current = name
      } else if link(current, name) != 0 {
        throw BenchmarkError("link \(name): errno \(errno)")
      }
    }
  }
}
