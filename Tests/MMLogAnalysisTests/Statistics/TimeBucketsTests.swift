import MMLogFormat
import TestSupport
import Testing

@testable import MMLogAnalysis

@Suite struct TimeBucketsTests {
  @Test("they stay few and lose nothing") func theyStayFewAndLoseNothing() {
    var generator = SeededGenerator(seed: 13)
    var buckets = TimeBuckets(maximum: 64)
    for round in 0..<5000 {
      let time = Int64.random(in: -1_000_000_000_000...9_000_000_000_000_000, using: &generator)
      buckets.add(Timestamp(round == 7 ? .min : round == 8 ? .max : time), .info)
    }
    buckets.widen(toSpan: 40)
    #expect(buckets.buckets.count <= 40)
    #expect(buckets.buckets.values.reduce(0) { $0 + $1.total } == 5000)
  }

  @Test(
    "buckets that are as wide as they can be stay more than was asked for",
    arguments: [([-1, 0], [1, 1]), ([.min, -1, 0, 1, .max], [1, 1, 2, 1])] as [([Int64], [UInt64])])
  func theWidestBucketsStay(times: [Int64], counts: [UInt64]) {
    var buckets = TimeBuckets(maximum: 1)
    for time in times { buckets.add(Timestamp(time), .info) }
    buckets.widen(toSpan: 1)
    #expect(buckets.sorted.map(\.counts.total) == counts)
  }
}
