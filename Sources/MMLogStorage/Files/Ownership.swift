package import MMLogSystem

/// Decides which files in a directory may be taken for a store's.
///
/// Where every user can make files (a sticky directory such as /tmp), a file of another user may
/// have been planted: a ring that this process would read and delete with its rights, an archive
/// that claims to hold what is in a ring, a lock that is never given back. Such a file is left
/// alone. So is an own file that others may write: they may have put into it what they could not
/// plant. In other directories, whoever can make a file could as well change the other files.
/// Whether others may read a file does not matter.
package struct Ownership {
  private let isOpenToAll: Bool
  private let owners: [UInt32]

  package init(of directory: borrowing Directory) throws(SystemError) {
    let status = try directory.status(of: ".")
    isOpenToAll = (status?.permissions ?? 0) & 0o002 != 0
    owners = [CurrentProcess.effectiveUserID] + (status.map { [$0.owner] } ?? [])
  }

  /// Whether a file in the directory may have been planted.
  package func isForeign(_ status: FileStatus) -> Bool {
    isOpenToAll && (!owners.contains(status.owner) || status.isWritableByOthers)
  }

  /// Whether something in the directory may be one of the store's files.
  package func isOwn(_ status: FileStatus) -> Bool { status.isRegularFile && !isForeign(status) }

  /// Throws what to report if something has the name of one of the store's files, but must not be
  /// touched.
  package func check(_ status: FileStatus, _ path: String) throws(LogError) {
    if isForeign(status) { throw Self.error(path, status) }
    if status.isRegularFile || status.isSymbolicLink { return }
    throw LogError(
      .foreignFile,
      "\(path) is no file, but a directory, a pipe, a socket or a device: it is left alone. "
        + "Delete it if you do not need it.",
      path: path)
  }

  /// What to report of a foreign file.
  private static func error(_ path: String, _ status: FileStatus) -> LogError {
    if status.isWritableByOthers {
      return LogError(
        .foreignOwner,
        "\(path) can be written by others than its user, and every user can make files there: it "
          + "is left alone. Delete it if it is not what it seems to be; else take that right away "
          + "(chmod go-w).",
        path: path)
    }
    return LogError(
      .foreignOwner,
      "\(path) belongs to user \(status.owner), and every user can make files there: it is left "
        + "alone. Delete it if it is not what it seems to be, or choose a directory that is not "
        + "open to all.",
      path: path)
  }
}

extension Directory {
  /// The status of one of the store's own files, by its name; nil if nothing has the name.
  ///
  /// To ask before the file is opened, too: that may be refused, and be no fault.
  ///
  /// - Throws: what to report of something that must not be touched: ``Ownership/check(_:_:)``.
  package borrowing func ownStatus(of name: String) throws -> FileStatus? {
    guard let status = try status(of: name) else { return nil }
    try Ownership(of: self).check(status, path(of: name))
    return status
  }

  /// Opens one of the store's own files.
  ///
  /// - Throws: As ``ownStatus(of:)``, and what keeps it from being opened.
  package borrowing func openOwn(_ name: String, _ options: File.OpenOptions) throws -> File {
    _ = try ownStatus(of: name)
    let file = try openFile(name, options.union(.nonBlocking))
    // Another file may have taken its place since the check.
    try Ownership(of: self).check(file.status(), file.path)
    return file
  }

  /// Opens one of the store's own files for reading; nil if it is not there.
  ///
  /// - Throws: As ``openOwn(_:_:)``.
  package borrowing func openOwnIfThere(_ name: String) throws -> File? {
    do {
      return try openOwn(name, .read)
    } catch let error as SystemError where error.isNotFound {
      return nil
    }
  }
}

extension FileStatus {
  /// What to report of a file of secrets that every user can read, or change; nil of another file.
  package func openness(_ path: String) -> String? {
    if permissions & 0o007 == 0 { return nil }
    return "\(path) can be read by every user. Take that right away: chmod o= \(path)"
  }

  /// Whether its group, or every user, may write it. A link's permissions say nothing.
  fileprivate var isWritableByOthers: Bool { isRegularFile && permissions & 0o022 != 0 }
}
