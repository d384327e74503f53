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
