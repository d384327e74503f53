/// Words in memory that is kept for the next use.
final class WordBuffer {
  private(set) var base: UnsafeMutablePointer<UInt64>
  private var capacity: Int

  init(capacity: Int = 512) {
    self.capacity = capacity
    base = .allocate(capacity: capacity)
  }

  deinit { base.deallocate() }

  /// Makes room for `count` words, and keeps the first `used` of those that it has.
  func grow(for count: Int, keeping used: Int = 0) {
    guard count > capacity else { return }
    let larger = max(count, 2 * capacity)
    let grown = UnsafeMutablePointer<UInt64>.allocate(capacity: larger)
    grown.update(from: base, count: used)
    base.deallocate()
    (base, capacity) = (grown, larger)
  }
}
