package import MMLogFormat
package import MMLogStorage
package import MMLogSystem

/// The archives of a directory as a queue for whoever goes on behind a cursor: what there is of
/// each session, as it grows, and its records in the order in which they were archived.
///
/// A few archives are open at a time, and of the others it is known which frames they have. One
/// that is deleted while it is open is read to its end.
///
/// For one thread at a time.
package final class ArchiveQueue {
  /// What files the directory has, by name.
  private var files: [String: QueuedFile] = [:]
  /// By session.
  package private(set) var sessions: [SessionID: QueuedSession] = [:]
  /// The sessions that have a ring, as of the last listing: they live, or wait for recovery.
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
  /// Where sessions begin that are not known yet.
  private var cursor: LogReader.Cursor
  private let identities: LogIdentities
  private let keyAdvice: String
  private let memory: FrameMemory
  private var changes = DirectoryChanges()

  /// - Parameters:
  ///   - path: The directory. It is opened anew for each scan.
  ///   - ringDirectory: Where the rings are; nil: in the same directory.
  ///   - filter: Which records are wanted. Others are passed over.
  ///   - cursor: What was given before.
  ///   - identities: Who decrypts what is encrypted. A session with records that none of them opens
  ///     waits before these.
  ///   - keyAdvice: A sentence that says what to do then.
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

  /// Searches for archives and frames that are new.
  ///
  /// - Parameter everything: Whether to inspect also the files that have been closed: a store may
  ///   go on with one of them.
  /// - Throws: What keeps the directory from being read.
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
    // Before the archives: all that a ring had is archived when the ring goes, and so is found.
    listRings()
    let names = try directory.names()
    let archives = Set(names.filter { $0.hasSuffix(FileNames.archiveSuffix) })
    for (name, file) in files where !archives.contains(name) {
      file.takeLast()
      files[name] = nil
      unreadable[name] = nil
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
      // A directory of rings that is not there yet has none.
      areRingsKnown = error.isNotFound
      if areRingsKnown { sessionsWithRing = [] }
    }
  }

  /// Whether a session may have a ring, in which more of it may be.
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
      for archive in try file.refresh(status, in: directory) {
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
      // What is wanted is closed by whoever reads it.
      if file.isSettled, file.sessions.allSatisfy(filteredOut.contains) { file.close() }
      for id in file.sessions { sessions[id]?.beginUndoneAgain() }
      unreadable[file.name] = nil
    } catch let error as SystemError where error.isNotFound {
    } catch {
      let error = LogError(
        error, while: "Reading an archive failed", path: directory.path(of: file.name))
      unreadable[file.name] = error
      // All of it has been searched for an archive.
      if error.isLasting, let inspected { file.reject(inspected) }
    }
  }

  /// Why an archive of a session, as far as its name says, cannot be read now, and may be later;
  /// nil if there is none.
  ///
  /// - Parameter number: Archives with lower numbers do not count.
  package func error(of session: SessionID, from number: UInt32 = 0) -> LogError? {
    unreadable.values.first { error in
      guard let archive = error.archiveToCome else { return false }
      return archive.session == session && archive.number >= number
    }
  }

  /// Whether a file cannot be read now that may be later.
  package var mayReadMore: Bool { unreadable.values.contains { !$0.isLasting } }

  /// Forgets a session of which nothing is left.
  package func forget(_ session: SessionID) { sessions[session] = nil }

  /// Forgets a session of which nothing is left, but how far it has been given, should a file of it
  /// come back.
  func forgetFiles(of session: SessionID) {
    cursor.sessions[session] = sessions[session]?.given
    forget(session)
  }

  /// How many files of archives there are.
  var fileCount: Int { files.count }
}

/// A file of archives: one, or several where a store went on with the last archive there.
final class QueuedFile {
  let name: String
  private let identities: LogIdentities
  private(set) var size = -1
  private(set) var identity: FileStatus.Identity?
  private(set) var isGone = false
  /// As it was when it was found to be no archive.
  private var rejected: FileStatus?
  /// What is in it, by place.
  private var archives: [QueuedArchive] = []
  /// The same, open; nil while the file is closed.
  private var opened: [ArchiveFile]?

  init(_ name: String, _ identities: LogIdentities) {
    (self.name, self.identities) = (name, identities)
  }

  /// Of whom its archives are.
  var sessions: [SessionID] { archives.map(\.identity.session) }

  /// Notes that it is no archive.
  func reject(_ status: FileStatus) {
    // One that was changed just now may be changed again, and have the same time.
    rejected = DirectoryChanges.isSettled(status) ? status : nil
  }

  /// Whether it was found to be no archive, and has not been changed since.
  func isRejected(_ status: FileStatus) -> Bool { rejected == status }

