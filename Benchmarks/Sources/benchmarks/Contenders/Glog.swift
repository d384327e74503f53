import CxxLoggers
import MMLogCalls

/// glog: formats and writes in the caller, through the C library's buffer. One for each process.
///
/// Proof of `@unchecked Sendable`: glog is for many threads.
struct Glog: Contender, @unchecked Sendable {
  static let name = "glog"
  private let directory: String

  init(directory: String, for purpose: Purpose) {
    self.directory = directory
    glog_open(directory)
  }

  @inline(never)
  func order(_ order: Order) {
    glog_order(
      UInt64(order.id), order.cUser, Order.userLength, order.elapsed, UInt64(order.quantity))
  }

  @inline(never) func text(_ text: Text) { glog_text(text.c, text.length) }

  @inline(never)
  func pairs(_ order: Order) {
    glog_pairs(
      UInt64(order.id), order.cUser, Order.userLength, order.elapsed, order.isLive ? 1 : 0,
      order.cSide, order.sideLength)
  }

  @inline(never)
  func site(_ number: Int, _ order: Order) {
    glog_site(UInt64(number), UInt64(order.id), order.cUser, Order.userLength)
  }

  @inline(never) func disabled(_ order: Order) { glog_disabled(UInt64(order.id)) }

  func drain() { glog_drain() }

  func finish() {
    glog_close()
    Files.list(directory).forEach(Files.sync)
  }

  /// Each file begins with lines of its own.
  static func records(in directory: String) throws -> Int {
    Files.list(directory).map { max(0, Files.lines(in: $0) - 4) }.reduce(0, +)
  }
}
