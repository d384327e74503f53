package import MMLogFormat
package import MMLogStorage
package import MMLogSystem

/// The archives of a directory as a queue, for a reader that goes on behind a cursor: the archives
/// of each session, as they grow, and their records in the order in which they were archived.
///
/// A few archives are open at a time. Of the others, the queue knows the frames. An archive that is
/// deleted while it is open is read to its end.
///
/// For one thread at a time.
package final class ArchiveQueue {
  /// The archive files in the directory, by name.
  private var files: [String: QueuedFile] = [:]
  /// By session.
  package private(set) var sessions: [SessionID: QueuedSession] = [:]
  /// The sessions that have a ring, as of the last listing: they run, or wait for recovery.
  package private(set) var sessionsWithRing: Set<SessionID> = []
  /// Whether the directory of rings could be listed.
  private var areRingsKnown = false
  /// The sessions that do not pass the filter.
  package private(set) var filteredOut: Set<SessionID> = []
  /// Files that could not be read when they were last inspected, and why.
  package private(set) var unreadable: [String: LogError] = [:]
  private let path: String
  private let ringDirectory: String
  private let filter: LogReader.Filter
  /// The places where sessions begin that are not known yet.
  private var cursor: LogReader.Cursor
  private let identities: LogIdentities
  private let keyAdvice: String
  private let memory: FrameMemory
  private var changes = DirectoryChanges()

  /// - Parameters:
  ///   - path: The directory. It is opened anew for each scan.
  ///   - ringDirectory: Where the rings are; nil: in the same directory.
  ///   - filter: Which records are wanted. Others are passed over.
  ///   - cursor: The position behind what was returned before.
  ///   - identities: The identities that decrypt. A session waits before records that none of them
  ///     opens.
  ///   - keyAdvice: A sentence that says what to do about a session that waits.
  package init(
    of path: String, ringDirectory: String? = nil, filter: LogReader.Filter,
    after cursor: LogReader.Cursor, identities: LogIdentities = LogIdentities(),
    keyAdvice: String = ""
  ) {
    (self.path, self.filter, self.cursor) = (path, filter, cursor)
    (self.identities, self.keyAdvice) = (identities, keyAdvice)
    memory = FrameMemory(opening: identities.slots)
    self.ringDirectory = ringDirectory ?? path
  }

  /// Searches for new archives and frames.
  ///
  /// - Parameter everything: Whether to inspect closed files, too: a store may go on with one of
  ///   them.
  /// - Throws: `SystemError` if the directory cannot be read.
  package func scan(everything: Bool = false) throws(SystemError) {
    let directory = try Directory.open(path)
    let status = try directory.status()
    var changes = changes
    let isToList = changes.note(status) || everything
    if isToList { try list(directory) }
    self.changes = changes
    let changing = isToList ? Array(files.values) : files.values.filter { !$0.isSettled }
    for file in changing.sorted(by: { $0.name < $1.name }) { inspect(file, directory) }
  }

  private func list(_ directory: borrowing Directory) throws(SystemError) {
    // Rings before archives: when a ring goes, all its records are archived, and thus are found.
    listRings()
    let names = try directory.names()
    let archives = Set(names.filter { $0.hasSuffix(FileNames.archiveSuffix) })
    let gone = files.filter { !archives.contains($0.key) }
    for (name, file) in gone {
      file.takeLast()
      files[name] = nil
      unreadable[name] = nil
    }
    // Copies of what is gone may be here.
    if !gone.isEmpty {
      for archive in files.values.flatMap(\.archives) {
        sessions[archive.identity.session]?.add(archive)
      }
    }
    for name in archives where files[name] == nil { files[name] = QueuedFile(name, identities) }
    if !filteredOut.isEmpty { filteredOut.formIntersection(files.values.flatMap(\.sessions)) }
  }

  private func listRings() {
    do {
      let names = try Directory.open(ringDirectory).names()
      sessionsWithRing = Set(names.compactMap { FileNames.Ring(fileName: $0)?.session })
      areRingsKnown = true
    } catch {
      // A directory of rings that does not exist yet has none.
      areRingsKnown = error.isNotFound
      if areRingsKnown { sessionsWithRing = [] }
    }
  }

  /// Whether a session may have a ring with more of its records.
  package func mayHaveRing(_ session: SessionID) -> Bool {
    !areRingsKnown || sessionsWithRing.contains(session)
  }

  private func inspect(_ file: QueuedFile, _ directory: borrowing Directory) {
    var inspected: FileStatus?
    do {
      guard let status = try directory.status(of: file.name), status.isRegularFile,
        status.size != file.size || status.identity != file.identity || file.isGone,
        !file.isRejected(status)
      else { return }
      inspected = status
      try file.refresh(status, in: directory)
      for archive in file.grown {
        let identity = archive.identity
        guard filter.passes(identity) else {
          filteredOut.insert(identity.session)
          continue
        }
        if sessions[identity.session] == nil {
          sessions[identity.session] = QueuedSession(
            identity, filter, memory, after: cursor.sessions[identity.session],
            keyAdvice: keyAdvice)
        }
        sessions[identity.session]?.add(archive)
      }
      // A reader of wanted sessions closes their files itself.
      if file.isSettled, file.sessions.allSatisfy(filteredOut.contains) { file.close() }
      for id in file.sessions { sessions[id]?.beginUndoneAgain() }
      unreadable[file.name] = nil
    } catch let error as SystemError where error.isNotFound {
    } catch {
      let error = LogError(
        error, while: "Reading an archive failed", path: directory.path(of: file.name))
      unreadable[file.name] = error
      // The whole file has been searched for an archive.
      if error.isLasting, let inspected { file.reject(inspected) }
    }
  }

  /// Why an archive of a session, according to its name, cannot be read now, and may be read later;
  /// nil if there is none.
  ///
  /// - Parameter number: Archives with lower numbers do not count.
  package func error(of session: SessionID, from number: UInt32 = 0) -> LogError? {
    unreadable.values.first { $0.isOfArchiveToCome(of: session, from: number) }
  }

  /// Whether there is a file that cannot be read now, and may be read later.
  package var mayReadMore: Bool { unreadable.values.contains { !$0.isLasting } }

  /// Forgets a session of which nothing is left.
  package func forget(_ session: SessionID) { sessions[session] = nil }

  /// Forgets a session of which nothing is left, except how far it was read, in case a file of it
  /// comes back.
  func forgetFiles(of session: SessionID) {
    cursor.sessions[session] = sessions[session]?.given
    forget(session)
  }

  /// The number of archive files.
  var fileCount: Int { files.count }
}

