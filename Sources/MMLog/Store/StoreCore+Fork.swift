import MMLogStorage
import MMLogSystem

/// What a fork needs of a store: the parent goes on, and the child begins anew.
extension StoreCore {
  /// Waits a short time until the store's threads end their passes, and keeps them from beginning
  /// others. The caller has the lock.
  func pauseThreads() {
    let passLocks = (open?.drainer.passLocks ?? []) + (openMaintenance?.passLocks ?? [])
    paused = passLocks.filter { $0.tryLock(atMost: 100_000_000) }
  }

  /// Lets the threads go on. The thread that forked calls this in the parent.
  func resumeThreads() {
    for passLock in paused { passLock.unlock() }
    paused = []
  }

  /// Gives up the parent's session, in the child of a fork. The caller has taken the labels' lock.
  func detachInChild() {
    paused = []
    lock.reinitialize()
    settings.lock.reinitialize()
    recovery.detachInChild()
    childOpening.reinitialize()
    forgetSessions()
    labels.setGatesLocked(nil)
    states.detachInChild()
    // Also if the store is closed, or its ring is still to come: another thread may have held their
    // locks. Their threads are gone.
    if let openMaintenance { _ = Unmanaged.passRetained(openMaintenance) }
    openMaintenance = nil
    _ = Unmanaged.passRetained(events)
    _ = Unmanaged.passRetained(counters)
    _ = Unmanaged.passRetained(catalog)
    events = EventHub(
      of: location.name, startup: [], observer: configuration.observer, isOver: isClosed)
    counters = DrainCounters()
    isReplacementFailing = false
    catalog = location.makeCatalog(events)
    if !isClosed { childOpening.request() }
    TestPoint.reach(.forkDetached)
  }

  /// Opens a ring for a fork's child. If that fails, tries again after a second. Other threads wait
  /// for the ring, so that their first records are not lost.
  func openInChild() {
    childOpening.tryOnce(lock) {
      if isClosed { return }
      do throws(LogError) {
        // The session is there already if only the start of the maintenance thread failed.
        if open == nil {
          let new = try makeSession()
          TestPoint.reach(.forkReopened)
          publish(new)
        }
        try lockedMaintenance().start()
        childOpening.end()
        isReplacementFailing = false
      } catch {
        childOpening.postpone()
        if !isReplacementFailing { events.send(.failed(error: error)) }
        isReplacementFailing = true
      }
    }
  }
}
