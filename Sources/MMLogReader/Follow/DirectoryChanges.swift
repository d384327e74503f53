import MMLogSystem

/// Whether a directory's names may have changed since they were listed.
struct DirectoryChanges {
  private var identity: FileStatus.Identity?
  /// When the directory was last changed, as the file system says; nil if it is to be listed again.
  private var modified: Int64?
  /// When the directory was last listed, as monotonic time.
  private var listed: Int64 = 0

  /// The time between two changes that most file systems and kernels can tell apart, with a margin,
  /// in nanoseconds. File systems of networks and of removable media may need more.
  private static let coarsestClock: Int64 = 100_000_000
  /// As `coarsestClock`, for all file systems. After this time, the names are listed in any
  /// case.
  private static let coarsestOfAll: Int64 = 3_000_000_000

  /// Notes that the names are listed now, if they may have changed.
  ///
  /// - Parameter now: Monotonic time.
  /// - Returns: Whether the names may have changed.
  mutating func note(_ status: FileStatus, at now: Int64 = Int64(Clock.monotonic())) -> Bool {
    if identity == status.identity, modified == status.modified, now &- listed < Self.coarsestOfAll
    {
      return false
    }
    (identity, listed) = (status.identity, now)
    // A change within the same tick of the clock would not be seen. Then the names are listed
    // again.
    let isSettled = Clock.realtime() &- status.modified > Self.coarsestClock
    modified = isSettled ? status.modified : nil
    return true
  }

  /// Whether a file was last changed so long ago that another change would have another time, on
  /// any file system.
  static func isSettled(_ status: FileStatus) -> Bool {
    Clock.realtime() &- status.modified > coarsestOfAll
  }
}
