import CMMLog
import Glibc

// Open file description locks: they belong to the open file, so that a second open in the same
// process meets them, closing some other descriptor of the file does not drop them (as it does with
// F_SETLK), and the kernel drops them when the last holder dies, however it dies. A child of fork
// shares its parent's. Advisory: they stop nobody who does not ask.

extension File {
  /// Takes an exclusive lock on the whole file, without waiting: fcntl(2) F_OFD_SETLK.
  ///
  /// The file must be open for writing.
  /// - Returns: false if another open file holds a lock.
  package func tryLock() throws(SystemError) -> Bool {
    do throws(SystemError) {
      _ = try retrying(.fcntlLock, path) { mmlog_lock(descriptor, false) }
      return true
    } catch let error where error.errno == EAGAIN || error.errno == EACCES {
      return false
    }
  }

  /// Takes an exclusive lock on the whole file, and waits for it: fcntl(2) F_OFD_SETLKW.
  ///
  /// The file must be open for writing.
  package func lock() throws(SystemError) {
    _ = try retrying(.fcntlLock, path) { mmlog_lock(descriptor, true) }
  }

  /// Gives the lock back, if this open file holds one: fcntl(2) F_OFD_SETLK.
  package func unlock() throws(SystemError) {
    _ = try retrying(.fcntlUnlock, path) { mmlog_unlock(descriptor) }
  }

  /// True if another open file, here or in another process, holds a lock: fcntl(2) F_OFD_GETLK.
  ///
  /// The file may be open for reading only.
  package func isLockedByAnother() throws(SystemError) -> Bool {
    try retrying(.fcntlGetLock, path) { mmlog_locked_by_another(descriptor) } == 1
  }
}

/// A file that is locked for as long as this is.
///
/// The lock is given up explicitly: a child that another thread has forked meanwhile has the file open, too, and may live for long.
package struct LockedFile: ~Copyable, Sendable {
  package let file: File

  /// Locks a file, without waiting; nil if another open file holds a lock. It must be open for writing.
  package init?(_ file: consuming File) throws(SystemError) {
    guard try file.tryLock() else { return nil }
    self.file = file
  }

  deinit { try? file.unlock() }
}
