import MMLogFormat
import MMLogSystem

/// The archives that a session has already.
extension Recovery {
  /// The session's archives as they are now, the oldest first.
  func infos(_ directory: borrowing Directory) throws(SystemError) -> [ArchiveInfo] {
    var infos: [ArchiveInfo] = []
    for name in try directory.names() {
      guard let parts = FileNames.Archive(fileName: name),
        isAnyWanted([parts.id]),
        let info = try ArchiveInfo.read(parts, name, in: directory)
      else { continue }
      infos.append(info)
    }
    return ArchiveOrder.sorted(infos)
  }

  /// Removes archives that did not get a file header before their process died: nothing was ever in
  /// them.
  func removeUnfinished(_ directory: borrowing Directory) throws {
    let ownership = try Ownership(of: directory)
    for name in try directory.names() {
      guard let final = name.without(suffix: FileNames.unfinishedSuffix),
        FileNames.Archive(fileName: final)?.session == image.fileHeader.identity.session,
        let status = try directory.status(of: name), !ownership.isForeign(status)
      else { continue }
      try directory.removeIfThere(name)
    }
  }

  /// The highest number that an archive of the session has or had, whether or not the archive can
  /// be read.
  ///
  /// - Parameter last: The newest archive that can be read. It may be in another session's file,
  ///   and then its number is in no name.
  func newestNumber(_ last: ArchiveFile?, _ directory: borrowing Directory) throws -> UInt32 {
    let session = image.fileHeader.identity.session
    let archives = try directory.names().lazy.compactMap { FileNames.Archive(fileName: $0) }
    let named = archives.filter { $0.session == session }.map(\.number).max() ?? 0
    let newest = max(named, image.sessionState.newestArchive, last?.fileHeader.number ?? 0)
    // A file may say any number, and there has to be a next one.
    return min(newest, UInt32.max - (1 << 20))
  }

  /// The session's archives, copies too, and whether one is corrupted so far that nothing of it can
  /// be read: such a file is left as it is. A file that may have been planted counts for nothing,
  /// whatever it says.
  ///
  /// - Throws: what the system refuses: if an archive were left out that can be read the next time,
  ///   records would be archived twice.
  func archives(
    in directory: borrowing Directory
  ) throws -> (archives: [ArchiveFile], isAnyUnreadable: Bool) {
    var archives: [ArchiveFile] = []
    var isAnyUnreadable = false
    var others: [String] = []
    let ownership = try Ownership(of: directory)
    for name in try directory.names() where name.hasSuffix(FileNames.archiveSuffix) {
      // The file headers are mostly known from the recovery of other rings: then a file that is
      // not wanted costs no system call.
      let headers = fileHeaders.headers(of: name, in: directory)
      let isWanted = isAnyWanted(headers.first)
      guard isWanted || headers.isFileHeaderLost else {
        others.append(name)
        continue
      }
      if try isPlanted(name, ownership, directory) { continue }
      if let found = try ownArchives(name, in: directory) {
        archives += found
      } else {
        isAnyUnreadable = isAnyUnreadable || isWanted
      }
    }
    if isAnyElsewhere(archives.map(\.fileHeader.number)) {
      for name in others where try !isPlanted(name, ownership, directory) {
        archives += try ownArchives(name, in: directory) ?? []
      }
    }
    return (archives, isAnyUnreadable)
  }

  /// Whether a file may have been planted. If it is not there, opening it says so.
  private func isPlanted(
    _ name: String, _ ownership: Ownership, _ directory: borrowing Directory
  ) throws(SystemError) -> Bool {
    guard let status = try directory.status(of: name) else { return false }
    return !ownership.isOwn(status)
  }

  /// Makes the archives safe from a power cut that have what the ring still has, and the newest
  /// one: the ring is removed after its recovery.
  ///
  /// A sync of them may have failed, of the dead process or of an earlier recovery. Therefore what
  /// they have is written again, before anything is concluded from it. Whoever writes behind them
  /// meanwhile, in a file that a living session goes on with, does not change it.
  ///
  /// - Throws: what the system refuses. The next recovery writes all of it again.
  func writeAgain(_ directory: borrowing Directory) throws {
    let archives = ArchiveFile.read(of: try archives(in: directory).archives)
    let present = Set(image.segments.map(\.header.generation))
    for archive in archives
    where archive === archives.last || archive.frames.contains(where: { $0.isOf(present) }) {
      try writeAgain(archive, in: directory)
    }
  }

  private func writeAgain(
    _ archive: ArchiveFile, in directory: borrowing Directory
  ) throws(SystemError) {
    let name = archive.path.splitAtLastSlash.name
    do throws(SystemError) {
      let file = try directory.openFile(name, [.read, .write, .nonBlocking])
      try check(archive, file)
      return try file.writeAgain(archive.start..<(archive.closedEnd ?? archive.end))
    } catch {
      guard error.isRefusal, archive.isClosed else { throw error }
    }
    // Somebody has taken away the permission to write it.
    let file = try directory.openFile(name, [.read, .nonBlocking])
    try check(archive, file)
    try file.syncData()
  }

