import MMLogSystem
import Synchronization

/// How threads that wait for a segment and the drainer wake each other.
final class RingEventCounts: Sendable {
  /// Segments that became free.
  private let freed = EventCount()
  /// Reasons for the drainer to check.
  let requests = EventCount()
  /// Requests that do not wait for a failing disk to be tried again.
  let urgentRequests = EventCount()
  /// What is known of the archive.
  private let archive = Atomic(ArchiveState.writable)
  /// Whether nobody is to wait any more.
  private let isOver = Atomic<Bool>(false)

  /// Whether what waits in the ring can be archived, as far as is known.
  private enum ArchiveState: UInt8, AtomicRepresentable {
    case writable
    /// The last pass of the drainer failed.
    case failing
    /// The last pass failed, a log call has waited in vain for as long as it may, and no segment
    /// has become free since.
    case failingForLong
  }

  /// Informs one of the waiting threads that a segment is free: there is none for the others.
  func segmentFreed() {
    // Some failed passes have moved records all the same, if only the sync failed.
    _ = archive.compareExchange(
      expected: .failingForLong, desired: .failing, ordering: .relaxed)
    freed.advanceForOne()
  }

  /// Lets nobody wait any longer: the store is being closed.
  func endWaiting() {
    isOver.store(true, ordering: .releasing)
    freed.advance()
  }

  /// Calls `take` until it returns something or the time is over. Async-signal-safe if `take` is.
  ///
  /// - Parameter nanoseconds: How long to wait at most.
  func wait<Result>(atMost nanoseconds: Int64, for take: () -> Result?) -> Result? {
    var result: Result?
    _ = freed.wait(atMost: nanoseconds, preparing: prepareToWait) {
      result = take()
      return result != nil
    }
    return result
  }

  /// Whether waiting is useless until the drainer has written again. A full disk stays full for
  /// longer than a log call may wait, and each further call would wait as long.
  var isWaitingInVain: Bool { archive.load(ordering: .relaxed) == .failingForLong }

  /// Takes in that a log call got no segment in all the time that it may wait.
  func noteWaitInVain() {
    _ = archive.compareExchange(
      expected: .failing, desired: .failingForLong, ordering: .relaxed)
  }

  /// Takes in how a pass of the drainer ended.
  func passEnded(failed: Bool) {
    if failed {
      _ = archive.compareExchange(expected: .writable, desired: .failing, ordering: .relaxed)
    } else {
      archive.store(.writable, ordering: .relaxed)
    }
  }

  /// Whether threads have waited for so long that they come first.
  var hasOverdue: Bool { freed.hasOverdue }

  /// Forgets the threads that waited: for a child of fork, which does not have them.
  func reinitialize() { freed.reinitialize() }

  private func prepareToWait() -> Bool {
    if isOver.load(ordering: .acquiring) { return false }
    requestPass()
    return true
  }

  /// Makes the drainer check now. One system call if it sleeps, none if not.
  func requestPass() { requests.advance() }

  /// Makes the drainer check now, even if it has just failed: somebody waits for the answer.
  func requestUrgently() {
    urgentRequests.advance()
    requests.advance()
  }
}
