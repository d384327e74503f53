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
  /// Whether nobody is to wait any more.
  private let isOver = Atomic<Bool>(false)

  /// Informs one of the waiting threads that a segment is free: for others, there is none.
  func segmentFreed() { freed.advanceForOne() }

  /// Lets nobody wait any longer: the store is being closed.
  func endWaiting() {
    isOver.store(true, ordering: .releasing)
    freed.advance()
  }

  /// Calls `take` until it gives something or the time is over. Async-signal-safe if `take` is.
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
