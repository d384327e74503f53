import MMLogSystem

/// Where archives go that are deleted: a folder in their directory. A name goes there at once,
/// however large the file is; its space is given back by ``empty(in:)``, which takes its time.
enum Trash {
  static let folder = ".mmlog-trash"

  /// Takes a file of the directory away.
  ///
  /// Where there can be no such folder (the disk is full, it belongs to someone else), the file is
  /// removed at once.
  static func take(_ name: String, from directory: borrowing Directory) throws(SystemError) {
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

  /// Removes what is in the folder and is ours.
  ///
  /// - Parameter goesOn: Asked before each file.
  /// - Returns: How many files were removed.
  /// - Throws: what keeps the first such file from being removed; the others are.
  static func empty(
    in directory: borrowing Directory, while goesOn: () -> Bool
  ) throws(SystemError) -> Int {
    let trash: Directory
    // Where something else has the name, files are removed at once.
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
