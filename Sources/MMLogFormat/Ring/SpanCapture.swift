/// Which spans have their flight records captured when they end: those that failed, that asked for
/// it, or that took too long. The flight records of all others are erased then.
public struct SpanCapture: Hashable, Sendable {
  /// How long a span may take, in nanoseconds; 0: any time.
  package let nanoseconds: UInt64

  /// Lets spans decide about their flight records.
  ///
  /// - Parameter limit: The flight records of a span that takes longer are captured although it did
  ///   not fail. From a nanosecond to 30 days; a value beyond becomes the bound. Default: nil, a
  ///   span may take any time.
  public init(slowerThan limit: Duration? = nil) {
    guard let limit else {
      nanoseconds = 0
      return
    }
    let longest = Duration.seconds(30 * 86400)
    let (seconds, attoseconds) = min(max(limit, .nanoseconds(1)), longest).components
    nanoseconds = UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds) / 1_000_000_000
  }

  /// Reads what the file header of a ring says; nil: spans decide nothing.
  init?(_ header: UnsafeRawBufferPointer) {
    guard header[RingLayout.spansDecide] != 0 else { return nil }
    nanoseconds = header.load(RingLayout.spanLimit, as: UInt64.self)
  }

  func encode(into header: UnsafeMutableRawBufferPointer) {
    header.store(1 as UInt8, RingLayout.spansDecide)
    header.store(nanoseconds, RingLayout.spanLimit)
  }

  /// Whether the flight records of a span that ends are captured.
  ///
  /// - Parameters:
  ///   - end: How it ended.
  ///   - ticks: When it ended.
  ///   - clock: Turns ticks into time. Evaluated only if there is a limit.
  package func captures(
    _ end: SpanTie.End, at ticks: UInt64, _ clock: @autoclosure () -> TickClock
  ) -> Bool {
    if end.failed || end.captures { return true }
    if nanoseconds == 0 { return false }
    let clock = clock()
    // The ring has lost its clock: nobody knows how long the span took.
    if clock.rate == 0 { return true }
    let time = clock.wall(at: ticks) - clock.wall(at: end.start)
    return time > .nanoseconds(Int64(clamping: nanoseconds))
  }
}
