import CHarness

/// Counts of latencies, in ticks: exact below 256, then 128 buckets for each doubling, which is
/// exact to 0.8 %.
struct Histogram {
  private static let exactBits = 8
  private static let half = 1 << (exactBits - 1)
  private var counts = [UInt32](repeating: 0, count: half * (64 - exactBits + 2))
  private(set) var total = 0
  private(set) var largest: UInt64 = 0

  @inline(__always)
  mutating func add(_ ticks: UInt64) {
    counts[Self.bucket(ticks)] += 1
    total += 1
    largest = max(largest, ticks)
  }

  mutating func add(_ other: Histogram) {
    for index in counts.indices { counts[index] += other.counts[index] }
    total += other.total
    largest = max(largest, other.largest)
  }

  /// The value in nanoseconds at or below which a given part of all values lies.
  func quantile(_ part: Double) -> Double {
    let rank = max(1, Int((Double(total) * part).rounded(.up)))
    var seen = 0
    for (index, count) in counts.enumerated() where count > 0 {
      seen += Int(count)
      if seen >= rank { return value(index) * Clock.nanosecondsPerTick }
    }
    return 0
  }

  /// The mean of the lowest 99 %, in nanoseconds: what calls cost, without what the machine did
  /// meanwhile.
  var lowMean: Double {
    let wanted = max(1, total * 99 / 100)
    var (seen, sum) = (0, 0.0)
    for (index, count) in counts.enumerated() where count > 0 {
      let taken = min(Int(count), wanted - seen)
      sum += Double(taken) * Self.middle(index)
      seen += taken
      if seen == wanted { break }
    }
    return sum / Double(wanted) * Clock.nanosecondsPerTick
  }

  var maximum: Double { Double(largest) * Clock.nanosecondsPerTick }

  /// Values in nanoseconds with the part of all that is at or below them, for drawing.
  var curve: [[Double]] {
    var (seen, points) = (0, [[Double]]())
    for (index, count) in counts.enumerated() where count > 0 {
      seen += Int(count)
      points.append([value(index) * Clock.nanosecondsPerTick, Double(seen) / Double(total)])
    }
    return points
  }

  /// What stands for a bucket's values: its middle, but at most the largest value of all.
  private func value(_ bucket: Int) -> Double { min(Self.middle(bucket), Double(largest)) }

  @inline(__always)
  private static func bucket(_ value: UInt64) -> Int {
    let shift = max(0, 64 - exactBits - value.leadingZeroBitCount)
    return shift * half + Int(truncatingIfNeeded: value >> UInt64(truncatingIfNeeded: shift))
  }

  private static func middle(_ bucket: Int) -> Double {
    let shift = max(0, bucket / half - 1)
    let low = Double((bucket - shift * half) << shift)
    return low + Double((1 << shift) - 1) / 2
  }
}
