/// The range of some numbers: the least of them as signed numbers, and how many bits the others
/// take above it.
struct ColumnRange {
  let base: UInt64
  let width: Int

  @inline(__always)
  init(_ values: UnsafePointer<UInt64>, count: Int) {
    var (minimum, maximum) = (Int64.max, Int64.min)
    for index in 0..<count {
      let value = Int64(bitPattern: values[index])
      (minimum, maximum) = (min(minimum, value), max(maximum, value))
    }
    base = UInt64(bitPattern: minimum)
    width = bitWidth(UInt64(bitPattern: maximum &- minimum))
  }

  /// The range of the numbers from 0 to one less than `count`.
  init(below count: Int) { (base, width) = (0, bitWidth(UInt64(count - 1))) }

  /// How many byte planes the numbers have.
  var planes: Int { (width + 7) / 8 }
}
