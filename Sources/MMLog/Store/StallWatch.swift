import CMMLog
import MMLogSystem

/// Tells when the drainer stands still, as it does in a system call as long as a file system is frozen.
///
/// On a thread of its own, which touches no file and takes no lock that is held while one is touched: the keeper may stand still, too.
///
/// Proof of `@unchecked Sendable`: the word is touched by atomic operations only, `isStalled` belongs to the thread, the rest is a lock or
/// never changes.
final class StallWatch: @unchecked Sendable {
  private let counters: DrainCounters
  private let events: EventHub
  private let limit: Duration
  private var isStalled = false
  private let thread = Guarded<Thread?>(nil)
  /// 1 when it is to end.
  private let word: UnsafeMutablePointer<UInt32>

  /// - Parameter limit: How long the drainer may give no sign of life.
  init(_ counters: DrainCounters, _ events: EventHub, after limit: Duration) {
    (self.counters, self.events, self.limit) = (counters, events, limit)
    word = .allocate(capacity: 1)
    word.initialize(to: 0)
  }

  deinit { word.deallocate() }

  func start() throws(SystemError) {
    let new = try Thread(name: "mmlog-watch") { [self] in run() }
    thread.withLock { $0 = new }
  }

  func stop() {
    mmlog_store_release_u32(word, 1)
    Futex.wake(word)
    thread.withLock { $0 }?.join()
  }

  private func run() {
    let interval = min(limit.nanoseconds / 2, 1_000_000_000)
    while mmlog_load_acquire_u32(word) == 0 {
      look()
      _ = Futex.wait(word, expected: 0, timeout: interval)
    }
  }

  private func look() {
    let silence = counters.silence ?? .zero
    if silence >= limit && !isStalled { events.send(.stalled(silence)) }
    if silence < limit && isStalled { events.send(.resumed) }
    isStalled = silence >= limit
  }
}
