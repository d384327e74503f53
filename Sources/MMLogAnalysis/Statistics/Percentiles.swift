/// How numbers are distributed: percentiles within one part in a hundred, of as many numbers as
/// there are, in bounded memory.
///
/// Each number counts in a bucket, which has the first eight bits of its mantissa in common with
/// others: there are no more than a few hundred for each factor of a thousand. The minimum, the
/// maximum and the sum are exact.
package struct Percentiles {
  package private(set) var count: UInt64 = 0
  package private(set) var sum = 0.0
  package private(set) var minimum = Double.infinity
  package private(set) var maximum = -Double.infinity
  private var buckets: [Int64: UInt64] = [:]

  /// Of 52 bits of a mantissa, so many do not count.
  private static let ignoredBits: Int64 = 45

  package init() {}

  /// Adds a number; what is none or infinite does not count.
  package mutating func add(_ value: Double) {
    guard value.isFinite else { return }
    count += 1
    sum += value
    (minimum, maximum) = (min(minimum, value), max(maximum, value))
    buckets[Self.ordered(value) >> Self.ignoredBits, default: 0] += 1
  }

  /// The number that a part of all, such as 0.99, does not exceed; nil if there are none.
  ///
  /// - Complexity: O(*n* log *n*) in the number of buckets.
  package func value(at part: Double) -> Double? {
    guard count > 0 else { return nil }
    let rank = max(1, UInt64((part * Double(count)).rounded(.up)))
    // The ends are exact.
    if rank >= count { return maximum }
    var passed: UInt64 = 0
    for (bucket, count) in buckets.sorted(by: { $0.key < $1.key }) {
      passed += count
      if passed >= rank { return min(max(Self.start(of: bucket), minimum), maximum) }
    }
    return maximum
  }

  /// A whole number in the order of the numbers.
  private static func ordered(_ value: Double) -> Int64 {
    let bits = Int64(bitPattern: value.bitPattern)
    return bits >= 0 ? bits : Int64.min &- bits
  }

  /// Where it begins, which is exact for whole numbers that are not large.
  private static func start(of bucket: Int64) -> Double {
    let ordered = bucket << ignoredBits
    return Double(bitPattern: UInt64(bitPattern: ordered >= 0 ? ordered : Int64.min &- ordered))
  }
}
