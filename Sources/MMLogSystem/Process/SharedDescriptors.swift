import CMMLogCore

/// The descriptors that a child of fork must not keep: with them, it would hold its parent's locks.
///
/// In the child, they are replaced by descriptors of the same numbers that open nothing. So code
/// that still refers to one of them does no harm.
package enum SharedDescriptors {
  private static let lock = ForkSafeMutex()
  // Under `lock`. A list by hand, because the child may allocate nothing, and may not ask Swift's
  // runtime for types.
  nonisolated(unsafe) private static var list: UnsafeMutablePointer<CInt>?
  nonisolated(unsafe) private static var count = 0
  nonisolated(unsafe) private static var capacity = 0
  /// How often the process has forked.
  nonisolated(unsafe) private static var forks: UInt64 = 0
  nonisolated(unsafe) private static var isPrepared = false

  /// Makes children of fork give up the descriptors. To be called before other functions are
  /// installed that a child runs. Later calls do nothing, unless all before have failed.
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

  /// Opens a file whose descriptor no child of fork has or will keep.
  ///
  /// - Parameter body: Opens the file. Called without the lock, so that no fork waits for a disk,
  ///   and called again if a fork came between.
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

  /// Whether a descriptor is in the list; false in a child that has given it up.
  static func contains(_ descriptor: CInt) -> Bool {
    lock.withLock { index(of: descriptor) != nil }
  }

  /// Takes a descriptor out of the list; the caller closes it next.
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

  /// Gives up the descriptors in a child. Async-signal-safe.
  private static func giveUp() {
    mmlog_give_up_descriptors(list, count)
    count = 0
    lock.reinitialize()
  }
}
