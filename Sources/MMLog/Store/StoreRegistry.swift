import CMMLog
import MMLogStorage
import MMLogSystem

/// All stores of the process: keeps them alive, and takes them through `fork()`.
enum StoreRegistry {
  private static let lock = SystemMutex()
  nonisolated(unsafe) private static var stores: [StoreCore] = []

  /// Once: registers the process with the kernel's membarrier, and its handlers with fork.
  private static let hooks: LogError? = {
    _ = MemoryBarrier.register()
    do throws(SystemError) {
      try ForkHandlers.install(
        prepare: { StoreRegistry.beforeFork() }, parent: { StoreRegistry.afterForkInParent() },
        child: { StoreRegistry.afterForkInChild() })
      return nil
    } catch {
      return LogError(error, while: "Preparing for fork failed")
    }
  }()

  static func prepare() throws(LogError) {
    if let failure = hooks { throw failure }
  }

  static func add(_ store: StoreCore) { lock.withLock { stores.append(store) } }

  // What a child needs whole is locked while the process is copied; all other locks are made anew there.

  private static func beforeFork() {
    lock.lock()
    BlockPool.lock.lock()
    for store in stores {
      store.lock.lock()
      store.labels.lock.lock()
      store.pauseDrainer()
    }
  }

  private static func afterForkInParent() {
    for store in stores {
      store.resumeDrainer()
      store.labels.lock.unlock()
      store.lock.unlock()
    }
    BlockPool.lock.unlock()
    lock.unlock()
  }

  private static func afterForkInChild() {
    // The one thread of the child starts afresh: what it had belongs to the parent's sessions.
    mmlog_set_current_writer(nil)
    mmlog_set_threads(nil)
    for store in stores {
      store.detachInChild()
      store.labels.lock.reinitialise()
    }
    BlockPool.lock.reinitialise()
    lock.reinitialise()
  }
}
