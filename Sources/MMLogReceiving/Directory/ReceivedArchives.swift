import MMLogFormat
package import MMLogStorage
package import MMLogSystem

/// A directory of archives that others sent: `SERVICE/HOST/ARCHIVE.mmlog`, and a folder of
/// unfinished uploads. One process at a time receives into it.
///
/// Proof of `@unchecked Sendable`: the usage is touched under its lock only, and the rest is a lock
/// or never changes.
package final class ReceivedArchives: @unchecked Sendable {
  package let path: String
  package let limits: ReceiverLimits
  let root: Directory
  /// The folder of unfinished uploads.
  let uploads: Directory
  /// Held while an upload is checked and gets its name: only one at a time, so that memory is
  /// bounded.
  let checking = ForkSafeMutex()
  private let usageLock = ForkSafeMutex()
  /// Held while what is stored is counted, which may take long: the usage is not locked then.
  let counting = ForkSafeMutex()
  private var currentUsage = Usage()

  /// The name of ``uploads``.
  package static let uploadsFolder = ".mmlog-receive"
  /// The attribute of an archive that names the client that sent it.
  static let clientAttribute = "received-from"
  /// The modes of new directories and files, less the umask: the group may read.
  private static let (directoryMode, fileMode): (UInt32, UInt32) = (0o750, 0o640)

  /// Opens a directory, and makes it if it is missing.
  ///
  /// - Throws: ``LogError`` if another process receives into it, or the system refuses something.
  package init(at path: String, _ limits: ReceiverLimits) throws(LogError) {
    (self.path, self.limits) = (path, limits)
    let what = "Opening the directory of received archives failed"
    root = try explaining(what) { () throws(SystemError) in
      try Directory.create(path, mode: Self.directoryMode)
      return try Directory.open(path)
    }
    do throws(SystemError) {
      try root.makeDirectory(Self.uploadsFolder, mode: 0o700)
      uploads = try root.openDirectory(Self.uploadsFolder)
    } catch {
      throw LogError(error, while: what)
    }
    let isLocked = try explaining(what) { () throws(SystemError) in try uploads.tryLock() }
    guard isLocked else {
      throw LogError(
        .system,
        "\(path) has a receiver already: another process has the lock of \(uploads.path). End that "
          + "one, or choose another directory.", path: path)
    }
    do throws(SystemError) {
      try takeInUnfinished()
      try removeExpired()
    } catch {
      throw LogError(error, while: what)
    }
  }

  func withUsage<Result, Failure: Error>(
    _ body: (inout Usage) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    usageLock.lock()
    defer { usageLock.unlock() }
    return try body(&currentUsage)
  }

  // MARK: - What there is

  /// What the receiver has of an archive.
  package enum Holding: Equatable, Sendable {
    case nothing
    /// This many bytes of an upload.
    case unfinished(Int)
    /// The archive is stored, with its path in the directory and its size.
    case stored(String, Int)
  }

  /// Returns what the receiver has of the archive that a client calls by a name.
  ///
  /// A stored archive is found by the file name that its store gave it, which is the last part of
  /// the name.
  package func holding(of name: String, client: String) throws(Refusal) -> Holding {
    do throws(SystemError) {
      let upload = UploadName(of: name, client: client).fileName
      if let status = try uploads.status(of: upload) { return .unfinished(status.size) }
      guard let archive = ArchivePlace.archive(named: name) else { return .nothing }
      let service = FileNames.folder(archive.store)
      guard let found = try stored(archive.fileName, in: service) else { return .nothing }
      return .stored("\(service)/\(found.host)/\(archive.fileName)", found.size)
    } catch {
      throw Refusal(error)
    }
  }

  /// Finds an archive of a service among its hosts.
  private func stored(
    _ fileName: String, in service: String
  ) throws(SystemError) -> (host: String, size: Int)? {
    guard try root.status(of: service)?.isDirectory == true else { return nil }
    let folder = try root.openDirectory(service)
    for host in try folder.names() where try folder.status(of: host)?.isDirectory == true {
      let hostFolder = try folder.openDirectory(host)
      if let status = try hostFolder.status(of: fileName), status.isRegularFile {
        return (host, status.size)
      }
    }
    return nil
  }

  // MARK: - Uploads

  /// Begins to receive what a request has, or says that the receiver has all of it already.
  package func begin(
    _ request: ReceiverRequest, of name: String, client: String
  ) throws(Refusal) -> Upload.Beginning {
    if let size = request.archiveSize { try checkSize(size) }
    let holding = try holding(of: name, client: client)
    if case .stored(let path, let size) = holding, request.isForNewArchive,
      let receipt = try existing(path, size, request)
    {
      return .done(receipt)
    }
    let upload = UploadName(of: name, client: client).fileName
    try acquire(upload, client: client)
    do {
      return .upload(try Upload(upload, of: client, request, in: self))
    } catch {
      release(upload)
      throw Refusal(error)
    }
  }

  func checkSize(_ size: Int) throws(Refusal) {
    if size > limits.archive {
      throw Refusal(
        .contentTooLarge,
        "The archive has more than \(limits.archive) bytes, which is the limit for one. Let the "
          + "service seal smaller ones (rotation.size), or raise --max-archive.")
    }
  }

  /// Returns the answer to a client that wants nothing to be done if an archive has the name. Nil
  /// if the receiver has to see first what the client sends.
  ///
  /// - Throws: If the request says that its archive is another one.
  private func existing(
    _ path: String, _ size: Int, _ request: ReceiverRequest
  ) throws(Refusal) -> Receipt? {
    var isSame = request.archiveSize == size
    do throws(SystemError) {
      if isSame {
        guard let said = request.checksum else { return nil }
        let file = try File.open("\(self.path)/\(path)", .read)
        let checksum = ~(try file.checksumState(of: 0..<size))
        isSame = checksum == said
        if isSame {
          try makeSafe(file, at: path)
          return Receipt(outcome: .unchanged, path: path, size: size, checksum: said)
        }
      }
    } catch {
      throw Refusal(error)
    }
    if request.archiveSize == nil { return nil }
    throw Refusal(
      .preconditionFailed,
      "An archive of this name is stored, and has another size or checksum. The stored one stays.")
  }

  /// Acquires an upload for this request.
  private func acquire(_ upload: String, client: String) throws(Refusal) {
    try withUsage { (usage) throws(Refusal) in
      if let other = usage.unfinished[upload] {
        guard !other.isActive else {
          throw Refusal(
            .conflict, "Another request is sending this archive. Wait for its end.",
            retryAfter: 5)
        }
        usage.unfinished[upload]?.isActive = true
        return
      }
      if usage.unfinished.values.count(where: { $0.client == client }) >= limits.unfinished {
        throw Refusal(
          .tooManyRequests,
          "The client has \(limits.unfinished) unfinished uploads, which is the limit. "
            + "Finish some.",
          retryAfter: 60)
      }
      usage.unfinished[upload] = Usage.Unfinished(client: client, claimed: 0, written: 0)
    }
  }

  /// Releases an upload, which can be resumed if some of its bytes are there.
  ///
  /// - Parameter walked: The walk through all of its bytes; nil if there is no new one.
  func release(_ upload: String, _ walked: (walk: ArchiveWalk, size: Int)? = nil) {
    let size = (try? uploads.status(of: upload))?.size ?? 0
    if size == 0 { try? uploads.remove(upload) }
    withUsage { usage in
      if size == 0 {
        usage.unfinished[upload] = nil
      } else {
        usage.unfinished[upload]?.isActive = false
        usage.unfinished[upload]?.claimed = size
        usage.unfinished[upload]?.written = size
        usage.unfinished[upload]?.earlierSize = 0
        if let walked { usage.unfinished[upload]?.walked = walked }
      }
    }
  }

  /// Removes an upload and its bytes.
  func discard(_ upload: String) {
    try? uploads.remove(upload)
    withUsage { $0.unfinished[upload] = nil }
  }

  /// Opens the file of an upload that ``acquire(_:client:)`` has given to the caller.
  func openFile(of upload: String) throws(SystemError) -> File {
    try uploads.openFile(upload, [.read, .write, .create], mode: Self.fileMode)
  }

  // MARK: - Unfinished uploads

  /// Takes over the uploads that an earlier process left.
  private func takeInUnfinished() throws(SystemError) {
    for name in try uploads.names() {
      // The upload that this one was to replace is there.
      if name.hasSuffix(Upload.apartSuffix) { try uploads.remove(name) }
      guard let upload = UploadName(fileName: name), let status = try uploads.status(of: name),
        status.isRegularFile
      else { continue }
      withUsage { usage in
        usage.unfinished[name] = Usage.Unfinished(
          client: upload.client, claimed: status.size, written: status.size, isActive: false)
      }
    }
  }

  /// Removes uploads that have waited too long for the rest. The caller has to do this now and
  /// then.
  package func removeExpired() throws(SystemError) {
    let limit = Clock.realtime() - limits.unfinishedAge.nanoseconds
    for name in withUsage({ Array($0.unfinished.keys) }) {
      let status = try uploads.status(of: name)
      if let status, status.modified >= limit { continue }
      // A request that begins to send this upload waits for the usage's lock.
      try withUsage { (usage) throws(SystemError) in
        if usage.unfinished[name]?.isActive != false { return }
        // Somebody may have removed the file by hand.
        if status != nil { try uploads.remove(name) }
        usage.unfinished[name] = nil
      }
    }
  }

  // MARK: - Storing

  /// Opens the folder of an archive, and makes it if it is missing.
  func openFolder(_ place: ArchivePlace) throws(SystemError) -> Directory {
    let service = try open(place.service, in: root)
    return try open(place.host, in: service)
  }

  /// Makes a stored archive safe from a power cut, before a receipt says that it is stored: the
  /// process that gave it its name may have died before it did so.
  ///
  /// - Parameter path: The archive's path in the directory.
  func makeSafe(_ file: borrowing File, at path: String) throws(SystemError) {
    try file.sync()
    // This syncs the folders of its host and its service, and the directory.
    var folder = "\(self.path)/\(path)"
    for _ in 0..<3 {
      folder = folder.splitAtLastSlash.directory
      try Directory.open(folder).sync()
    }
  }

  private func open(
    _ name: String, in directory: borrowing Directory
  ) throws(SystemError) -> Directory {
    try directory.makeDirectory(name, mode: Self.directoryMode)
    // This syncs even if the folder was there: the process that made it may have died before it
    // synced.
    try directory.sync()
    return try directory.openDirectory(name)
  }
}

/// The name of an upload's file: the client, and a hash of what the client calls the archive.
///
/// Two names of one client with the same hash would be one upload, which is then refused when it is
/// checked.
struct UploadName: Equatable {
  let client: String
  private let hash: String

  init(of name: String, client: String) {
    (self.client, hash) = (client, name.utf8.fnv1a.allHexDigits)
  }

  /// Reads a file name; nil if it is not that of an upload.
  init?(fileName: String) {
    let parts = fileName.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, parts[2] == "upload", parts[1].utf8.count == 16 else { return nil }
    (client, hash) = (String(parts[0]), String(parts[1]))
  }

  var fileName: String { "\(client).\(hash).upload" }
}
