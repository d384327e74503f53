import CFloor
import MMLogCalls

/// The same stores, counter, CRC32C and release store as mmlog's, in C, and nothing else.
///
/// Proof of `@unchecked Sendable`: each thread has one of its own.
struct Floor: Contender, @unchecked Sendable {
  static let name = "C floor"
  static let workloads = [Workload.order, .text, .line, .pairs]
  static let calls = 100_000
  private static let ringSize = 64 << 20
  private let ring: UnsafeMutablePointer<floor_ring>
  private let directory: String

  init(directory: String, for purpose: Purpose) throws { try self.init(directory, number: 0) }

  private init(_ directory: String, number: Int) throws {
    self.directory = directory
    ring = .allocate(capacity: 1)
    guard floor_open(ring, "\(directory)/floor-\(number)", Self.ringSize) == 1 else {
      throw BenchmarkError("the floor's file cannot be made in \(directory)")
    }
  }

  @inline(never)
  func order(_ order: Order) {
    floor_order(
      ring, UInt64(order.id), order.cUser, Order.userLength, order.elapsed, UInt64(order.quantity))
  }

  @inline(never)
  func text(_ text: Text) { floor_text(ring, text.c, text.length) }

  @inline(never)
  func pairs(_ order: Order) {
    floor_pairs(
      ring, UInt64(order.id), order.cUser, Order.userLength, order.elapsed, order.isLive ? 1 : 0,
      order.cSide, order.sideLength)
  }

  func forThread(_ number: Int) throws -> Floor { try Floor(directory, number: number + 1) }

  func afterThread() { finish() }

  func drain() { floor_clear(ring) }

  func finish() {
    floor_close(ring)
    ring.deallocate()
  }
}
