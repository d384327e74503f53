import CMMLogCore
import Glibc

// Open file description locks belong to the open file. So a second open in the same process meets
// them, and closing another descriptor of the file does not drop them (as it does with F_SETLK).
// The kernel drops them when the last holder dies, however it dies. A child of fork shares its
// parent's: ``LockedFile`` takes care of that, and everything else locks through it. Advisory: they
// stop nobody who does not ask.

extension File {
  /// Acquires an exclusive lock on the whole file, without waiting: fcntl(2) F_OFD_SETLK.
  ///
  /// The file must be open for writing.
  /// - Returns: false if another open file holds a lock.
  package func tryLock() throws(SystemError) -> Bool {
    do throws(SystemError) {
      _ = try retrying(.fcntlLock, path) { mmlog_lock(descriptor) }
      return true
    } catch let error where error.errno == EAGAIN || error.errno == EACCES {
      return false
    }
  }

  /// Releases the lock, if this open file holds one: fcntl(2) F_OFD_SETLK.
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
