// A source file as it is written for os.Logger, with another import. It also tests that such a file
// compiles.
import MMLog

struct LimitOrder: CustomStringConvertible {
  var id: Int
  var user: String
  var price: Double
  var flags: UInt32
  var description: String { "order \(id) of \(user)" }
}

enum OrderError: Error { case rejected(code: Int) }

extension Logger {
  private static let subsystem = "com.example.orders"
  static let matching = Logger(subsystem: subsystem, category: "matching")
  static let network = Logger(subsystem: subsystem, category: "network")
}

struct OrderService {
  private let logger = Logger(subsystem: "com.example.orders", category: "service")

  func accept(_ order: LimitOrder, level: OSLogType = .default) {
    logger.log("accepting \(order.id)")
    logger.log(level: level, "as reported: \(order.id, format: .decimal(minDigits: 6))")
    logger.trace("trace \(order.flags, format: .hex(includePrefix: true, uppercase: true))")
    logger.debug("debug \(order.flags, format: .octal)")
    logger.info("by \(order.user, privacy: .private)")
    logger.notice("\(order.user, align: .left(columns: 8), privacy: .public)|")
    logger.warning("\(order.price, format: .fixed(precision: 2), align: .right(columns: 10))")
    logger.error("\(OrderError.rejected(code: 7)) \(order, privacy: .public)")
    logger.critical("\(order.price, format: .exponential(precision: 3))")
    logger.fault("\(order.price, format: .hybrid)")
    if logger.isEnabled(type: .debug) {
      Logger.matching.debug("expensive \(order, privacy: .auto)")
    }
    Logger.network.info("\(order.user, privacy: .private(mask: .hash)) \(order.id, privacy: .auto)")
    Logger.network.info(
      "\(order.user, privacy: .sensitive) \(order.user, privacy: .auto(mask: .hash))")
    log(order.user, privacy: .auto)
  }

  private func log(_ user: String, privacy: OSLogPrivacy) {
    Logger.network.info("user \(user, privacy: privacy)")
  }
}
