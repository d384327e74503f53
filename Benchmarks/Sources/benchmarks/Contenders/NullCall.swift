import CHarness
import MMLogCalls

/// A call that does nothing: what harness, loop and call cost.
struct NullCall: Contender {
  static let name = "null call"
  static let calls = 100_000
  init(directory: String, for purpose: Purpose) {}

  @inline(never)
  func order(_ order: Order) {
    harness_null_order(UInt64(order.id), order.cUser, order.elapsed, UInt64(order.quantity))
  }

  @inline(never)
  func text(_ text: Text) { harness_null_text(text.c) }

  @inline(never)
  func pairs(_ order: Order) {
    harness_null_order(UInt64(order.id), order.cUser, order.elapsed, order.isLive ? 1 : 0)
  }

  @inline(never)
  func site(_ number: Int, _ order: Order) {
    harness_null_order(UInt64(number), order.cUser, 0, UInt64(order.id))
  }

  @inline(never)
  func disabled(_ order: Order) { harness_consume(UInt64(order.id)) }
}
