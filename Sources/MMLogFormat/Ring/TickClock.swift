/// Turns ticks into wall time: a straight line through one known moment.
package struct TickClock: Equatable, Sendable {
  package var ticks: UInt64
  package var wall: Timestamp
  /// Nanoseconds per tick, times 2³².
  package var rate: UInt64

  package init(ticks: UInt64, wall: Timestamp, rate: UInt64) {
    self.ticks = ticks
    self.wall = wall
    self.rate = rate
  }

  /// The line through `newest`, with the rate from `first` to `newest`.
  package init(first: ClockPair, newest: ClockPair) {
    let elapsedTicks = newest.ticks &- first.ticks
    let elapsed = newest.monotonic &- first.monotonic
    // The 96-bit quotient fits 64 bits for every counter faster than one tick in four seconds.
    let (high, low) = (elapsed >> 32, elapsed << 32)
    let fits = elapsedTicks > high
    let rate = fits ? elapsedTicks.dividingFullWidth((high, low)).quotient : 1 << 32
    self.init(ticks: newest.ticks, wall: newest.wall, rate: rate)
  }

  /// Wall time at `ticks`, rounded down. Never traps: what does not fit
  /// (a hostile clock) is clamped.
  package func wall(at ticks: UInt64) -> Timestamp {
    let distance = Int128(ticks) - Int128(self.ticks)
    let (product, overflow) = distance.multipliedReportingOverflow(by: Int128(rate))
    guard !overflow else { return distance < 0 ? .distantPast : .distantFuture }
    let nanoseconds = (product >> 32) + Int128(wall.nanosecondsSince1970)
    return Timestamp(nanosecondsSince1970: Int64(clamping: nanoseconds))
  }
}
