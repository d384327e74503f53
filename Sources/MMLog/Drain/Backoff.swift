import MMLogSystem

/// When something that failed is tried again: after a second, then after twice as long each time.
struct Backoff {
  private static let shortest: UInt64 = 1_000_000_000
  private let longest: UInt64
  private var pause: UInt64 = 0
  private var next: UInt64 = 0

  /// - Parameter longest: The longest time between two tries, in nanoseconds.
  init(longest: UInt64) { self.longest = longest }

  var isDue: Bool { Clock.monotonic() >= next }

  /// How long it is until the next try, in nanoseconds; 0 if it is due.
  var delay: Int64 { Int64(next &- min(Clock.monotonic(), next)) }

  mutating func postpone() {
    pause = min(max(2 * pause, Self.shortest), longest)
    next = Clock.monotonic() + pause
  }
}
