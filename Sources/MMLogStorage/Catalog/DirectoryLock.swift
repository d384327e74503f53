package import MMLogSystem

/// Lets one process at a time change what is noted about a directory's archives, and delete them:
/// an open file description lock on a file there. Writing and reading archives does not need it.
package enum DirectoryLock {
  /// The file's name. The file stays: if it were removed, two processes might each lock a file of
  /// that name.
  static let fileName = ".mmlog-lock"

  /// Runs `body` while the directory is locked.
  ///
  /// - Parameters:
  ///   - limit: How long to wait for the lock at most, in nanoseconds: the process that has it may
  ///     be stopped.
  ///   - goesOn: Whether to go on waiting.
  /// - Throws: `timedOut`, or what keeps the file from being made.
  package static func withLock<Result>(
    on directory: borrowing Directory, within limit: Int64, while goesOn: () -> Bool = { true },
    _ body: () throws(LogError) -> Result
  ) throws(LogError) -> Result {
    let lock = try acquire(on: directory, within: limit, while: goesOn)
    return try withExtendedLifetime(lock) { (_) throws(LogError) in try body() }
  }

  /// Acquires the lock, which the end of the returned value releases. Throws as
  /// ``withLock(on:within:while:_:)``.
  package static func acquire(
    on directory: borrowing Directory, within limit: Int64, while goesOn: () -> Bool = { true }
  ) throws(LogError) -> LockedFile {
    try checkOwner(directory)
    guard let lock = try take(directory, within: limit, while: goesOn) else {
      throw LogError(
        .timedOut,
        "Another process has been working on the archives of \(directory.path) for too long; try "
          + "again, or see with lslocks(8) which it is", path: directory.path)
    }
    TestPoint.reach(.directoryLocked)
    return lock
  }

  /// Throws if somebody else may have made the file, to keep it locked.
  private static func checkOwner(_ directory: borrowing Directory) throws(LogError) {
    do {
      _ = try directory.ownStatus(of: fileName)
    } catch {
      throw LogError(error, while: what, path: directory.path)
    }
  }

  private static func take(
    _ directory: borrowing Directory, within limit: Int64, while goesOn: () -> Bool
  ) throws(LogError) -> LockedFile? {
    try explaining(what) { () throws(SystemError) in
      try LockedFile.wait(atMost: limit, while: goesOn) { () throws(SystemError) in
        try LockedFile.open(fileName, in: directory, isMade: true)
      }
    }
  }

  private static let what = "Locking the directory of archives failed"
}
