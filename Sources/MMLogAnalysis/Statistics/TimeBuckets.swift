package import MMLogFormat

/// Counts of records over time, by level, in buckets. The buckets get wider as the time that they
/// span grows, so that their number stays within a maximum.
package struct TimeBuckets {
  package typealias Counts = [7 of UInt64]

  /// How wide a bucket is, in nanoseconds.
  package private(set) var width: Int64
  private(set) var buckets: [Int64: Counts] = [:]
  private let maximum: Int
  private var last: (index: Int64, counts: Counts)?

  private static let millisecond: Int64 = 1_000_000
  private static let second: Int64 = 1_000_000_000
  /// Each width divides the next, so that a bucket's counts need not be split.
  private static let widths: [Int64] =
    [1, 5, 10, 50, 100, 500].map { $0 * millisecond }
    + [
      1, 5, 10, 30, 60, 300, 600, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86400, 7 * 86400,
    ].map { $0 * second }

  /// - Parameters:
  ///   - maximum: The maximum number of buckets.
  ///   - minimum: The minimum width in nanoseconds: one of the widths.
  package init(maximum: Int, minimum: Int64 = 1_000_000) {
    self.maximum = maximum
    width = minimum
  }

  package mutating func add(_ time: Timestamp, _ level: Level) {
    let time = time.nanosecondsSince1970
    if last?.index != time.flooredQuotient(by: width) {
      settle()
      // Only now: settling may have made the buckets wider.
      let index = time.flooredQuotient(by: width)
      last = (index, buckets[index] ?? Counts(repeating: 0))
    }
    last?.counts[Int(level.rawValue)] += 1
  }

  /// Whether nothing was counted.
  var isEmpty: Bool { buckets.isEmpty && last == nil }

  /// Stores the counts of the last record's bucket.
  package mutating func settle() {
    guard let (index, counts) = last else { return }
    buckets[index] = counts
    last = nil
    while buckets.count > maximum, widen() {}
  }

  /// Widens the buckets until there are at most `maximum` from the first to the last, including
  /// those without a record. Times that are centuries apart, or before 1970 and later, do not come
  /// into one bucket. Therefore four buckets may remain, whatever the maximum is.
  package mutating func widen(toSpan maximum: Int) {
    settle()
    while let span, span > maximum, widen() {}
  }

  private var span: Int64? {
    guard let minimum = buckets.keys.min(), let maximum = buckets.keys.max() else { return nil }
    return maximum - minimum + 1
  }

  /// - Returns: False if the buckets are as wide as they can be.
  private mutating func widen() -> Bool {
    let next = Self.widths.first { $0 > width } ?? (width > .max / 2 ? width : width * 2)
    let factor = next / width
    // No two times are further apart than a bucket is wide.
    if factor <= 1 { return false }
    var wider: [Int64: Counts] = [:]
    for (index, counts) in buckets {
      let target = index.flooredQuotient(by: factor)
      var sum = wider[target] ?? Counts(repeating: 0)
      for level in counts.indices { sum[level] += counts[level] }
      wider[target] = sum
    }
    (buckets, width) = (wider, next)
    return true
  }

  /// The buckets in the order of time, each with its start.
  package var sorted: [(start: Timestamp, counts: Counts)] {
    buckets.sorted { $0.key < $1.key }.map { (start(of: $0), $1) }
  }

  /// When a bucket begins. The first one may begin before all times that there are.
  func start(of index: Int64) -> Timestamp {
    let (start, overflow) = index.multipliedReportingOverflow(by: width)
    return overflow ? .distantPast : Timestamp(nanosecondsSince1970: start)
  }
}

extension TimeBuckets.Counts {
  var total: UInt64 { indices.reduce(0) { $0 + self[$1] } }
}
