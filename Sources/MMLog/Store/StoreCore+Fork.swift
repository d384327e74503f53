import MMLogFormat
import MMLogStorage
import MMLogSystem

/// What a fork needs of a store: the parent goes on, and the child begins anew.
extension StoreCore {
  /// Lets the store's threads end their passes, if that is soon, and begin no others. The caller
  /// has the lock.
  func pauseThreads() {
    let passLocks = (open?.drainer.passLocks ?? []) + (openMaintenance?.passLocks ?? [])
    paused = passLocks.filter { $0.tryLock(atMost: 100_000_000) }
  }

  /// Lets the threads go on. In the parent, by the thread that forked.
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
    // Of a closed store, and of one whose ring is still to come, too: another thread may have had
    // their locks. Their threads are gone.
    if let openMaintenance { _ = Unmanaged.passRetained(openMaintenance) }
    openMaintenance = nil
    _ = Unmanaged.passRetained(events)
    _ = Unmanaged.passRetained(counters)
    _ = Unmanaged.passRetained(catalog)
    events = EventHub(
      of: location.name, startup: [], observer: configuration.observer, isOver: isClosed)
    counters = DrainCounters()
    catalog = location.makeCatalog(events)
    if !isClosed { childOpening.request() }
    TestPoint.reach(.forkDetached)
  }

  /// Opens a ring of its own for a fork's child. Tries again after a second if that fails.
  /// Other threads wait for it, so that their first records are not lost.
  func openInChild() {
    childOpening.tryOnce(lock) {
      if isClosed { return }
      do throws(LogError) {
        // It is there already if only the maintenance thread could not be started.
        if open == nil {
          let new = try makeSession()
          TestPoint.reach(.forkReopened)
          publish(new)
        }
        try lockedMaintenance().start()
        childOpening.end()
      } catch {
        childOpening.postpone()
        events.send(.failed(error: error))
      }
    }
  }
}
