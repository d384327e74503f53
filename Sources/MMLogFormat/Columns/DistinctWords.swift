/// Finds the different numbers of a column, in the order in which they first occur.
final class DistinctWords {
  /// More are not worth a dictionary.
  static let most = 4096
  private static let slots = 2 * most

  private let table = UnsafeMutablePointer<UInt16>.allocate(capacity: slots)
  let values = UnsafeMutablePointer<UInt64>.allocate(capacity: most)
  private(set) var count = 0

  deinit {
    table.deallocate()
    values.deallocate()
  }

  /// Writes the number of each value's entry to `indexes`, unless there are too many different ones.
  ///
  /// - Parameter limit: Gives up when there are more; at most ``most``.
  /// - Returns: Whether all were written.
  func index(
    _ input: UnsafePointer<UInt64>, count total: Int, limit: Int,
    _ indexes: UnsafeMutablePointer<UInt64>
  ) -> Bool {
    let slots = min(Self.slots, 1 << bitWidth(UInt64(4 * limit)))
    table.update(repeating: 0, count: slots)
    var found = 0
    for index in 0..<total {
      let number = number(of: input[index], slots, found)
      if number == found {
        guard found < limit else { return false }
        found &+= 1
      }
      indexes[index] = UInt64(truncatingIfNeeded: number)
    }
    count = found
    return true
  }

  /// The number of a value's entry; a new one gets `next`, and a place if there is one.
  @inline(__always)
  private func number(of value: UInt64, _ slots: Int, _ next: Int) -> Int {
    let hash = (value ^ value >> 32) &* 0x9E37_79B9_7F4A_7C15
    var slot = Int(truncatingIfNeeded: hash >> 40) & (slots &- 1)
    while true {
      let entry = Int(table[slot])
      if entry == 0 { break }
      if values[entry &- 1] == value { return entry &- 1 }
      slot = (slot &+ 1) & (slots &- 1)
    }
    guard next < Self.most else { return next }
    values[next] = value
    table[slot] = UInt16(next &+ 1)
    return next
  }
}
