import MMLogSystem
import Synchronization

/// Reports when the drainer stands still, as in a system call while a file system is frozen. Also
/// writes to standard error the trouble that nobody listens for.
///
/// The watchdog has a thread of its own, because the maintenance thread may stand still, too. This
/// thread touches no file, and takes no lock that is held while a file is touched.
final class Watchdog: Sendable {
  private let counters: DrainCounters
  private let events: EventHub
  private let limit: Duration
  private let worker = Worker("mmlog-watchdog")
  private let wasStalled = Atomic<Bool>(false)

  /// - Parameter limit: How long the drainer may give no sign of life.
  init(_ counters: DrainCounters, _ events: EventHub, after limit: Duration) {
    (self.counters, self.events, self.limit) = (counters, events, limit)
  }

  /// Starts the thread, unless it was started before.
  func start() throws(SystemError) {
    try worker.start { [self] _ in
      check()
      events.reportTrouble()
      return min(limit.nanoseconds / 2, 1_000_000_000)
    }
  }

  /// Held whenever the thread does not wait.
  var passLock: ForkSafeMutex { worker.passLock }

  func stop() { worker.stop() }

  private func check() {
    let silence = counters.silence ?? .zero
    let isStalled = silence >= limit
    if wasStalled.exchange(isStalled, ordering: .relaxed) != isStalled {
      events.send(isStalled ? .stalled(duration: silence) : .resumed)
    }
  }
}
