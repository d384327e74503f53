import MMLogSystem
import Synchronization

/// Whether a fork's child still has to open a ring of its own, and which thread does. The child's
/// first log call opens the ring; if it fails, another call tries again a second later.
///
/// Everything is lock-free and async-signal-safe, for log calls.
final class ChildOpening: Sendable {
  private let needed = Atomic<Bool>(false)
  private let nextTry = Atomic<UInt64>(0)
  /// The thread that is opening the ring, or 0.
  private let thread = Atomic<Int32>(0)

  /// Whether there is no ring yet.
  var isNeeded: Bool { needed.load(ordering: .acquiring) }

  /// Makes the next log call open a ring.
  func request() { needed.store(true, ordering: .releasing) }

  /// Says that the ring is there, or that there will be none.
  func end() { needed.store(false, ordering: .releasing) }

  /// Lets nobody try again for a second.
  func postpone() { nextTry.store(Clock.monotonic() + 1_000_000_000, ordering: .relaxed) }

  /// Runs `body` with the lock taken, on one thread at a time. Other threads wait up to a second.
  ///
  /// Does not run `body` if it is too early. Nor does it if the caller is a signal handler that has
  /// interrupted the thread that is opening the ring: the handler must not wait for its own thread.
  func tryOnce(_ lock: ForkSafeMutex, _ body: () -> Void) {
    let current = CurrentProcess.threadID()
    guard Clock.monotonic() >= nextTry.load(ordering: .relaxed),
      thread.load(ordering: .relaxed) != current, lock.tryLock(atMost: 1_000_000_000)
    else { return }
    thread.store(current, ordering: .relaxed)
    defer {
      thread.store(0, ordering: .relaxed)
      lock.unlock()
    }
    if isNeeded { body() }
  }

  /// Forgets the thread, which may be a thread of the parent, and the parent's failure: whatever
  /// kept the parent from a ring, the child's first log call tries to open one.
  func reinitialize() {
    thread.store(0, ordering: .relaxed)
    nextTry.store(0, ordering: .relaxed)
  }
}
