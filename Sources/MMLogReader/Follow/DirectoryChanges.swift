import MMLogSystem

/// Whether a directory's names may have changed since they were listed.
struct DirectoryChanges {
  private var identity: FileStatus.Identity?
  /// When it was last changed, as the file system says; nil if it is to be listed again.
  private var modified: Int64?

  /// The finest that file systems and kernels distinguish two changes by, generously, in
  /// nanoseconds.
  private static let coarsestClock: Int64 = 100_000_000

  /// Notes that the names are listed now, if they may have changed.
  ///
  /// - Returns: Whether they may have.
  mutating func note(_ status: FileStatus) -> Bool {
    if identity == status.identity, modified == status.modified { return false }
    identity = status.identity
    // A change within the same tick of the clock would not be seen: then it is listed again.
    let isSettled = Clock.realtime() &- status.modified > Self.coarsestClock
    modified = isSettled ? status.modified : nil
    return true
  }
}
