import MMLogSystem

/// Reports when the drainer stands still, as it does in a system call as long as a file system is
/// frozen.
///
/// On a thread of its own, which touches no file and takes no lock that is held while one is
/// touched: the maintenance thread may stand still, too.
final class Watchdog: Sendable {
  private let counters: DrainCounters
  private let events: EventHub
  private let limit: Duration
  private let thread = Guarded<Thread?>(nil)
  /// Counts requests to end.
  private let stops = EventCount()

  /// - Parameter limit: How long the drainer may give no sign of life.
  init(_ counters: DrainCounters, _ events: EventHub, after limit: Duration) {
    (self.counters, self.events, self.limit) = (counters, events, limit)
  }

  /// Starts the thread, unless it was started before.
  func start() throws(SystemError) {
    try thread.withLock { (thread) throws(SystemError) in
      if thread == nil { thread = try Thread(name: "mmlog-watchdog") { [self] in run() } }
    }
  }

  func stop() {
    stops.advance()
    thread.withLock { $0 }?.join()
  }

  private func run() {
    let interval = min(limit.nanoseconds / 2, 1_000_000_000)
    var wasStalled = false
    while stops.current == 0 {
      let silence = counters.silence ?? .zero
      let isStalled = silence >= limit
      if isStalled != wasStalled { events.send(isStalled ? .stalled(silence) : .resumed) }
      wasStalled = isStalled
      stops.wait(since: 0, atMost: interval)
    }
  }
}
