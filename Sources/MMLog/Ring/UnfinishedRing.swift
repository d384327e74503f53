import MMLogStorage
import MMLogSystem

/// A ring's file until it is complete: locked, and without a name if the file system has unnamed
/// files, so that it goes away with the process. On other file systems it has another name until
/// then; see ``UnfinishedFiles`` for what a crash leaves.
struct UnfinishedRing: ~Copyable {
  private let lock: LockedFile
  private let name: String
  /// Nil if the file has no name.
  private let otherName: String?

  /// The file, to be filled.
  var file: File { _read { yield lock.file } }

  /// Makes the file, and locks it for as long as the process lives: by the lock, others know that
  /// the ring is not a dead process's.
  ///
  /// - Parameter name: The name that the file is to get.
  static func make(
    _ name: String, in directory: borrowing Directory
  ) throws(SystemError) -> UnfinishedRing {
    if let lock = try unnamed(name, in: directory) {
      return UnfinishedRing(lock: lock, name: name, otherName: nil)
    }
    let other = name + FileNames.unfinishedSuffix
    let lock = try LockedFile.make(other, in: directory)
    TestPoint.reach(.ringLocked)
    return UnfinishedRing(lock: lock, name: name, otherName: other)
  }

  /// Makes the file without a name; nil if the file system has no unnamed files.
  private static func unnamed(
    _ name: String, in directory: borrowing Directory
  ) throws(SystemError) -> LockedFile? {
    let lock: LockedFile?
    do throws(SystemError) {
      lock = try LockedFile { () throws(SystemError) in
        let file = try directory.makeUnnamedFile(for: name)
        TestPoint.reach(.ringCreated)
        return file
      }
    } catch  where error.isWithoutUnnamedFiles {
      return nil
    }
    // Nobody else can have the lock.
    guard let lock else { throw SystemError.locked(directory.path(of: name)) }
    TestPoint.reach(.ringLocked)
    return lock
  }

  /// Gives the file its name.
  func finish(in directory: borrowing Directory) throws(SystemError) {
    if let otherName {
      try directory.rename(otherName, to: name)
    } else {
      try directory.link(file, as: name)
    }
  }

  /// Removes the file.
  func discard(in directory: borrowing Directory) {
    if let otherName { try? directory.remove(otherName) }
  }

  consuming func take() -> LockedFile { lock }
}
