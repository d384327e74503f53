import MMLogSystem
import Synchronization

/// Whether a fork's child still has to open a ring of its own, and who does: its first log call,
/// and if that fails, another one a second later.
///
/// All is lock-free and async-signal-safe, for log calls.
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

  /// Has it tried again no earlier than in a second.
  func postpone() { nextTry.store(Clock.monotonic() + 1_000_000_000, ordering: .relaxed) }

  /// Runs `body` with the lock taken, on one thread at a time; others wait for it a second.
  ///
  /// Not at all if it is too early, or if the caller is a signal handler on top of the thread that
  /// is opening the ring, and must not wait for itself.
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

  /// Forgets the thread, which may be one of the parent's.
  func reinitialize() { thread.store(0, ordering: .relaxed) }
}
