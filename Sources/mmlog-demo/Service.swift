import MMLog
import MMLogSystem

/// A service that is busy with orders until it is killed.
final class Service: Sendable {
  static let threadCount = 4
  private let counts: Counts
  private let store: LogStore

  init(_ directory: String) throws {
    counts = try Counts(directory)
    store = try LogStore(directory: Service.logs(in: directory), name: Service.name)
  }

  /// How the names of its log's files begin.
  static let name = "orders"

  /// Where it logs.
  static func logs(in directory: String) -> String { "\(directory)/log" }

  func run() throws -> Never {
    let threads = try (0..<Service.threadCount).map { thread in
      try Thread(name: "matching \(thread)") { [self] in
        takeOrders(thread, store.logger(label: "orders.matching"))
      }
    }
    counts.isReady = true
    for thread in threads { thread.join() }
    fatalError("the service has more orders than can be counted")
  }

  private func takeOrders(_ thread: Int, _ log: Logger) {
    let symbols = ["ACME", "GLOBEX", "INITECH", "UMBRELLA", "HOOLI"]
    var price = 100.25
    for order in 1... {
      price += Double(order % 7 - 3) / 4
      let symbol = symbols[order % 5]
      log.info(
        "order \(order) on line \(thread): \(symbol, name: "symbol") at \(price, name: "price")")
      counts.acknowledge(thread)
    }
  }
}
