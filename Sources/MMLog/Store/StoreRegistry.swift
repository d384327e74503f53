import CMMLogCore
import CMMLogWriter
import MMLogCrash
import MMLogCrypto
import MMLogStorage
import MMLogSystem
import Synchronization

/// Keeps all stores of the process alive, and takes them through `fork()`.
///
/// In a fork's child, nothing may ask Swift's runtime for a type: another thread may have been
/// asking when the process was copied, and its lock is never released. Therefore this is a list
/// made by hand and not an array: code that goes over an array is generic, and in a debug build
/// looks up its types.
enum StoreRegistry {
  private static let lock = ForkSafeMutex()
  nonisolated(unsafe) private static var newest: StoreCore?

  nonisolated(unsafe) private static var isPrepared = false  // under `lock`
  /// Whether the log calls of all stores look for the context of their task.
  private static let allFindTaskContexts = Atomic<Bool>(false)

  /// Makes faults in rings be handled. Acts once; again if it failed.
  static func prepareContainment() throws(LogError) {
    try explaining("Setting a handler for SIGBUS failed") { () throws(SystemError) in
      try lock.withLock { () throws(SystemError) in try FaultContainment.start() }
    }
  }

  /// Makes crashes be recorded. Acts once; again if it failed.
  static func prepareCrashRecorder() throws(LogError) {
    try explaining("Setting handlers for fatal signals failed") { () throws(SystemError) in
      try lock.withLock { () throws(SystemError) in try CrashArea.start() }
      CrashArea.guardThread()
    }
  }

  /// Makes signals that end the process by default be noted. Acts each time, because a service may
  /// have restored a default action meanwhile.
  static func prepareTermination() { lock.withLock { EndingArea.handleSignals() } }

  /// Registers the process with the kernel's membarrier, registers the stores' handlers with fork,
  /// and makes what log calls need. Acts once; again if it failed.
  static func prepare() throws(LogError) {
    try explaining("Preparing for log calls failed") { () throws(SystemError) in
      try lock.withLock { () throws(SystemError) in
        if isPrepared { return }
        _ = MemoryBarrier.register()
        // Not in a log call: a fork's child, or a signal handler, that found something half made
        // would wait for it for ever.
        try BlockPool.prepare()
        try PrivateHash.prepare()
        // Before the handlers below, so that a child lets go of its parent's locks before it does
        // anything else.
        try SharedDescriptors.prepare()
        try ForkHandlers.install(
          prepare: { StoreRegistry.beforeFork() }, parent: { StoreRegistry.afterForkInParent() },
          child: { StoreRegistry.afterForkInChild() })
        isPrepared = true
      }
    }
  }

  /// Adds a store that has no session yet, because a fork's child has to find every store.
  static func add(_ store: StoreCore) {
    lock.withLock {
      store.older = newest
      newest = store
    }
  }

  /// Removes a store that could not be opened.
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

  /// Makes log calls look for the context of their task from now on. The first call takes the locks
  /// of all stores.
  static func useTaskContexts() {
    // A second caller waits until all stores know it, too, so that what it logs then has its
    // context.
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

  // Whatever a child needs whole is locked while the process is copied. The child makes all other
  // locks anew.

  private static func beforeFork() {
    DefaultStore.lock.lock()
    lock.lock()
    // Blocked until the child has let go of its parent's rings. The child's thread has copies of
    // the parent's writers: what a signal handler logged there would overwrite the parent's
    // records.
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
    // After the stores' locks, because opening a session takes this lock while it has its store's.
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
    // The child's only thread starts afresh: its writers belong to the parent's sessions.
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
