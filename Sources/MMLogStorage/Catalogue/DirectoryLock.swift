import MMLogSystem

/// Lets one process at a time change what is noted about a directory's archives, and delete them: an open file description lock on a
/// file there. Writing and reading archives does not need it.
enum DirectoryLock {
  /// The file's name. It stays: were it removed, two processes might each lock one of that name.
  static let fileName = ".mmlog-lock"

  /// Runs `body` when the directory is locked.
  ///
  /// - Parameter limit: How long to wait for it at most, in nanoseconds: whoever has it may be stopped.
  /// - Throws: `timedOut`, or what keeps the file from being made.
  static func withLock<Result>(
    on directory: borrowing Directory, within limit: Int64, _ body: () throws(LogError) -> Result
  ) throws(LogError) -> Result {
    let file = try open(directory)
    guard try take(file, within: limit) else {
      throw LogError(
        .timedOut,
        "Another process has been working on the archives of \(directory.path) for too long; try again, or "
          + "see with lslocks(8) which it is", path: directory.path)
    }
    TestPoint.reach(.directoryLocked)
    // A child of fork may have the file open, too.
    defer { try? file.unlock() }
    return try body()
  }

  private static func open(_ directory: borrowing Directory) throws(LogError) -> File {
    if let status = try foreignStatus(directory) {
      throw Ownership.error(directory.path(of: fileName), status)
    }
    do throws(SystemError) {
      return try directory.openFile(fileName, [.read, .write, .create])
    } catch {
      throw LogError(error, while: what)
    }
  }

  /// What there is to say of the file if somebody else may have made it, to keep it locked.
  private static func foreignStatus(
    _ directory: borrowing Directory
  ) throws(LogError) -> FileStatus? {
    do throws(SystemError) {
      guard let status = try directory.status(of: fileName),
        try Ownership(of: directory).isForeign(status)
      else { return nil }
      return status
    } catch {
      throw LogError(error, while: what)
    }
  }

  private static func take(_ file: borrowing File, within limit: Int64) throws(LogError) -> Bool {
    let deadline = Clock.monotonic() &+ UInt64(max(0, limit))
    do throws(SystemError) {
      while try !file.tryLock() {
        if Clock.monotonic() >= deadline { return false }
        Sleep.nanoseconds(2_000_000)
      }
      return true
    } catch {
      throw LogError(error, while: what)
    }
  }

  private static let what = "Locking the directory of archives failed"
}
