import CMMLogCore

/// Counts events, so that a thread can wait for the next one without missing any.
///
/// An event costs no system call while nobody waits, and a single one for all who wait. All is
/// async-signal-safe: three words, and futex(2) on the first.
///
/// Proof of `@unchecked Sendable`: the words are touched by atomic operations only.
package final class EventCount: @unchecked Sendable {
  private let count: UnsafeMutablePointer<UInt32>
  /// 1 while somebody may wait.
  private let hasWaiters: UnsafeMutablePointer<UInt32>
  /// How many wait, or are about to.
  private let waiters: UnsafeMutablePointer<UInt32>

  package init() {
    count = .allocate(capacity: 3)
    count.initialize(repeating: 0, count: 3)
    hasWaiters = count + 1
    waiters = count + 2
  }

  deinit { count.deallocate() }

  /// How many events there were. To be read before one checks whether there is anything to do.
  package var current: UInt32 { mmlog_load_acquire_u32(count) }

  /// The count, for code that can do no more than raise it and wake who waits on it.
  package var futex: UnsafeMutablePointer<UInt32> { count }

  /// Counts an event, and wakes those who wait.
  package func advance() {
    _ = mmlog_fetch_add_u32(count, 1)
    if mmlog_exchange_u32(hasWaiters, 0) == 1 { Futex.wake(count) }
  }

  /// Counts an event that is of use to one of those who wait, and wakes one.
  ///
  /// Whoever is woken has to check what the event was about, also if the time is over.
  package func advanceForOne() {
    _ = mmlog_fetch_add_u32(count, 1)
    if mmlog_load_acquire_u32(waiters) > 0 { Futex.wake(count, count: 1) }
  }

  /// Waits until there was another event since `seen`, for so many nanoseconds at most; now and
  /// then less.
  package func wait(since seen: UInt32, atMost nanoseconds: Int64) {
    if nanoseconds <= 0 { return }
    _ = mmlog_fetch_add_u32(waiters, 1)
    defer { _ = mmlog_fetch_add_u32(waiters, .max) }
    mmlog_store_release_u32(hasWaiters, 1)
    // The kernel compares the count again, behind a barrier: no event in between is missed.
    if current == seen { _ = Futex.wait(count, expected: seen, timeout: nanoseconds) }
  }
}
