import CMMLogCore

/// Counts events, so that a thread can wait for the next one without missing any.
///
/// An event costs no system call while no thread waits, else a single one for all threads that
/// wait. All of it is async-signal-safe: three words, and futex(2) on the first.
/// `Models/EventCount.pml` models `advance` and `wait(since:)`.
///
/// Proof of `@unchecked Sendable`: the words are touched by atomic operations only.
package final class EventCount: @unchecked Sendable {
  private let count: UnsafeMutablePointer<UInt32>
  /// How many threads wait, or are about to. A thread that ends while it waits stays counted: from
  /// then on, each event costs a system call.
  private let waiters: UnsafeMutablePointer<UInt32>
  /// Until when, by the monotonic clock, threads that come let overdue ones go first; 0: not now.
  /// Overdue threads have waited for longer than ``patience`` for something that only one can have.
  private let turnEnd: UnsafeMutablePointer<UInt64>

  /// After so many nanoseconds, a thread that waits comes before all that have not waited for so
  /// long. The time is long enough to make this rare, because each event then wakes all threads.
  private static let patience: Int64 = 100_000_000
  /// For so many nanoseconds overdue threads come first, unless one of them says again that it
  /// waits. So a thread that ends while it waits does not hold up the others for ever. The time is
  /// longer than a thread that may run has to wait for a processor.
  private static let turn: Int64 = 1_000_000_000

  package init() {
    count = .allocate(capacity: 2)
    count.initialize(repeating: 0, count: 2)
    waiters = count + 1
    turnEnd = .allocate(capacity: 1)
    turnEnd.initialize(to: 0)
  }

  deinit {
    count.deallocate()
    turnEnd.deallocate()
  }

  /// How many events there were. To be read before a thread checks whether there is anything to do.
  package var current: UInt32 { mmlog_load_acquire_u32(count) }

  /// The count, for code that can only raise it and wake the threads that wait on it.
  package var futex: UnsafeMutablePointer<UInt32> { count }

  /// Counts an event, and wakes the threads that wait.
  package func advance() {
    if countAndFindWaiters() { Futex.wake(count) }
  }

  /// Counts an event that is of use to only one of the threads that wait, and wakes one.
  ///
  /// A thread that is woken has to check what the event was about, even if its time is over.
  package func advanceForOne() {
    guard countAndFindWaiters() else { return }
    if hasOverdue { Futex.wake(count) } else { Futex.wake(count, count: 1) }
  }

  /// Counts an event. Returns whether a thread waits, or is about to.
  private func countAndFindWaiters() -> Bool {
    _ = mmlog_fetch_add_u32(count, 1)
    // Sequentially ordered with a waiter, which raises `waiters` and then compares the count: one
    // of the two sees what the other has done.
    return mmlog_load_ordered_u32(waiters) > 0
  }

  /// Waits for another event after `seen`, for `nanoseconds` at most. Now and then it returns
  /// earlier.
  package func wait(since seen: UInt32, atMost nanoseconds: Int64) {
    if nanoseconds <= 0 { return }
    _ = mmlog_fetch_add_u32(waiters, 1)
    defer { _ = mmlog_fetch_add_u32(waiters, .max) }
    // The kernel compares the count again, behind a barrier: no event in between is missed.
    if current == seen { _ = Futex.wait(count, expected: seen, timeout: nanoseconds) }
  }

  // MARK: - Waiting for what only one can have

  /// Whether a thread has waited for so long that a thread that comes now has to wait, too.
  package var hasOverdue: Bool {
    let end = mmlog_load_acquire_u64(turnEnd)
    return end != 0 && Self.isAhead(end)
  }

  // Not inlined, so that the usual case needs no place on the stack.
  @inline(never)
  private static func isAhead(_ time: UInt64) -> Bool { Clock.monotonic() < time }

  /// Calls `take` until it succeeds or the time is over. Async-signal-safe if `take` is.
  ///
  /// A thread that runs takes what becomes free before one that the kernel has just woken. That is
  /// fast, but the woken one could wait for ever. So threads that have waited for long come first.
  ///
  /// - Parameters:
  ///   - nanoseconds: How long to wait at most. A thread that waits only briefly lets no other
  ///     thread go first.
  ///   - prepare: Called each time before the thread waits; false ends the wait.
  /// - Returns: Whether `take` succeeded.
  package func wait(
    atMost nanoseconds: Int64, preparing prepare: () -> Bool = { true }, for take: () -> Bool
  ) -> Bool {
    let (deadline, patience) = (Deadline(after: nanoseconds), Deadline(after: Self.patience))
    // What this thread has stored as the end of its turn; 0: it is not overdue.
    var end: UInt64 = 0
    defer { if end != 0 { endTurn(end) } }
    while true {
      let seen = current
      let mayTake = end != 0 || nanoseconds <= Self.patience || !hasOverdue
      if mayTake, take() { return true }
      let (left, leftToTurn) = (deadline.left, patience.left)
      guard left > 0, prepare() else { return false }
      if end == 0, leftToTurn == 0 {
        end = extendTurn()
      } else {
        wait(since: seen, atMost: min(left, end == 0 ? leftToTurn : Self.patience))
        if end != 0 { end = extendTurn() }
      }
    }
  }

  private func extendTurn() -> UInt64 {
    let end = Clock.monotonic() &+ UInt64(Self.turn)
    mmlog_store_release_u64(turnEnd, end)
    return end
  }

  /// Ends the turn, unless another overdue thread has said later that it waits. All threads are
  /// woken: other overdue ones say it again, and those that had to let them go first may find
  /// something now.
  private func endTurn(_ end: UInt64) {
    var expected = end
    if mmlog_compare_exchange_u64(turnEnd, &expected, 0) { advance() }
  }

  /// Forgets the threads that waited: for a child of fork, where the other threads are gone.
  package func reinitialize() {
    mmlog_store_release_u32(waiters, 0)
    mmlog_store_release_u64(turnEnd, 0)
  }
}
