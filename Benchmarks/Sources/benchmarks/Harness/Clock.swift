import CHarness

/// How long a tick of the processor's counter is.
enum Clock {
  /// Nanoseconds of a tick, compared with CLOCK_MONOTONIC over a twentieth of a second, once.
  static let nanosecondsPerTick: Double = {
    let (time, ticks) = (harness_clock(), harness_ticks())
    while harness_clock() - time < 50_000_000 {}
    let (endTime, endTicks) = (harness_clock(), harness_ticks())
    return Double(endTime - time) / Double(endTicks - ticks)
  }()

  static func ticks(nanoseconds: Double) -> UInt64 { UInt64(nanoseconds / nanosecondsPerTick) }

  /// Seconds that `body` takes.
  static func seconds(_ body: () throws -> Void) rethrows -> Double {
    let start = harness_clock()
    try body()
    return Double(harness_clock() - start) / 1e9
  }
}
