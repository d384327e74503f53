package import MMLogSystem

/// Rings of processes that died while they made them, on a file system without unnamed files, and
/// other files that did not get their names. Nothing was ever logged into such a ring, and each
/// takes a whole ring's space.
package enum UnfinishedRings {
  /// How old such a file is before it counts as left over, in nanoseconds: a minute.
  ///
  /// Not at once: a process that is just making its file has not locked it in the first moment.
  private static let age: Int64 = 60_000_000_000

  /// Removes the rings in a directory that are unfinished, that nobody has locked, and that are old
  /// enough.
  ///
  /// - Parameter store: The store's name; nil for all.
  package static func sweep(of store: String?, in directory: borrowing Directory) {
    sweep(in: directory) { name in
      FileNames.Ring(fileName: name).map { store == nil || $0.store == store } ?? false
    }
  }

  /// The same for files of any kind.
  ///
  /// - Parameter isMeant: Whether to remove an unfinished file that was to get this name.
  static func sweep(in directory: borrowing Directory, _ isMeant: (String) -> Bool) {
    let names = (try? directory.names()) ?? []
    for name in names {
      guard let final = name.without(suffix: FileNames.unfinishedSuffix), isMeant(final),
        isLeftOver(name, directory)
      else { continue }
      try? directory.remove(name)
    }
  }

  private static func isLeftOver(_ name: String, _ directory: borrowing Directory) -> Bool {
    guard let ownership = try? Ownership(of: directory),
      // Checked before the lock: a process that has just made the file must not find it locked
      // here.
      let named = try? directory.status(of: name), ownership.isOwn(named), isOld(named),
      let lock = try? LockedFile.open(name, in: directory),
      let status = try? lock.file.status()
    else { return false }
    return ownership.isOwn(status) && isOld(status)
  }

  private static func isOld(_ status: FileStatus) -> Bool {
    Clock.realtime() &- status.modified > age
  }
}