  /// Whether it is not expected to grow.
  var isSettled: Bool { archives.last?.isClosed ?? false }

  /// Takes in what was appended, or that another file has the name now.
  ///
  /// - Returns: Archives that were not known; of another file, all.
  /// - Throws: What keeps it from being read; also that an archive has a number that no other can
  ///   follow.
  func refresh(
    _ status: FileStatus, in directory: borrowing Directory
  ) throws -> [QueuedArchive] {
    if identity != status.identity {
      opened = try open(in: directory)
      archives = []
    } else if let last = opened?.last {
      _ = try last.refresh()
      opened?.append(contentsOf: try last.following())
    } else {
      opened = try open(in: directory)
    }
    // Who goes on behind an archive goes on with the next number.
    if opened?.contains(where: { $0.fileHeader.number == .max }) == true {
      opened = nil
      throw FormatError.invalid("archive number")
    }
    (size, identity, isGone) = (status.size, status.identity, false)
    return take(in: directory.path)
  }

  private func open(in directory: borrowing Directory) throws -> [ArchiveFile] {
    try ArchiveFile.all(in: directory.openFile(name, .toRead), identities: identities)
  }

  /// Takes in what was appended before it was deleted, if it is open.
  func takeLast() {
    isGone = true
    guard let last = opened?.last else { return }
    _ = try? last.refresh()
    archives.last?.learn(last)
  }

  private func take(in folder: String) -> [QueuedArchive] {
    var new: [QueuedArchive] = []
    for (index, file) in (opened ?? []).enumerated() {
      if index == archives.count {
        archives.append(QueuedArchive(file, self, index, in: folder))
        new.append(archives[index])
      }
      archives[index].learn(file)
    }
    return new
  }

  /// Whether an archive is at a place in it. Those of a file that had the name before are not.
  func has(_ archive: QueuedArchive, at index: Int) -> Bool {
    index < archives.count && archives[index] === archive
  }

  /// The archive at a place in it, opened if it is not.
  func archive(_ index: Int, in folder: String) throws -> ArchiveFile? {
    if opened == nil {
      if isGone { return nil }
      let directory = try Directory.open(folder)
      do {
        let file = try directory.openFile(name, .toRead)
        // The next scan takes in that another one has the name.
        guard try file.status().identity == identity else { return nil }
        opened = try ArchiveFile.all(in: file, identities: identities)
      } catch let error as SystemError where error.isNotFound {
        // It was deleted since the last scan.
        isGone = true
        return nil
      } catch let error as LogError where error.isLasting {
        // All of it was overwritten since the last scan. The next one says so.
        (size, archives) = (-1, [])
        return nil
      }
      for (index, file) in (opened ?? []).enumerated() where index < archives.count {
        archives[index].learn(file)
      }
    }
    return opened.flatMap { index < $0.count ? $0[index] : nil }
  }

  /// Closes it until it is needed again.
  func close() { if !isGone { opened = nil } }

  var isOpen: Bool { opened != nil }
}

/// What is known of an archive while it is closed.
package final class QueuedArchive {
  /// A frame of records.
  package struct Frame: Sendable {
    package let ordinal: UInt64
    package let rows: UInt32
    /// Of its payload; nil if a repair has made it in place of another one.
    let checksum: UInt32?
    /// How many bytes its rows take.
    package let bytes: Int
    package let last: Timestamp
  }

  let identity: SessionIdentity
  package let number: UInt32
  package private(set) var frames: [Frame] = []
  package private(set) var isClosed = false
  /// Whether it says how its session ended.
  private(set) var hasEnding = false
  /// Whether it is corrupted behind its last frame of records, if no more of it is to come.
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
    for frame in archive.frames[min(known, archive.frames.count)...] {
      let header = frame.header
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
    // Nobody goes on behind the archive of the greatest number.
    isEndCorrupted =
      number < .max
      && (!archive.endCorruption.isEmpty || archive.corruption.contains { $0.offset > last })
  }

  /// Whether it is in its file. Another one may have got the file's name.
  private var isInFile: Bool { file.has(self, at: index) }

  /// Whether it was deleted.
  package var isGone: Bool { file.isGone || !isInFile }

  /// Opens it, if it is not. Nil if it is gone.
  func open() throws -> ArchiveFile? { isInFile ? try file.archive(index, in: folder) : nil }

  /// Closes its file, until it is needed again.
  func close() { if isInFile { file.close() } }

  /// Whether it can be read: it is there, or open.
  package var isReadable: Bool { isInFile && (!file.isGone || file.isOpen) }
}

extension File.OpenOptions {
  fileprivate static let toRead: File.OpenOptions = [.read, .nonBlocking]
}
