import CMMLogCore

/// A lock: one word and futex(2).
///
/// It is not the standard library's lock, for four reasons. A log call may wait only for a limited
/// time. A child of fork has to free a lock that a thread of its parent had. Another thread may
/// release it. And the thread sanitizer does not see the order that the standard library's lock
/// makes. This lock is not generic, because debug builds look up the types of generic calls under a
/// lock.
///
/// The lock is not recursive and not fair. If it is free, it costs one atomic operation to acquire
/// and one to release. ``tryLock()`` and ``unlock()`` are async-signal-safe.
///
/// Proof of `@unchecked Sendable`: the pointer never changes, and the word behind it is touched by
/// atomic operations only.
package final class ForkSafeMutex: @unchecked Sendable {
  // U. Drepper, "Futexes Are Tricky", mutex 2: `contended` makes unlock wake one waiter.
  private static let free: UInt32 = 0
  private static let taken: UInt32 = 1
  private static let contended: UInt32 = 2

  private let word: UnsafeMutablePointer<UInt32>

  /// Makes a lock that nobody has.
  package init() {
    word = .allocate(capacity: 1)
    word.initialize(to: Self.free)
  }

  deinit {
    word.deallocate()
  }

  /// Acquires the lock, and waits for it.
  package func lock() {
    if tryLock() { return }
    while mmlog_exchange_u32(word, Self.contended) != Self.free {
      _ = Futex.wait(word, expected: Self.contended)
    }
  }

  /// Acquires the lock if it is free.
  package func tryLock() -> Bool {
    var expected = Self.free
    return mmlog_compare_exchange_u32(word, &expected, Self.taken)
  }

  /// Acquires the lock, and waits for it for `nanoseconds` at most.
  ///
  /// - Returns: Whether it was acquired.
  package func tryLock(atMost nanoseconds: Int64) -> Bool {
    if tryLock() { return true }
    let start = Clock.monotonic()
    while mmlog_exchange_u32(word, Self.contended) != Self.free {
      let left = nanoseconds - Int64(Clock.monotonic() - start)
      guard left > 0 else { return false }
      _ = Futex.wait(word, expected: Self.contended, timeout: left)
    }
    return true
  }

  /// Releases the lock, whichever thread has it.
  package func unlock() {
    if mmlog_exchange_u32(word, Self.free) == Self.contended { Futex.wake(word, count: 1) }
  }

  /// Runs `body` with the lock acquired.
  package func withLock<Result: ~Copyable, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    lock()
    defer { unlock() }
    return try body()
  }

  /// Frees the lock, whoever had it: for a child of fork, where the other threads are gone.
  package func reinitialize() {
    mmlog_store_release_u32(word, Self.free)
  }
}

/// A value that one thread at a time inspects and changes.
///
/// Like the standard library's `Mutex`, but the thread sanitizer sees the order that this lock
/// makes.
///
/// Proof of `@unchecked Sendable`: the value is touched with the lock taken only.
package final class LockedValue<Value: Sendable>: @unchecked Sendable {
  /// The lock, for code that acquires it around a fork.
  package let lock = ForkSafeMutex()
  private var value: Value

  package init(_ value: Value) { self.value = value }

  /// Runs `body` with the value, while no other thread has the value.
  package func withLock<Result, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    lock.lock()
    defer { lock.unlock() }
    return try body(&value)
  }
}
