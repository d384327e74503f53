import CxxLoggers
import MMLogCalls

/// spdlog with a background thread: callers put messages, formatted, into a queue, and wait when it
/// is full.
///
/// Proof of `@unchecked Sendable`: the logger is one of spdlog's "mt" kind, for many threads.
struct SpdlogAsync: SpdlogContender, @unchecked Sendable {
  static let name = "spdlog async"
  let log: SpdlogCalls

  init(directory: String, for purpose: Purpose) throws {
    // 8192 is spdlog's own default.
    log = try SpdlogCalls("\(directory)/log", queue: purpose == .latency ? 1 << 17 : 8192)
  }
}

/// spdlog that formats and writes in the caller, through the C library's buffer.
///
/// Proof of `@unchecked Sendable`: as above.
struct SpdlogSync: SpdlogContender, @unchecked Sendable {
  static let name = "spdlog sync"
  let log: SpdlogCalls

  init(directory: String, for purpose: Purpose) throws {
    log = try SpdlogCalls("\(directory)/log", queue: 0)
  }
}

/// What logs with ``SpdlogCalls``.
protocol SpdlogContender: Contender {
  var log: SpdlogCalls { get }
}

extension SpdlogContender {
  @inline(never) func order(_ order: Order) { log.order(order) }
  @inline(never) func text(_ text: Text) { log.text(text) }
  @inline(never) func pairs(_ order: Order) { log.pairs(order) }
  @inline(never) func site(_ number: Int, _ order: Order) { log.site(number, order) }
  @inline(never) func disabled(_ order: Order) { log.disabled(order) }
  func drain() { log.drain() }
  func finish() { log.close() }
}

struct SpdlogCalls {
  private let logger: OpaquePointer
  private let path: String

  init(_ path: String, queue: UInt64) throws {
    guard let logger = spdlog_open(path, queue) else {
      throw BenchmarkError("spdlog cannot make \(path)")
    }
    (self.logger, self.path) = (logger, path)
  }

  @inline(__always)
  func order(_ order: Order) {
    spdlog_order(
      logger, UInt64(order.id), order.cUser, Order.userLength, order.elapsed,
      UInt64(order.quantity))
  }

  @inline(__always) func text(_ text: Text) { spdlog_text(logger, text.c, text.length) }

  @inline(__always)
  func pairs(_ order: Order) {
    spdlog_pairs(
      logger, UInt64(order.id), order.cUser, Order.userLength, order.elapsed, order.isLive ? 1 : 0,
      order.cSide, order.sideLength)
  }

  @inline(__always)
  func site(_ number: Int, _ order: Order) {
    spdlog_site(logger, UInt64(number), UInt64(order.id), order.cUser, Order.userLength)
  }

  @inline(__always) func disabled(_ order: Order) { spdlog_disabled(logger, UInt64(order.id)) }

  func drain() { spdlog_drain(logger) }

  func close() {
    spdlog_close(logger)
    Files.sync(path)
  }
}
