import CMMLogCore

/// The descriptors that a child of fork must not keep, because with them it would hold its parent's
/// locks.
///
/// The child has them replaced by others of the same number that open nothing: what still refers to
/// one there does no harm.
package enum SharedDescriptors {
  private static let lock = ForkSafeMutex()
  // Under `lock`. By hand, because nothing may be allocated in the child, and Swift's runtime not
  // be asked for types.
  nonisolated(unsafe) private static var list: UnsafeMutablePointer<CInt>?
  nonisolated(unsafe) private static var count = 0
  nonisolated(unsafe) private static var capacity = 0
  /// How often the process has forked.
  nonisolated(unsafe) private static var forks: UInt64 = 0
  nonisolated(unsafe) private static var isPrepared = false

  /// Once: has a child of fork give them up. Before other functions are installed that a child
  /// runs. Again, if it failed.
  package static func prepare() throws(SystemError) {
    try lock.withLock { () throws(SystemError) in
      if isPrepared { return }
      try ForkHandlers.install(
        prepare: { SharedDescriptors.beforeFork() },
        parent: { SharedDescriptors.lock.unlock() },
        child: { SharedDescriptors.giveUp() })
      isPrepared = true
    }
  }

  /// Opens a file whose descriptor no child of fork has, or will keep.
  ///
  /// - Parameter body: Opens it. Without the lock: no fork waits for a disk. Called again if a fork
  ///   came between.
  static func open(_ body: () throws(SystemError) -> File) throws(SystemError) -> File {
    try prepare()
    while true {
      let before = lock.withLock { forks }
      let file = try body()
      if add(file.descriptor, unlessForkedSince: before) { return file }
    }
  }

  private static func add(_ descriptor: CInt, unlessForkedSince before: UInt64) -> Bool {
    lock.withLock {
      if forks != before { return false }
      if count == capacity { grow() }
      list?[count] = descriptor
      count += 1
      return true
    }
  }

  private static func grow() {
    capacity = max(2 * capacity, 16)
    let larger = UnsafeMutablePointer<CInt>.allocate(capacity: capacity)
    if let list {
      larger.moveInitialize(from: list, count: count)
      list.deallocate()
    }
    list = larger
  }

  /// Whether it is one; not in a child that has given it up.
  static func contains(_ descriptor: CInt) -> Bool {
    lock.withLock { index(of: descriptor) != nil }
  }

  /// Takes a descriptor out; to be closed next.
  static func remove(_ descriptor: CInt) {
    lock.withLock {
      guard let index = index(of: descriptor), let list else { return }
      count -= 1
      list[index] = list[count]
    }
  }

  private static func index(of descriptor: CInt) -> Int? {
    (0..<count).first { list?[$0] == descriptor }
  }

  private static func beforeFork() {
    lock.lock()
    forks += 1
  }

  /// In a child. Async-signal-safe.
  private static func giveUp() {
    mmlog_give_up_descriptors(list, count)
    count = 0
    lock.reinitialize()
  }
}
