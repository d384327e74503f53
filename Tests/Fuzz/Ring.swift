import MMLogFormat

/// A ring as it is fuzzed: without the seven kilobytes that say little, before its dictionary and
/// behind its clock.
enum Ring {
  private static let gap =
    RingLayout.clocks + ClockPairLayout.areaSize..<RingLayout.dictionary

  static func shortened(_ ring: [UInt8]) -> [UInt8] {
    var ring = ring
    ring.removeSubrange(gap.clamped(to: ring.indices))
    return ring
  }

  static func expanded(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
    var ring = Array(bytes)
    if ring.count > gap.lowerBound {
      ring.insert(contentsOf: repeatElement(0, count: gap.count), at: gap.lowerBound)
    }
    return ring
  }
}