  private func check(_ archive: ArchiveFile, _ file: borrowing File) throws(SystemError) {
    // Another file has the name now.
    guard try archive.isIn(file) else { throw SystemError.locked(archive.path) }
  }

  /// Whether an archive of the session may be in a file that the ring does not name. It is the
  /// session's first archive then.
  ///
  /// - Parameter numbers: The numbers of the archives in files with the session's name, and in the
  ///   file that the ring names.
  private func isAnyElsewhere(_ numbers: [UInt32]) -> Bool {
    // After the machine went down, the ring's page that names the file may be older than the
    // archive, and yet have the notes of a recovery that was cut off.
    if !image.isOfThisBoot { return !numbers.contains(1) }
    // The newest archive is gone, or the ring is corrupted where it says which archive that is, and
    // behind which archive the session began.
    return !numbers.contains(image.sessionState.newestArchive) && image.mayHaveArchives
  }

  /// The session's archives in a file; nil if nothing of the file can be read.
  private func ownArchives(
    _ name: String, in directory: borrowing Directory
  ) throws -> [ArchiveFile]? {
    guard let found = try Self.open(name, in: directory) else { return nil }
    if let last = found.last, found.first?.fileHeader.id == image.sessionState.resumed,
      last.hasTornFileHeader, let lock = try Self.lock(last, in: directory)
    {
      _ = try Self.cutTornFileHeader(in: lock.file, name, directory)
    }
    return found.filter { $0.fileHeader.identity.session == image.fileHeader.identity.session }
  }

  /// Whether a file that begins with one of these archives may have archives of the session: a file
  /// of the session, or the file in which the session began behind another one.
  private func isAnyWanted(_ first: [ArchiveID]) -> Bool {
    let (session, resumed) = (image.fileHeader.identity.session, image.sessionState.resumed)
    return first.contains { $0.session == session || $0 == resumed }
  }

  /// Cuts off the part of a file header that a process was writing when it died: without this part,
  /// the file is closed as it was before.
  ///
  /// - Parameter file: The file, locked.
  /// - Returns: Whether there was one.
  static func cutTornFileHeader(
    in file: borrowing File, _ name: String, _ directory: borrowing Directory
  ) throws -> Bool {
    guard let last = try open(name, in: directory)?.last, last.hasTornFileHeader,
      let end = last.closedEnd, try last.isIn(file)
    else { return false }
    try file.truncate(to: end)
    return true
  }

  /// Locks the file that an archive was read from; nil if somebody else goes on with it just now,
  /// or another file has its name.
  static func lock(
    _ archive: ArchiveFile, in directory: borrowing Directory
  ) throws(SystemError) -> LockedFile? {
    let lock = try LockedFile.open(archive.path.splitAtLastSlash.name, in: directory)
    guard let lock, try archive.isIn(lock.file) else { return nil }
    return lock
  }

  /// Locks the file that an archive was read from. Waits for whoever has the lock for a moment,
  /// only to see whether the archive is to be sealed.
  ///
  /// - Throws: `SystemError.locked(_:)` if somebody else has the lock for a second.
  static func lockInTurn(
    _ archive: ArchiveFile, in directory: borrowing Directory
  ) throws(SystemError) -> LockedFile {
    let lock = try LockedFile.wait(atMost: 1_000_000_000) { () throws(SystemError) in
      try Self.lock(archive, in: directory)
    }
    guard let lock else { throw .locked(archive.path) }
    return lock
  }

  /// The archives in a file; none if it is gone, nil if nothing of it can be read.
  static func open(
    _ name: String, in directory: borrowing Directory
  ) throws -> [ArchiveFile]? {
    do {
      return try ArchiveFile.all(in: directory.openFile(name, [.read, .nonBlocking]))
    } catch let error as SystemError where error.isNotFound {
      // A limit has deleted it meanwhile.
      guard try directory.status(of: name) == nil else { throw error }
      return []
    } catch let error as LogError where error.systemErrorNumber == 0 && error.code != .system {
      return nil
    }
  }
}

extension ArchiveFile {
  /// Whether it is closed, and a part of another archive's file header is behind it.
  fileprivate var hasTornFileHeader: Bool {
    if closedEnd != nil, case .fileHeader = tail { true } else { false }
  }
}

extension ArchiveFile.Frame {
  /// Whether it has records of segments with one of these generations.
  func isOf(_ generations: Set<UInt64>) -> Bool {
    header.ranges.contains { generations.contains($0.generation) }
  }
}
