/// One reading of the three clocks at (nearly) the same moment.
package struct ClockPair: Equatable, Sendable {
  package var ticks: UInt64
  /// Nanoseconds since 1970, from CLOCK_REALTIME.
  package var wall: Timestamp
  /// Nanoseconds from CLOCK_MONOTONIC, which no one sets.
  package var monotonic: UInt64
  /// Counts the pairs of a ring; the newest has the greatest.
  package var ordinal: UInt32

  package init(ticks: UInt64, wall: Timestamp, monotonic: UInt64, ordinal: UInt32) {
    self.ticks = ticks
    self.wall = wall
    self.monotonic = monotonic
    self.ordinal = ordinal
  }

  /// Whether the counter has gone on from `newest` while CLOCK_MONOTONIC stood still, as in a
  /// suspension: at the rate from this pair to `newest`, there are too many ticks for the time.
  ///
  /// Too many means more than a second and an eighth of the time, since clocks are slewed by a
  /// twelfth at most. If the two pairs are less than a second apart, the rate is less exact, and
  /// more ticks are allowed in proportion.
  package func counterHasGoneOn(
    from newest: ClockPair, to ticks: UInt64, _ monotonic: UInt64
  ) -> Bool {
    guard newest.ticks > self.ticks, newest.monotonic > self.monotonic, ticks > newest.ticks,
      monotonic >= newest.monotonic
    else { return false }
    let second: UInt128 = 1_000_000_000
    let length = UInt128(newest.monotonic - self.monotonic)
    let elapsed = UInt128(monotonic - newest.monotonic)
    let counted = UInt128(ticks - newest.ticks) * length / UInt128(newest.ticks - self.ticks)
    return counted > elapsed + second + elapsed * max(length, second) / (8 * length)
  }

  /// This pair for a counter that begins anew, as after a suspension: the rate from the result to
  /// `new` is the same as from this pair to `old`.
  package func moved(with old: ClockPair, to new: ClockPair) -> ClockPair {
    var (elapsedTicks, elapsed) = (old.ticks &- ticks, old.monotonic &- monotonic)
    // The result must not be from before the counter's beginning.
    while elapsedTicks > new.ticks || elapsed > new.monotonic {
      (elapsedTicks, elapsed) = (elapsedTicks / 2, elapsed / 2)
    }
    return ClockPair(
      ticks: new.ticks - elapsedTicks, wall: wall, monotonic: new.monotonic - elapsed,
      ordinal: ordinal)
  }

  /// The bytes as they stand in a ring, checksum included.
  package var encoded: [UInt8] {
    var bytes = [UInt8](repeating: 0, count: ClockPairLayout.size)
    bytes.withUnsafeMutableBytes { out in
      out.store(ticks, ClockPairLayout.ticks)
      out.store(wall, ClockPairLayout.wall)
      out.store(monotonic, ClockPairLayout.monotonic)
      out.store(ordinal, ClockPairLayout.ordinal)
      out.storeChecksum(at: ClockPairLayout.checksum)
    }
    return bytes
  }

  /// Whether the place of a pair was never written, or its writer died while it wrote: the last
  /// word, of ordinal and checksum, is zero until the others are there.
  package static func isUnfinished(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.load(ClockPairLayout.ordinal, as: UInt64.self) == 0
  }

  /// Reads a pair; nil if it was never written, or not wholly, or is corrupted.
  package init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= ClockPairLayout.size,
      bytes.checksumDifference(at: ClockPairLayout.checksum) == 0
    else { return nil }
    ticks = bytes.load(ClockPairLayout.ticks, as: UInt64.self)
    wall = bytes.load(ClockPairLayout.wall, as: Timestamp.self)
    monotonic = bytes.load(ClockPairLayout.monotonic, as: UInt64.self)
    ordinal = bytes.load(ClockPairLayout.ordinal, as: UInt32.self)
  }
}
