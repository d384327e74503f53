package import MMLogSystem

/// Rings of processes that died while they made them, on a file system without unnamed files.
/// Nothing was ever logged into such a ring, and each takes a whole ring's space.
package enum UnfinishedRings {
  /// How old such a ring is before it counts as left over, in nanoseconds: a minute.
  ///
  /// Not at once: a process that is just making its ring has not locked it in the first moment.
  private static let age: Int64 = 60_000_000_000

  /// Removes the rings in a directory that are unfinished, that nobody has locked, and that are old
  /// enough.
  ///
  /// - Parameter store: The store's name; nil for all.
  package static func sweep(of store: String?, in directory: borrowing Directory) {
    let names = (try? directory.names()) ?? []
    for name in names where isUnfinished(name, of: store) && isLeftOver(name, directory) {
      try? directory.remove(name)
    }
  }

  private static func isUnfinished(_ name: String, of store: String?) -> Bool {
    guard let final = name.without(suffix: FileNames.unfinishedSuffix),
      let ring = FileNames.Ring(fileName: final)
    else { return false }
    return store == nil || ring.store == store
  }

  private static func isLeftOver(_ name: String, _ directory: borrowing Directory) -> Bool {
    guard let ownership = try? Ownership(of: directory),
      // Checked before the lock: a process that has just made the ring must not find it locked
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
