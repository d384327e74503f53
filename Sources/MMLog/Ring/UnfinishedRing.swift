import MMLogStorage
import MMLogSystem

/// A ring's file until it is complete: locked, and without a name where the file system has such
/// files, so that it goes away with the process. Elsewhere it has another name until then; see
/// ``UnfinishedRings`` for what a crash leaves.
struct UnfinishedRing: ~Copyable {
  private let lock: LockedFile
  private let name: String
  /// Nil: it has none.
  private let otherName: String?

  /// The file, to be filled.
  var file: File { _read { yield lock.file } }

  /// Makes the file, and locks it for as long as the process lives: it is how others know that a
  /// ring is not a dead one's.
  ///
  /// - Parameter name: The name that it is to get.
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

  /// Nil where there are no files without a name.
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
    // Nobody else can have it.
    guard let lock else { throw SystemError.locked(directory.path(of: name)) }
    TestPoint.reach(.ringLocked)
    return lock
  }

  /// Gives it its name.
  func finish(in directory: borrowing Directory) throws(SystemError) {
    if let otherName {
      try directory.rename(otherName, to: name)
    } else {
      try directory.link(file, as: name)
    }
  }

  /// Has it go away.
  func discard(in directory: borrowing Directory) {
    if let otherName { try? directory.remove(otherName) }
  }

  consuming func take() -> LockedFile { lock }
}
