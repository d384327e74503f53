import CMMLogCore

/// The descriptors that a child of fork must not keep: with them, it would hold its parent's locks.
///
/// In the child, they are replaced by descriptors of the same numbers that open nothing. So code
/// that still refers to one of them does no harm. A number that opens another file by then, because
/// the program has closed descriptors that are not its own, is left alone.
package enum SharedDescriptors {
  private static let lock = ForkSafeMutex()
  // Under `lock`. A list by hand, because the child may allocate nothing, and may not ask Swift's
  // runtime for types.
  nonisolated(unsafe) private static var list: UnsafeMutablePointer<mmlog_opened>?
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
        child: { SharedDescriptors.abandon() })
      isPrepared = true
    }
  }

  /// Opens a file whose descriptor no child of fork has or will keep, and notes its identity.
  ///
  /// - Parameter body: Opens the file. Called without the lock, so that no fork waits for a disk,
  ///   and called again if a fork came between.
  static func open(_ body: () throws(SystemError) -> File) throws(SystemError) -> File {
    try prepare()
    while true {
      let before = lock.withLock { forks }
      var file = try body()
      try file.noteIdentity()
      if add(file, unlessForkedSince: before) { return file }
    }
  }

  private static func add(_ file: borrowing File, unlessForkedSince before: UInt64) -> Bool {
    guard let opened = file.opened else { return false }
    return lock.withLock {
      if forks != before { return false }
      if count == capacity { grow() }
      list?[count] = opened
      count += 1
      return true
    }
  }

  private static func grow() {
    capacity = max(2 * capacity, 16)
    let larger = UnsafeMutablePointer<mmlog_opened>.allocate(capacity: capacity)
    if let list {
      larger.moveInitialize(from: list, count: count)
      list.deallocate()
    }
    list = larger
  }

  /// Takes a file's descriptor out of the list; the caller closes it next.
  ///
  /// - Returns: Whether the descriptor was in the list. False in a child that has given it up.
  @discardableResult
  static func remove(_ file: borrowing File) -> Bool {
    guard let opened = file.opened else { return false }
    return lock.withLock {
      guard let index = index(of: opened), let list else { return false }
      count -= 1
      list[index] = list[count]
      return true
    }
  }

  private static func index(of opened: mmlog_opened) -> Int? {
    (0..<count).first { index in
      guard let other = list?[index] else { return false }
      return (other.descriptor, other.device, other.inode)
        == (opened.descriptor, opened.device, opened.inode)
    }
  }

  private static func beforeFork() {
    lock.lock()
    forks += 1
  }

  /// Abandons the descriptors in a child. Async-signal-safe.
  private static func abandon() {
    mmlog_give_up_descriptors(list, count)
    count = 0
    lock.reinitialize()
  }
}
