import MMLogFormat
import MMLogSystem

/// Goes on with the last file of a store's archives, which another session has closed, in place of
/// a new one.
package struct Resumption: Sendable {
  /// Whether an archive is to be left as it is, and a new file begun.
  private let shouldSeal: @Sendable (ArchiveInfo) -> Bool

  package init(unless shouldSeal: @escaping @Sendable (ArchiveInfo) -> Bool) {
    self.shouldSeal = shouldSeal
  }

  /// How long to wait for other processes that work on the directory, in nanoseconds.
  private static let timeout: Int64 = 1_000_000_000

  /// Begins an archive behind the last one, if that is closed, and if limits, its state and the
  /// store's user allow it.
  ///
  /// The directory is locked meanwhile, so that nobody marks or leases the file.
  ///
  /// - Parameter notes: Where to note the last archive's ID, as its file's name says it, before
  ///   anything is changed.
  /// - Returns: Nil if a new file is to be begun.
  func begin(
    _ fileHeader: ArchiveHeader, in directory: borrowing Directory,
    _ settings: ArchiveSeries.Settings, _ notes: (any SessionNotes)?
  ) throws(SystemError) -> ArchiveWriter? {
    // If the directory cannot be locked, a new file is begun.
    guard let lock = try? DirectoryLock.acquire(on: directory, within: Self.timeout) else {
      return nil
    }
    return try withExtendedLifetime(lock) { (_) throws(SystemError) in
      guard let last = try last(of: fileHeader.identity.storeName, directory),
        let file = try take(last, directory, settings.rotation)
      else { return nil }
      try notes?.noteResumed(last.id)
      return try ArchiveWriter(
        fileHeader, behind: last, in: file, compressionLevel: settings.compressionLevel,
        recipients: settings.recipients)
    }
  }

  /// The archive that was begun last.
  private func last(
    of store: String, _ directory: borrowing Directory
  ) throws(SystemError) -> ArchiveInfo? {
    var (newest, start) = ([(fileName: String, parts: FileNames.Archive)](), "")
    for name in try directory.names() {
      guard let parts = FileNames.Archive(fileName: name), parts.store == store,
        parts.start >= start
      else { continue }
      if parts.start > start { (newest, start) = ([], parts.start) }
      newest.append((name, parts))
    }
    // Names distinguish only seconds.
    var last: ArchiveInfo?
    for archive in newest {
      guard let info = try ArchiveInfo.read(archive.parts, archive.fileName, in: directory) else {
        continue
      }
      if let last, last.created > info.created { continue }
      last = info
    }
    return last
  }

  /// The archive's file, locked; nil if no session may go on with it.
  private func take(
    _ archive: ArchiveInfo, _ directory: borrowing Directory, _ rotation: Rotation
  ) throws(SystemError) -> LockedFile? {
    let now = Moment.now
    var timer = RotationTimer(created: archive.created, now: now)
    let state = archive.state
    let isLeased = state.lease?.isInForce(at: now.wall) ?? false
    guard archive.isSealed, archive.contents != nil, !state.isUploaded, !state.isPinned, !isLeased,
      timer.reason(rotation, size: archive.size, now: now) == nil, !shouldSeal(archive)
    else { return nil }
    let lock = try LockedFile.open(archive.fileName, in: directory)
    guard let lock, case let status = try lock.file.status(), status.size == archive.size,
      try Ownership(of: directory).isOwn(status), try isSound(archive, directory)
    else { return nil }
    return lock
  }

  /// Whether all archives in a file can be read: what is put behind bytes that cannot be read would
  /// be hard to find.
  private func isSound(
    _ archive: ArchiveInfo, _ directory: borrowing Directory
  ) throws(SystemError) -> Bool {
    let file = try directory.openFile(archive.fileName, [.read])
    guard let archives = try? ArchiveFile.all(in: file), let last = archives.last else {
      return false
    }
    return archives.allSatisfy { $0.isSound && $0.isClosed } && last.closedEnd == archive.size
  }
}
