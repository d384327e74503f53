/// Until when something is waited for, by the monotonic clock. Async-signal-safe.
package struct Deadline: Sendable {
  package let time: UInt64

  /// Makes the deadline `nanoseconds` from now; with 0 or less, it is over at once.
  package init(after nanoseconds: Int64) {
    time = Clock.monotonic() &+ UInt64(max(0, nanoseconds))
  }

  /// - Parameter time: By the monotonic clock.
  package init(at time: UInt64) { self.time = time }

  /// How many nanoseconds are left; 0 once it is over.
  package var left: Int64 { Int64(clamping: time - min(time, Clock.monotonic())) }

  package var isOver: Bool { Clock.monotonic() >= time }
}
