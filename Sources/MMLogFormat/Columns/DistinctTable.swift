/// Numbers the different things of a column, in the order in which they first occur: a hash table
/// of those numbers.
final class DistinctTable {
  /// More are not worth a dictionary.
  static let maximum = 4096
  private static let slots = 2 * maximum
  /// The entries' numbers plus one; 0 for none.
  private let table = UnsafeMutablePointer<UInt16>.allocate(capacity: slots)
  private(set) var count = 0

  deinit { table.deallocate() }

  /// Writes the number of each thing's entry to `indexes`, unless there are too many different
  /// ones.
  ///
  /// - Parameters:
  ///   - total: How many things to inspect.
  ///   - limit: Gives up when there are more; at most ``maximum``.
  ///   - hash: The hash of a thing.
  ///   - isEntry: Whether an entry, by number, is a thing of that hash.
  ///   - add: Makes a thing of that hash an entry, of that number.
  /// - Returns: Whether all were written.
  @inline(__always)
  func index(
    count total: Int, limit: Int, _ indexes: UnsafeMutablePointer<UInt64>, hash: (Int) -> UInt64,
    isEntry: (_ number: Int, _ thing: Int, UInt64) -> Bool,
    add: (_ number: Int, _ thing: Int, UInt64) -> Void
  ) -> Bool {
    let slots = min(Self.slots, 1 << bitWidth(UInt64(4 * limit)))
    table.update(repeating: 0, count: slots)
    var found = 0
    for index in 0..<total {
      let hash = hash(index)
      var slot = Int(truncatingIfNeeded: hash >> 40) & (slots &- 1)
      while table[slot] > 0, !isEntry(Int(table[slot]) &- 1, index, hash) {
        slot = (slot &+ 1) & (slots &- 1)
      }
      if table[slot] == 0 {
        guard found < limit else { return false }
        add(found, index, hash)
        found &+= 1
        table[slot] = UInt16(found)
      }
      indexes[index] = UInt64(table[slot]) &- 1
    }
    count = found
    return true
  }
}
