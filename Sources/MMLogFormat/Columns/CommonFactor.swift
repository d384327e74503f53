/// The factor that divides at least three of four differences between neighboring numbers of a
/// column; nil if there is none, or if it brings little.
///
/// Many counters advance in steps: that of a processor with 2.6 GHz, for instance, by 26 each 10
/// ns. Then the lowest bits of ticks say nothing, but differ.
///
/// The greatest common divisor of two differences is the factor in three of five cases; in the
/// others it is a multiple of the factor, and divides few further differences. A sample of the
/// differences is inspected, however many there are.
func commonFactor(_ values: UnsafePointer<UInt64>, count: Int) -> Int64? {
  let (sample, candidates, exceptions) = (64, 8, 16)
  guard count >= 2 * sample else { return nil }
  let stride = (count - 2) / sample
  for candidate in 0..<candidates {
    let index = candidate * (sample / candidates) * stride
    let factor = greatestCommonDivisor(
      difference(values, at: index), difference(values, at: index + 1))
    guard factor >= 8, let result = Int64(exactly: factor) else { continue }
    var others = 0
    for index in 0..<sample where others <= exceptions {
      others &+= difference(values, at: index &* stride) % factor == 0 ? 0 : 1
    }
    if others <= exceptions { return result }
  }
  return nil
}

/// Whether all of a sample of numbers are multiples of a factor apart.
func hasOneRemainder(
  _ values: UnsafePointer<UInt64>, count: Int, by factor: UInt64
) -> Bool {
  stride(from: 0, to: count, by: max(1, count / 64)).allSatisfy {
    Int64(bitPattern: values[$0] &- values[0]).magnitude % factor == 0
  }
}

/// How far a number and the one behind it are apart.
private func difference(_ values: UnsafePointer<UInt64>, at index: Int) -> UInt64 {
  Int64(bitPattern: values[index + 1] &- values[index]).magnitude
}

/// By Euclid's algorithm. For 0 and a number, it is that number.
private func greatestCommonDivisor(_ a: UInt64, _ b: UInt64) -> UInt64 {
  var (a, b) = (a, b)
  while b != 0 { (a, b) = (b, a % b) }
  return a
}
