/// Finds the different numbers of a column, in the order in which they first occur.
final class DistinctWords {
  private let table = DistinctTable()
  let values = UnsafeMutablePointer<UInt64>.allocate(capacity: DistinctTable.maximum)
  var count: Int { table.count }

  deinit { values.deallocate() }

  /// Writes the number of each value's entry to `indexes`, as ``DistinctTable`` does.
  func index(
    _ input: UnsafePointer<UInt64>, count total: Int, limit: Int,
    _ indexes: UnsafeMutablePointer<UInt64>
  ) -> Bool {
    let values = values
    return table.index(
      count: total, limit: limit, indexes,
      hash: { (input[$0] ^ input[$0] >> 32) &* 0x9E37_79B9_7F4A_7C15 },
      isEntry: { number, index, _ in values[number] == input[index] },
      add: { number, index, _ in values[number] = input[index] })
  }
}
