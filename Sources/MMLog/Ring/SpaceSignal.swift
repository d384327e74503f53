import CMMLogCore
import MMLogSystem

/// How threads that wait and the drainer wake each other: words that count events, and futexes on
/// them.
///
/// Proof of `@unchecked Sendable`: the words are touched by atomic operations only.
final class SpaceSignal: @unchecked Sendable {
  /// Counts segments that became free.
  private let freed: UnsafeMutablePointer<UInt32>
  private let waiters: UnsafeMutablePointer<UInt32>
  /// Counts reasons for the drainer to check.
  private let requests: UnsafeMutablePointer<UInt32>
  /// 1 while the drainer sleeps.
  private let isDrainerAsleep: UnsafeMutablePointer<UInt32>
  /// 1 when nobody is to wait any more.
  private let isOver: UnsafeMutablePointer<UInt32>
  /// Counts the requests that do not wait for a failing disk to be tried again.
  private let calls: UnsafeMutablePointer<UInt32>

  init() {
    freed = .allocate(capacity: 6)
    freed.initialize(repeating: 0, count: 6)
    waiters = freed + 1
    requests = freed + 2
    isDrainerAsleep = freed + 3
    isOver = freed + 4
    calls = freed + 5
  }

  deinit { freed.deallocate() }

  /// Informs waiting threads that a segment is free.
  func segmentFreed() {
    _ = mmlog_fetch_add_u32(freed, 1)
    if mmlog_load_acquire_u32(waiters) > 0 { Futex.wake(freed) }
  }

  /// What ``wakeDrainer()`` counts up: for those that can do no more than that, and wake who waits
  /// for it.
  var requestWord: UnsafeMutablePointer<UInt32> { requests }

  /// Lets nobody wait any longer: the store is being closed.
  func endWaiting() {
    mmlog_store_release_u32(isOver, 1)
    _ = mmlog_fetch_add_u32(freed, 1)
    Futex.wake(freed)
  }

  /// Calls `take` until it gives something or the time is over. Async-signal-safe if `take` is.
  ///
  /// - Parameter nanoseconds: How long to wait at most.
  func wait<Result>(atMost nanoseconds: Int64, for take: () -> Result?) -> Result? {
    let deadline = Clock.monotonic() &+ UInt64(max(0, nanoseconds))
    _ = mmlog_fetch_add_u32(waiters, 1)
    defer { _ = mmlog_fetch_sub_u32(waiters, 1) }
    while true {
      let seen = mmlog_load_acquire_u32(freed)
      if let result = take() { return result }
      let now = Clock.monotonic()
      guard now < deadline, mmlog_load_acquire_u32(isOver) == 0 else { return nil }
      wakeDrainer()
      _ = Futex.wait(freed, expected: seen, timeout: Int64(deadline - now))
    }
  }

  /// Makes the drainer check now. One system call if it sleeps, none if not.
  func wakeDrainer() {
    _ = mmlog_fetch_add_u32(requests, 1)
    if mmlog_exchange_u32(isDrainerAsleep, 0) == 1 { Futex.wake(requests) }
  }

  /// Makes the drainer check now, even if it has just failed: somebody waits for the answer. One
  /// system call or two.
  func callDrainer() {
    _ = mmlog_fetch_add_u32(calls, 1)
    Futex.wake(calls)
    wakeDrainer()
  }

  /// How often the drainer has been called. To be read before checking.
  var callCount: UInt32 { mmlog_load_acquire_u32(calls) }

  /// How often the drainer has been asked to check. To be read before checking.
  var requestCount: UInt32 { mmlog_load_acquire_u32(requests) }

  /// Lets the drainer sleep until it is asked to check, or the time is over.
  ///
  /// - Parameter seen: The ``requestCount`` of which everything has been done.
  func drainerSleeps(atMost nanoseconds: Int64, unlessAskedSince seen: UInt32) {
    mmlog_store_release_u32(isDrainerAsleep, 1)
    // The kernel compares the word again: a request in between is not missed.
    if mmlog_load_acquire_u32(requests) == seen {
      _ = Futex.wait(requests, expected: seen, timeout: nanoseconds)
    }
    mmlog_store_release_u32(isDrainerAsleep, 0)
  }

  /// Lets the drainer rest after a failure, until it is called, or the time is over. Other requests
  /// neither wake it nor cost a system call.
  ///
  /// - Parameter seen: The ``callCount`` of which everything has been done.
  func drainerRests(atMost nanoseconds: Int64, unlessCalledSince seen: UInt32) {
    _ = Futex.wait(calls, expected: seen, timeout: nanoseconds)
  }
}
