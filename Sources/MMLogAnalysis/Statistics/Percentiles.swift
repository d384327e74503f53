/// How numbers are distributed: percentiles within one part in a hundred, of as many numbers as
/// there are, in bounded memory.
///
/// Each number counts in a bucket, which has the first eight bits of its mantissa in common with
/// others: there are no more than a few hundred for each factor of a thousand. The minimum, the
/// maximum and the sum are exact. Many distributions together may have so many buckets, and then each
/// that gets more has a few wide ones.
package struct Percentiles {
  package private(set) var count: UInt64 = 0
  package private(set) var sum = 0.0
  package private(set) var minimum = Double.infinity
  package private(set) var maximum = -Double.infinity
  private var buckets: [Int64: UInt64] = [:]
  /// How many buckets it has.
  var bucketCount: Int { buckets.count }
  /// Of 52 bits of a mantissa, so many do not count: beyond 52, those of the exponent do not,
  /// either.
  private var ignoredBits: Int64 = 45

  /// So many buckets may all together have that belong to one summary: some 100 MB.
  package static let maximumOfAll = 2 << 20
  /// So many each may have where there are no more than that.
  private static let fewest = 16

  package init() {}

  /// Adds a number; what is none or infinite does not count.
  package mutating func add(_ value: Double) {
    var left = Int.max
    add(value, of: &left)
  }

  /// The same.
  ///
  /// - Parameter left: How many more buckets there may be.
  mutating func add(_ value: Double, of left: inout Int) {
    guard value.isFinite else { return }
    count += 1
    sum += value
    (minimum, maximum) = (min(minimum, value), max(maximum, value))
    let before = buckets.count
    buckets[Self.ordered(value) >> ignoredBits, default: 0] += 1
    if buckets.count > before, left <= 0 {
      while buckets.count > Self.fewest, widen() {}
    }
    left -= buckets.count - before
  }

  /// - Returns: False if the buckets are as wide as they can be.
  private mutating func widen() -> Bool {
    guard ignoredBits < 63 else { return false }
    ignoredBits += 1
    var wider: [Int64: UInt64] = [:]
    for (bucket, count) in buckets { wider[bucket >> 1, default: 0] += count }
    buckets = wider
    return true
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
      guard passed >= rank else { continue }
      let start = start(of: bucket)
      // The first of the wide ones may begin below all numbers.
      return start.isNaN ? minimum : min(max(start, minimum), maximum)
    }
    return maximum
  }

  /// A whole number in the order of the numbers.
  private static func ordered(_ value: Double) -> Int64 {
    let bits = Int64(bitPattern: value.bitPattern)
    return bits >= 0 ? bits : Int64.min &- bits
  }

  /// Where it begins, which is exact for whole numbers that are not large.
  private func start(of bucket: Int64) -> Double {
    let ordered = bucket << ignoredBits
    return Double(bitPattern: UInt64(bitPattern: ordered >= 0 ? ordered : Int64.min &- ordered))
  }
}
