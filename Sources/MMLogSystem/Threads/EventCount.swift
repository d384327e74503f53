import CMMLogCore

/// Counts events, so that a thread can wait for the next one without missing any.
///
/// An event costs no system call while nobody waits, and a single one for all who wait. All is
/// async-signal-safe: two words, and futex(2) on the first.
///
/// Proof of `@unchecked Sendable`: the words are touched by atomic operations only.
package final class EventCount: @unchecked Sendable {
  private let count: UnsafeMutablePointer<UInt32>
  /// 1 while somebody may wait.
  private let hasWaiters: UnsafeMutablePointer<UInt32>

  package init() {
    count = .allocate(capacity: 2)
    count.initialize(repeating: 0, count: 2)
    hasWaiters = count + 1
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

  /// Waits until there was another event since `seen`, for so many nanoseconds at most; now and
  /// then less.
  package func wait(since seen: UInt32, atMost nanoseconds: Int64) {
    mmlog_store_release_u32(hasWaiters, 1)
    // The kernel compares the count again, behind a barrier: no event in between is missed.
    if current == seen { _ = Futex.wait(count, expected: seen, timeout: nanoseconds) }
  }
}
