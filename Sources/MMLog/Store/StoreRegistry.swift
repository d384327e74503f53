import CMMLogCore
import CMMLogWriter
import MMLogCrash
import MMLogCrypto
import MMLogStorage
import MMLogSystem
import Synchronization

/// All stores of the process: keeps them alive, and takes them through `fork()`.
///
/// In a fork's child, Swift's runtime must not be asked for the type of anything: another thread
/// may have been asking when the process was copied, and its lock is never released. Hence a list
/// made by hand, not an array: what goes over an array is generic, and in a debug build looks its
/// types up.
enum StoreRegistry {
  private static let lock = ForkSafeMutex()
  nonisolated(unsafe) private static var newest: StoreCore?

  nonisolated(unsafe) private static var isPrepared = false  // under `lock`
  /// Whether all stores have log calls look for the context of their task.
  private static let allFindTaskContexts = Atomic<Bool>(false)

  /// Once: has faults in rings handled. Again, if it failed.
  static func prepareContainment() throws(LogError) {
    try explaining("Setting a handler for SIGBUS failed") { () throws(SystemError) in
      try lock.withLock { () throws(SystemError) in try FaultContainment.start() }
    }
  }

  /// Once: has crashes recorded. Again, if it failed.
  static func prepareCrashRecorder() throws(LogError) {
    try explaining("Setting handlers for fatal signals failed") { () throws(SystemError) in
      try lock.withLock { () throws(SystemError) in try CrashArea.start() }
      CrashArea.guardThread()
    }
  }

  /// Has the signals noted that end the process by default. Each time: a service may have given one
  /// back meanwhile.
  static func prepareTermination() { lock.withLock { EndingArea.handleSignals() } }

  /// Once: registers the process with the kernel's membarrier, and the stores' handlers with fork,
  /// and makes what log calls need. Again, if it failed.
  static func prepare() throws(LogError) {
    try explaining("Preparing for log calls failed") { () throws(SystemError) in
      try lock.withLock { () throws(SystemError) in
        if isPrepared { return }
        _ = MemoryBarrier.register()
        // Not in a log call: a fork's child that finds something half made would wait for it for
        // ever, and so would a signal handler.
        BlockPool.prepare()
        try PrivateHash.prepare()
        // First, so that a child has let go of its parent's locks before anything else happens
        // there.
        try SharedDescriptors.prepare()
        try ForkHandlers.install(
          prepare: { StoreRegistry.beforeFork() }, parent: { StoreRegistry.afterForkInParent() },
          child: { StoreRegistry.afterForkInChild() })
        isPrepared = true
      }
    }
  }

  /// Adds a store that has no session yet: a fork's child has to find each.
  static func add(_ store: StoreCore) {
    lock.withLock {
      store.older = newest
      newest = store
    }
  }

  /// Takes away a store that could not be opened.
  static func remove(_ store: StoreCore) {
    lock.withLock {
      if newest === store { return newest = store.older }
      var next = newest
      while let newer = next {
        if newer.older === store { return newer.older = store.older }
        next = newer.older
      }
    }
  }

  /// From now on, log calls look for the context of their task. At the first time, it takes the
  /// locks of all stores.
  static func useTaskContexts() {
    // Whoever comes second waits until all stores know it, too: what it logs then has its context.
    if allFindTaskContexts.load(ordering: .acquiring) { return }
    lock.withLock {
      mmlog_use_task_contexts()
      var next = newest
      while let store = next {
        store.useTaskContexts()
        next = store.older
      }
      allFindTaskContexts.store(true, ordering: .releasing)
    }
  }

  // What a child needs whole is locked while the process is copied; all other locks are made anew
  // there.

  private static func beforeFork() {
    DefaultStore.lock.lock()
    lock.lock()
    // Until the child has let go of its parent's rings: its thread has copies of the parent's
    // writers, and what a handler of a signal logs there would go over records of the parent.
    mmlog_block_signals()
    ValueSealer.lock.lock()
    var next = newest
    while let store = next {
      store.lock.lock()
      store.labels.lock.lock()
      store.settings.lock.lock()
      store.recovery.lock.lock()
      store.pauseThreads()
      next = store.older
    }
    // Behind the stores' locks: whoever opens a session takes this one with its store's.
    BlockPool.lock.lock()
    CrashArea.prepareForFork()
    TestPoint.reach(.forkPrepared)
  }

  private static func afterForkInParent() {
    CrashArea.resumeAfterFork()
    BlockPool.lock.unlock()
    var next = newest
    while let store = next {
      store.resumeThreads()
      store.recovery.lock.unlock()
      store.settings.lock.unlock()
      store.labels.lock.unlock()
      store.lock.unlock()
      next = store.older
    }
    ValueSealer.lock.unlock()
    mmlog_unblock_signals()
    lock.unlock()
    DefaultStore.lock.unlock()
  }

  private static func afterForkInChild() {
    CrashArea.reinitialize()
    EndingArea.reinitialize()
    // The one thread of the child starts afresh: what it had belongs to the parent's sessions.
    mmlog_forget_current_writer()
    mmlog_set_threads(nil)
    var next = newest
    while let store = next {
      store.detachInChild()
      store.labels.lock.reinitialize()
      next = store.older
    }
    BlockPool.lock.reinitialize()
    ValueSealer.lock.reinitialize()
    lock.reinitialize()
    DefaultStore.lock.reinitialize()
    mmlog_unblock_signals()
  }
}
