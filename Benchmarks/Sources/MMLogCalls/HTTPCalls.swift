import MMLog
import MMLogHTTP

/// Exchanges as an `HTTPLog` records them, and what redacts bodies.
public struct HTTPCalls: Sendable {
  private let on, off: HTTPLog
  private let redactor = Redactor.standard
  private let body: [UInt8]

  /// Logs with `log`, whose level is to be `info`.
  public init(_ log: Logger) {
    on = HTTPLog(log)
    var options = HTTPLog.Options()
    options.level = .debug
    off = HTTPLog(log, options: options)
    body = Self.json
  }

  /// The beginning and the end of an exchange with one value in its query.
  @inline(never)
  public func exchange(_ order: Order) {
    let exchange = on.begin(
      method: "GET", url: "https://shop.example/orders?token=5f2b9c")
    exchange.end(status: order.id & 0xFF, size: order.quantity)
  }

  /// An exchange below its level.
  @inline(never)
  public func unrecorded(_ order: Order) {
    let exchange = off.begin(method: "GET", url: "https://shop.example/orders?token=5f2b9c")
    exchange.end(status: order.id & 0xFF, size: order.quantity)
  }

  /// Makes this many exchanges below their level, with nothing else between: one takes less time
  /// than calling a function.
  @inline(never)
  public func unrecorded(times count: Int) {
    for id in 0..<count {
      let exchange = off.begin(method: "GET", url: "https://shop.example/orders?token=5f2b9c")
      exchange.end(status: id & 0xFF, size: id)
    }
  }

  /// How many bytes ``redact()`` reads.
  public var bodySize: Int { body.count }

  /// Redacts a body of JSON of 4 KiB, in which two of a hundred fields are secret.
  @inline(never)
  public func redact() -> Int { redactor.redacted(json: body).count }

  private static var json: [UInt8] {
    var text = "{\"access_token\":\"b2d1c7e0\",\"orders\":["
    var index = 0
    while text.utf8.count < 4000 {
      text += """
        {"id":\(index),"venue":"xetra","side":"buy","price":\(index).25,"live":true,\
        "comment":"the limit is below the price","path":"/orders/\(index)/book"},
        """
      index += 1
    }
    return Array((text + "{}],\"client_secret\":\"x\"}").utf8)
  }
}
