import MMLogSystem

/// The folder that deleted archives go to, in their directory. A name goes there at once, however
/// large the file is. ``empty(in:while:)`` gives back the space, which takes longer.
enum Trash {
  static let folder = ".mmlog-trash"

  /// Moves a file of the directory to the folder.
  ///
  /// If there can be no such folder (the disk is full, it belongs to someone else), the file is
  /// removed at once.
  static func move(_ name: String, from directory: borrowing Directory) throws(SystemError) {
    do throws(SystemError) {
      try directory.makeDirectory(folder)
      TestPoint.reach(.trashMade)
      if try isForeign(directory) {
        throw SystemError.alreadyThere(.mkdirat, directory.path(of: folder))
      }
      try directory.rename(name, to: name, in: directory.openDirectory(folder))
    } catch {
      if try directory.status(of: name) == nil { return }
      try directory.remove(name)
    }
    TestPoint.reach(.trashTaken)
  }

  /// Removes the files in the folder that are ours.
  ///
  /// - Parameter goesOn: Asked before each file.
  /// - Returns: How many files were removed.
  /// - Throws: what keeps the first such file from being removed; the others are removed.
  static func empty(
    in directory: borrowing Directory, while goesOn: () -> Bool
  ) throws(SystemError) -> Int {
    let trash: Directory
    // If something else has the folder's name, deleted files are removed at once.
    guard try directory.status(of: folder)?.isDirectory == true, try !isForeign(directory) else {
      return 0
    }
    do throws(SystemError) {
      trash = try directory.openDirectory(folder)
    } catch  where error.isNotFound || error.isRefusal {
      // Another user's: that user empties it.
      return 0
    }
    var (count, failure) = (0, SystemError?.none)
    for name in try trash.names() where isOurs(name) && goesOn() {
      do throws(SystemError) {
        if try trash.removeIfThere(name) { count += 1 }
      } catch {
        failure = failure ?? error
      }
      TestPoint.reach(.trashRemoved)
    }
    if let failure { throw failure }
    return count
  }

  /// Whether somebody else may have made the folder, to keep what comes there.
  private static func isForeign(_ directory: borrowing Directory) throws(SystemError) -> Bool {
    guard let status = try directory.status(of: folder) else { return false }
    return try Ownership(of: directory).isForeign(status)
  }

  private static func isOurs(_ name: String) -> Bool {
    let archive = name.without(suffix: ArchiveInfo.State.sidecarSuffix) ?? name
    return FileNames.Archive(fileName: archive) != nil
  }
}
