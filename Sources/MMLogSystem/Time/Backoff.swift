/// When something that failed is tried again: after a pause, then after twice as long each time, up
/// to the longest pause. Until the first failure, a try is due at once.
///
/// Times are monotonic, in nanoseconds.
package struct Backoff: Sendable {
  private let shortest: UInt64
  private let longest: UInt64
  /// How long the next try waits, from the last failure on; 0 if nothing has failed.
  package private(set) var pause: UInt64 = 0
  private var next: UInt64 = 0

  /// - Parameters:
  ///   - shortest: The pause after the first failure. Default: a second.
  ///   - longest: The longest pause.
  package init(shortest: UInt64 = 1_000_000_000, longest: UInt64) {
    (self.shortest, self.longest) = (shortest, longest)
  }

  package var isDue: Bool { Clock.monotonic() >= next }

  /// How long it is until the next try; 0 if it is due.
  package var delay: Int64 { Int64(next &- min(Clock.monotonic(), next)) }

  /// Takes in a failure.
  package mutating func postpone(at now: UInt64 = Clock.monotonic()) {
    pause = min(max(2 * pause, shortest), longest)
    next = now &+ pause
  }

  /// Forgets all failures.
  package mutating func reset() { (pause, next) = (0, 0) }
}
