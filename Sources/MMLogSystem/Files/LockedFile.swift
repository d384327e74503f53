/// A file that this process has locked, for as long as this value lives: a ring, an archive, or a
/// directory's lock file.
///
/// Only this type takes locks, because a lock belongs to the open file and not to the process: it
/// is held until the last copy of the open file is closed. Two kinds of other processes may have a
/// copy, and live for long:
/// - A child of fork closes its copy before it does anything else, and never unlocks; see
///   ``SharedDescriptors``.
/// - A process that another thread is starting has a copy until its program is loaded. So the lock
///   is released explicitly.
package struct LockedFile: ~Copyable, Sendable {
  /// The file, open and locked.
  package private(set) var file: File

  /// Opens a file and locks it, without waiting.
  ///
  /// - Parameter open: Opens the file for writing. Called again if the process has forked
  ///   meanwhile.
  /// - Returns: Nil if another open file holds a lock.
  package init?(_ open: () throws(SystemError) -> File) throws(SystemError) {
    let file = try SharedDescriptors.open(open)
    do throws(SystemError) {
      guard try file.tryLock() else {
        SharedDescriptors.remove(file)
        return nil
      }
    } catch {
      SharedDescriptors.remove(file)
      throw error
    }
    self.file = file
  }

  /// Opens a file in a directory for reading and writing, and locks it, without waiting.
  ///
  /// - Parameter isMade: Whether the file is made if it is not there.
  /// - Returns: Nil if another open file holds a lock.
  package static func open(
    _ name: String, in directory: borrowing Directory, isMade: Bool = false
  ) throws(SystemError) -> LockedFile? {
    try LockedFile { () throws(SystemError) in
      try directory.openFile(name, [.read, .write, .nonBlocking, isMade ? .create : []])
    }
  }

  /// Tries to lock a file again and again, until a try succeeds or the time is over.
  ///
  /// - Parameters:
  ///   - nanoseconds: How long to try. There is one try at least.
  ///   - goesOn: Whether to go on trying.
  ///   - attempt: Tries to lock the file, without waiting.
  /// - Returns: Nil if another open file holds the lock for so long.
  package static func wait(
    atMost nanoseconds: Int64, while goesOn: () -> Bool = { true },
    for attempt: () throws(SystemError) -> LockedFile?
  ) throws(SystemError) -> LockedFile? {
    let deadline = Deadline(after: nanoseconds)
    while true {
      if let lock = try attempt() { return lock }
      if deadline.isOver || !goesOn() { return nil }
      Sleep.nanoseconds(2_000_000)
    }
  }

  /// Makes a new file for reading and writing, and locks it. Removes what an earlier try left under
  /// the name. After a failure, nothing is left.
  package static func make(
    _ name: String, in directory: borrowing Directory
  ) throws(SystemError) -> LockedFile {
    do throws(SystemError) {
      let lock = try LockedFile { () throws(SystemError) in
        try? directory.remove(name)
        return try directory.openFile(name, [.read, .write, .create, .exclusive])
      }
      guard let lock else { throw SystemError.locked(directory.path(of: name)) }
      return lock
    } catch {
      try? directory.remove(name)
      throw error
    }
  }

  /// Abandons the file, whose descriptor the program has closed: the same file, opened anew, may
  /// get the descriptor's number.
  package mutating func abandon() {
    SharedDescriptors.remove(file)
    file.abandon()
  }

  /// Notes that the file has another name now.
  package mutating func noteRename(to path: String) { file.noteRename(to: path) }

  deinit {
    // In a child of fork, the descriptor is not known any more, and the lock is the parent's.
    if SharedDescriptors.remove(file), file.isStillOpen { try? file.unlock() }
  }
}
