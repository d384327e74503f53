package import MMLogSystem

/// Files of processes that died while they made them: archives, and on a file system without
/// unnamed files rings, too. Nothing was ever logged into such a file, and a ring takes a whole
/// ring's space.
package enum UnfinishedFiles {
  /// How old such a file is before it counts as left over, in nanoseconds: a minute.
  ///
  /// Not at once: a process that is just making its file has not locked it in the first moment.
  private static let age: Int64 = 60_000_000_000

  /// Removes the rings in a directory that are unfinished, that nobody has locked, and that are old
  /// enough.
  ///
  /// - Parameter store: The store's name; nil for all.
  package static func sweepRings(of store: String?, in directory: borrowing Directory) {
    sweep(of: store, in: directory) { FileNames.Ring(fileName: $0)?.store }
  }

  /// As ``sweepRings(of:in:)``, for archives.
  package static func sweepArchives(of store: String?, in directory: borrowing Directory) {
    sweep(of: store, in: directory) { FileNames.Archive(fileName: $0)?.store }
  }

  /// - Parameter storeNamed: Returns the store of a file of the kind; nil for another name.
  private static func sweep(
    of store: String?, in directory: borrowing Directory, _ storeNamed: (String) -> String?
  ) {
    let names = (try? directory.names()) ?? []
    for name in names {
      guard let final = name.without(suffix: FileNames.unfinishedSuffix),
        let found = storeNamed(final), store == nil || found == store, isLeftOver(name, directory)
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