/// A file of archives: one, or several where a store went on with the last archive there.
final class QueuedFile {
  let name: String
  private let identities: LogIdentities
  private(set) var size = -1
  private(set) var identity: FileStatus.Identity?
  private(set) var isGone = false
  /// The status of the file when it was found to be no archive.
  private var rejected: FileStatus?
  /// The archives in the file, by place.
  private(set) var archives: [QueuedArchive] = []
  /// Those that the last refresh has found, and the one before, which may have grown.
  private(set) var grown: ArraySlice<QueuedArchive> = []
  /// All archives in the file, open; nil while the file is closed.
  private var opened: [ArchiveFile]?

  init(_ name: String, _ identities: LogIdentities) {
    (self.name, self.identities) = (name, identities)
  }

  /// The sessions of the archives in the file.
  var sessions: [SessionID] { archives.map(\.identity.session) }

  /// Notes that the file is no archive.
  func reject(_ status: FileStatus) {
    // A file that was changed just now may be changed again, and have the same time.
    rejected = DirectoryChanges.isSettled(status) ? status : nil
  }

  /// Whether the file was found to be no archive, and has not been changed since.
  func isRejected(_ status: FileStatus) -> Bool { rejected == status }

  /// Whether the file is not expected to grow.
  var isSettled: Bool { archives.last?.isClosed ?? false }

  /// Reads what was appended, or another file that has the name now.
  ///
  /// - Throws: if the file cannot be read, or if an archive has a number that no other can follow.
  func refresh(_ status: FileStatus, in directory: borrowing Directory) throws {
    let known = identity == status.identity ? archives.count : 0
    if identity != status.identity {
      opened = try open(in: directory)
      archives = []
    } else if let last = opened?.last {
      _ = try last.refresh()
      opened?.append(contentsOf: try last.following())
    } else {
      opened = try open(in: directory)
    }
    // The archive that follows another one has the next number.
    if opened?.contains(where: { $0.fileHeader.number == .max }) == true {
      opened = nil
      throw FormatError.invalid("archive number")
    }
    (size, identity, isGone) = (status.size, status.identity, false)
    take(in: directory.path)
    grown = archives[max(0, known - 1)...]
  }

  private func open(in directory: borrowing Directory) throws -> [ArchiveFile] {
    try ArchiveFile.all(in: directory.openFile(name, .toRead), identities: identities)
  }

  /// If the file is open, reads what was appended before it was deleted.
  func takeLast() {
    isGone = true
    guard let last = opened?.last else { return }
    _ = try? last.refresh()
    archives.last?.learn(last)
  }

