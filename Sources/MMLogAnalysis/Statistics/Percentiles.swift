/// The distribution of numbers: percentiles within one part in a hundred, of any number of numbers,
/// in bounded memory.
///
/// Each number counts in a bucket. The numbers of a bucket have the first eight bits of their
/// mantissas in common: there are some 1,300 buckets for each factor of a thousand. The minimum,
/// the maximum and the sum are exact. The buckets of all distributions in a summary have a maximum.
/// Beyond it, each distribution that gets more numbers has a few wide buckets.
package struct Percentiles {
  package private(set) var count: UInt64 = 0
  package private(set) var sum = 0.0
  package private(set) var minimum = Double.infinity
  package private(set) var maximum = -Double.infinity
  private(set) var buckets: [Int64: UInt64] = [:]
  /// How many of the 52 bits of a mantissa do not count. Beyond 52, bits of the exponent do not
  /// count, either.
  private var ignoredBits: Int64 = 45

  /// The maximum number of buckets of all distributions in one summary: some 100 MB.
  package static let maximumOfAll = 2 << 20
  /// How many buckets each distribution may have when the maximum of all is reached.
  private static let fewest = 16

  package init() {}

  /// Adds a number. NaN and infinity do not count.
  package mutating func add(_ value: Double) {
    var left = Int.max
    add(value, of: &left)
  }

  /// Adds a number. NaN and infinity do not count.
  ///
  /// - Parameter left: How many more buckets all distributions may have.
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
      // The first wide bucket may begin below all numbers.
      return start.isNaN ? minimum : min(max(start, minimum), maximum)
    }
    return maximum
  }

  /// An integer that sorts as the number does.
  private static func ordered(_ value: Double) -> Int64 {
    let bits = Int64(bitPattern: value.bitPattern)
    return bits >= 0 ? bits : Int64.min &- bits
  }

  /// Where a bucket begins. That is exact for whole numbers that are not large.
  private func start(of bucket: Int64) -> Double {
    let ordered = bucket << ignoredBits
    return Double(bitPattern: UInt64(bitPattern: ordered >= 0 ? ordered : Int64.min &- ordered))
  }
}
