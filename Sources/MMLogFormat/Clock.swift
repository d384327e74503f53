/// One reading of the three clocks at (nearly) the same moment.
package struct ClockPair: Equatable, Sendable {
  package var ticks: UInt64
  /// Nanoseconds since 1970, from CLOCK_REALTIME.
  package var wall: Int64
  /// Nanoseconds from CLOCK_MONOTONIC, which no one sets.
  package var monotonic: UInt64
  /// Counts the pairs of a ring; the newest has the greatest.
  package var ordinal: UInt32

  package init(ticks: UInt64, wall: Int64, monotonic: UInt64, ordinal: UInt32) {
    self.ticks = ticks
    self.wall = wall
    self.monotonic = monotonic
    self.ordinal = ordinal
  }

  /// The bytes as they stand in a ring, checksum included.
  package var encoded: [UInt8] {
    var bytes = [UInt8](repeating: 0, count: ClockPairLayout.size)
    bytes.withUnsafeMutableBytes { out in
      out.store(ticks, ClockPairLayout.ticks)
      out.store(wall, ClockPairLayout.wall)
      out.store(monotonic, ClockPairLayout.monotonic)
      out.store(ordinal, ClockPairLayout.ordinal)
      let checksum = crc32c(UnsafeRawBufferPointer(out).slice(0, ClockPairLayout.checksum))
      out.store(checksum, ClockPairLayout.checksum)
    }
    return bytes
  }

  /// Whether the place of a pair was never written, or its writer died meanwhile: the last word, of
  /// ordinal and checksum, is zero until the others are there.
  package static func isUnfinished(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.load(ClockPairLayout.ordinal, as: UInt64.self) == 0
  }

  /// Reads a pair, or gives nil for one that was never or not wholly written, or is corrupted.
  package init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= ClockPairLayout.size,
      crc32c(bytes.slice(0, ClockPairLayout.checksum))
        == bytes.load(ClockPairLayout.checksum, as: UInt32.self)
    else { return nil }
    ticks = bytes.load(ClockPairLayout.ticks, as: UInt64.self)
    wall = bytes.load(ClockPairLayout.wall, as: Int64.self)
    monotonic = bytes.load(ClockPairLayout.monotonic, as: UInt64.self)
    ordinal = bytes.load(ClockPairLayout.ordinal, as: UInt32.self)
  }
}

/// Turns ticks into wall time: a straight line through one known moment.
package struct TickClock: Equatable, Sendable {
  package var ticks: UInt64
  package var wall: Int64
  /// Nanoseconds per tick, times 2³².
  package var rate: UInt64

  package init(ticks: UInt64, wall: Int64, rate: UInt64) {
    self.ticks = ticks
    self.wall = wall
    self.rate = rate
  }

  /// The line through `newest`, as steep as the way from `first` to it.
  package init(first: ClockPair, newest: ClockPair) {
    let elapsedTicks = newest.ticks &- first.ticks
    let elapsed = newest.monotonic &- first.monotonic
    // The 96-bit quotient fits 64 bits for every counter faster than one tick in four seconds.
    let (high, low) = (elapsed >> 32, elapsed << 32)
    let fits = elapsedTicks > high
    let rate = fits ? elapsedTicks.dividingFullWidth((high, low)).quotient : 1 << 32
    self.init(ticks: newest.ticks, wall: newest.wall, rate: rate)
  }

  /// Wall time at `ticks`, in nanoseconds since 1970, rounded down. Never traps: what does not fit
  /// (a hostile clock) is clamped.
  package func wall(at ticks: UInt64) -> Int64 {
    let distance = Int128(ticks) - Int128(self.ticks)
    let (product, overflow) = distance.multipliedReportingOverflow(by: Int128(rate))
    guard !overflow else { return distance < 0 ? .min : .max }
    return Int64(clamping: (product >> 32) + Int128(wall))
  }
}