  private func take(in folder: String) {
    for (index, file) in (opened ?? []).enumerated() {
      if index == archives.count { archives.append(QueuedArchive(file, self, index, in: folder)) }
      archives[index].learn(file)
    }
  }

  /// Whether an archive is at a place in the file. Archives of an earlier file with the same name
  /// are not.
  func has(_ archive: QueuedArchive, at index: Int) -> Bool {
    index < archives.count && archives[index] === archive
  }

  /// The archive at a place in the file. The file is opened if it is closed.
  func archive(_ index: Int, in folder: String) throws -> ArchiveFile? {
    if opened == nil {
      if isGone { return nil }
      let directory = try Directory.open(folder)
      do {
        let file = try directory.openFile(name, .toRead)
        // The next scan notices that another file has the name.
        guard try file.status().identity == identity else { return nil }
        opened = try ArchiveFile.all(in: file, identities: identities)
      } catch let error as SystemError where error.isNotFound {
        // The file was deleted since the last scan.
        isGone = true
        return nil
      } catch let error as LogError where error.isLasting {
        // The whole file was overwritten since the last scan. The next scan reports that.
        (size, archives) = (-1, [])
        return nil
      }
      for (index, file) in (opened ?? []).enumerated() where index < archives.count {
        archives[index].learn(file)
      }
    }
    return opened.flatMap { index < $0.count ? $0[index] : nil }
  }

  /// Closes the file until it is needed again.
  func close() { if !isGone { opened = nil } }

  var isOpen: Bool { opened != nil }
}

/// What is known of an archive while it is closed.
package final class QueuedArchive {
  /// A frame of records.
  package struct Frame: Sendable {
    package let ordinal: UInt64
    package let rows: UInt32
    /// The checksum of the payload; nil if a repair has made the frame in place of another one.
    let checksum: UInt32?
    /// How many bytes the frame's rows take.
    package let bytes: Int
    package let last: Timestamp
  }

  let identity: SessionIdentity
  package let number: UInt32
  package private(set) var frames: [Frame] = []
  package private(set) var isClosed = false
  /// Whether the archive says what its session has lost so far.
  private(set) var hasLosses = false
  /// Whether the archive says how its session ended.
  private(set) var hasEnding = false
  /// Whether the archive is corrupted behind its last frame of records. This holds if no more of
  /// the archive is to come.
  private(set) var isEndCorrupted = false
  private let file: QueuedFile
  private let index: Int
  private let folder: String
  private var known = 0

  init(_ archive: ArchiveFile, _ file: QueuedFile, _ index: Int, in folder: String) {
    (identity, number) = (archive.fileHeader.identity, archive.fileHeader.number)
    (self.file, self.index, self.folder) = (file, index, folder)
  }

  func learn(_ archive: ArchiveFile) {
    // The file was cut.
    if archive.frames.count < known {
      (frames, hasLosses, hasEnding, known) = ([], false, false, 0)
    }
    for frame in archive.frames[known...] {
      let header = frame.header
      if header.type == .losses { hasLosses = true }
      if header.type == .sessionEnd { hasEnding = true }
      guard header.type == .records else { continue }
      frames.append(
        Frame(
          ordinal: header.ordinal, rows: header.summary.count, checksum: header.lastingChecksum,
          bytes: max(header.rawSize, header.payloadSize), last: header.summary.lastWall))
    }
    known = archive.frames.count
    isClosed = archive.isClosed
    let last = archive.lastRecords
    // No reader goes on behind an archive with the greatest number.
    isEndCorrupted =
      number < .max
      && (!archive.endCorruption.isEmpty || archive.corruption.contains { $0.offset > last })
  }

  /// Whether the archive has more than a copy of it, or as much and a file that another one lacks.
  func goesFurther(than other: QueuedArchive) -> Bool {
    if frames.count != other.frames.count { return frames.count > other.frames.count }
    return isClosed != other.isClosed ? isClosed : other.isGone
  }

  /// Whether the archive is in its file. Another file may have the file's name now.
  private var isInFile: Bool { file.has(self, at: index) }

  /// Whether the archive was deleted.
  package var isGone: Bool { file.isGone || !isInFile }

  /// Opens the archive, if it is not open. Nil if it is gone.
  func open() throws -> ArchiveFile? { isInFile ? try file.archive(index, in: folder) : nil }

  /// Closes the archive's file until it is needed again.
  func close() { if isInFile { file.close() } }

  /// Whether the archive can be read: its file exists or is open.
  package var isReadable: Bool { isInFile && (!file.isGone || file.isOpen) }
}

extension File.OpenOptions {
  fileprivate static let toRead: File.OpenOptions = [.read, .nonBlocking]
}
