import MMLogFormat
package import MMLogSystem

/// Archives that are not sealed, and whose session has no ring: the ring was in memory when the
/// machine went down, or somebody has deleted it. No recovery of a ring completes them.
///
/// They are sealed as they are. A file header that a session had begun to write behind a closed
/// archive is cut off. How the session ended is not known, so no archive says it. If the
/// ring turns up elsewhere later, its records go into the session's next archive, with the
/// session's end.
package enum RinglessArchives {
  /// Seals such archives, and removes those that did not get a file header before their process
  /// died: nothing was ever in them. The process may be killed at any moment, and several processes
  /// may do this at once: an archive's lock lets one of them do it.
  ///
  /// - Parameters:
  ///   - store: The store's name; nil for all.
  ///   - goesOn: Whether to seal another archive.
  ///   - sealed: Receives each archive that was sealed.
  ///   - problem: Receives why an archive could not be sealed. Corruption is no such reason: every
  ///     reader reports it, and the archive stays as it is for a repair.
  package static func seal(
    of store: String?, in directory: borrowing Directory, rings: borrowing Directory,
    _ settings: ArchiveSeries.Settings, while goesOn: () -> Bool = { true },
    sealed: (ArchiveInfo) -> Void, problem: (LogError) -> Void
  ) {
    UnfinishedFiles.sweepArchives(of: store, in: directory)
    do throws(SystemError) {
      for name in try candidates(of: store, in: directory, rings) where goesOn() {
        do {
          if let info = try seal(name, in: directory, rings, settings) { sealed(info) }
        } catch {
          problem(
            LogError(
              error, while: "Sealing an archive whose ring is gone failed",
              path: directory.path(of: name.fileName)))
        }
      }
    } catch {
      problem(LogError(error, while: "Searching for archives whose ring is gone failed"))
    }
  }

  /// The newest file of each session that has no ring: a session writes to one file at a time.
  private static func candidates(
    of store: String?, in directory: borrowing Directory, _ rings: borrowing Directory
  ) throws(SystemError) -> [FileNames.Archive] {
    let withRing = try sessions(in: rings)
    var newest: [SessionID: FileNames.Archive] = [:]
    for name in try directory.names() {
      guard let archive = FileNames.Archive(fileName: name),
        store == nil || archive.store == store, !withRing.contains(archive.session),
        archive.number >= newest[archive.session]?.number ?? 0
      else { continue }
      newest[archive.session] = archive
    }
    // The newest first: there may be no time for all, and an old file is mostly sealed.
    return newest.values.inOrder { $0.fileName > $1.fileName }
  }

  /// The sessions that have a ring.
  private static func sessions(
    in rings: borrowing Directory
  ) throws(SystemError) -> Set<SessionID> {
    Set(try rings.names().lazy.compactMap { FileNames.Ring(fileName: $0)?.session })
  }

  /// - Returns: The sealed archive; nil if it was sealed already, if somebody else works on it, or
  ///   if it has to stay as it is.
  private static func seal(
    _ name: FileNames.Archive, in directory: borrowing Directory, _ rings: borrowing Directory,
    _ settings: ArchiveSeries.Settings
  ) throws -> ArchiveInfo? {
    let fileName = name.fileName
    // Nearly all are sealed, and there may be very many.
    if try ArchiveInfo.isSealed(fileName, in: directory) { return nil }
    guard let found = try ArchiveInfo.read(name, fileName, in: directory), !found.isActive else {
      return nil
    }
    guard let lock = try LockedFile.open(fileName, in: directory) else { return nil }
    if try Recovery.cutTornFileHeader(in: lock.file, fileName, directory) {
      return try ArchiveInfo.read(name, fileName, in: directory)
    }
    // Nobody else changes it from here on. A sync of it may have failed: what it has is written
    // again, and then read.
    guard let written = try unsealed(fileName, lock.file, in: directory, rings) else { return nil }
    try lock.file.writeAgain(written.start..<written.end)
    guard let archive = try unsealed(fileName, lock.file, in: directory, rings) else { return nil }
    let losses = try lossesWithTornFrame(of: archive, in: directory)
    let writer = try ArchiveWriter(
      resuming: archive, lock, compressionLevel: settings.compressionLevel)
    TestPoint.reach(.recoveryCutOff)
    if let losses { try writer.append(losses) }
    let end = writer.end
    do {
      try writer.close(dictionary: UnsafeRawBufferPointer(start: nil, count: 0))
    } catch {
      // Nobody syncs an archive that is sealed.
      try? writer.cut(to: end)
      throw error
    }
    return try ArchiveInfo.read(name, fileName, in: directory)
  }

  /// The archive at the end of a locked file; nil if it is sealed, or has to stay as it is.
  private static func unsealed(
    _ fileName: String, _ file: borrowing File, in directory: borrowing Directory,
    _ rings: borrowing Directory
  ) throws -> ArchiveFile? {
    guard let archive = try Recovery.open(fileName, in: directory)?.last, try archive.isIn(file),
      !archive.isClosed, archive.isSound,
      try !sessions(in: rings).contains(archive.fileHeader.identity.session)
    else { return nil }
    return archive
  }

  /// What the session's archives say of losses, and the records of the frame that was not written
  /// whole, which nobody has; nil if there are none.
  private static func lossesWithTornFrame(
    of archive: ArchiveFile, in directory: borrowing Directory
  ) throws -> LossLedger? {
    let torn = archive.tornRows
    if torn.count == 0 { return nil }
    let session = archive.fileHeader.identity.session
    var own = [archive]
    for name in try directory.names()
    where FileNames.Archive(fileName: name)?.session == session {
      own += try Recovery.open(name, in: directory) ?? []
    }
    own.removeAll { $0.fileHeader.identity.session != session }
    var losses = try LossLedger.written(in: ArchiveFile.read(of: own)) ?? LossLedger()
    losses[.corrupted, torn.level] &+= torn.count
    return losses
  }
}

extension ArchiveFile {
  /// The rows of records that the bytes at its end are the beginning of, and their level; critical
  /// if that is not known. They count as one row if their number is not known: they may have stood
  /// behind the frame that is torn, and have been written with it.
  fileprivate var tornRows: (count: UInt64, level: Level) {
    guard case .frame(_, let header) = tail else { return (0, .critical) }
    switch header?.type {
    case .records?:
      let levels = header?.summary.levels
      let level = Level.allCases.first { levels == 1 << $0.rawValue }
      return (UInt64(header?.summary.count ?? 0), level ?? .critical)
    case .losses?, .sessionEnd?, .crash?, .index?: return (0, .critical)
    case nil where frames.last?.header.type == .index: return (0, .critical)
    case .dictionary?, .keySlot?, .ringKeySlot?, .other?, nil: return (1, .critical)
    }
  }
}

extension LossLedger {
  /// The newest ledger in the archives of a session, which are by rising number; nil if there is
  /// none, or none that can be read.
  static func written(in archives: [ArchiveFile]) throws -> LossLedger? {
    for archive in archives.reversed() {
      for frame in archive.frames.reversed() where frame.header.type == .losses {
        do {
          let payload = try archive.payload(of: frame)
          if let losses = payload.withUnsafeBytes({ LossLedger($0) }) { return losses }
        } catch is FormatError {
          continue
        }
      }
    }
    return nil
  }
}
