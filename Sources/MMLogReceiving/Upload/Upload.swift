import MMLogAnalysis
import MMLogReader
import MMLogStorage
import MMLogSystem

/// An archive that comes in, in one request or several. For one thread at a time.
package final class Upload {
  /// How a request begins.
  package enum Beginning {
    case upload(Upload)
    /// There is nothing to be sent.
    case done(Receipt)
  }

  private let archives: ReceivedArchives
  private let file: File
  private let name: String
  private let client: String
  private let request: ReceiverRequest
  /// How many bytes of the archive are there.
  private var size: Int
  /// How many bytes there are of an earlier upload that this request does not go on with. The
  /// earlier upload stays, in a file of its own, until this one is known to be better.
  private var earlierSize: Int?
  /// How much has come with this request.
  private var received = 0
  private var walk: ArchiveWalk
  /// Why the rest of the request is ignored.
  private var refusal: Refusal?
  private var isEnded = false

  init(
    _ name: String, of client: String, _ request: ReceiverRequest, in archives: ReceivedArchives
  ) throws {
    let start = request.range?.first ?? 0
    let found = try archives.uploads.status(of: name)?.size ?? 0
    guard start <= found else {
      throw Refusal(
        .conflict,
        "\(found) bytes of the archive are here, and the request goes on at \(start). Go on at "
          + "\(found).", offset: found)
    }
    // The start is checked before anything of the existing upload is changed.
    let earlierSize = start == 0 && found > 0 ? found : nil
    archives.withUsage {
      $0.unfinished[name]?.written = start
      $0.unfinished[name]?.earlierSize = earlierSize ?? 0
    }
    try archives.claim(request.archiveSize ?? start, for: name, of: client)
    (self.archives, self.name, self.client, self.request) = (archives, name, client, request)
    // With many parts, walking through all that is there for each of them would take for ever.
    let known = archives.withUsage { $0.takeWalk(of: name, to: start) }
    (size, walk) = (start, (earlierSize == nil ? known : nil) ?? ArchiveWalk(name))
    self.earlierSize = earlierSize
    file = try archives.openFile(of: earlierSize == nil ? name : Self.apartName(name))
    try file.truncate(to: start)
    // While the client sends the rest, it would be too slow for the limit of time.
    do { try walk.advance(file, to: start) } catch {
      refusal = Refusal(error)
    }
  }

  /// The suffix of the file of an upload that does not go on with the existing one.
  static let apartSuffix = ".new"

  private static func apartName(_ name: String) -> String { name + apartSuffix }

  /// Replaces the earlier upload with this one.
  private func replaceEarlier() throws(SystemError) {
    if earlierSize == nil { return }
    try archives.uploads.rename(Self.apartName(name), to: name)
    earlierSize = nil
  }

  /// Removes this upload, and keeps the earlier one.
  private func removeApart() {
    if earlierSize == nil { return }
    try? archives.uploads.remove(Self.apartName(name))
    earlierSize = nil
  }

  private func noteSize() {
    archives.withUsage { $0.unfinished[name]?.written = size }
  }

  // MARK: - Receiving

  /// Takes the next bytes.
  ///
  /// ``finish()`` reports what is wrong, when the client listens. Until then the rest is ignored.
  ///
  /// - Returns: False if the client sends more than any archive may have: the caller has to stop
  ///   listening to it.
  package func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
    received += bytes.count
    if refusal == nil { refuse { try take(bytes) } }
    return received - (1 << 20) <= archives.limits.archive
  }

  private func take(_ bytes: UnsafeRawBufferPointer) throws {
    if let end = request.end, size + bytes.count > end {
      // The bytes from before this request may be right.
      let start = request.range?.first ?? 0
      try file.truncate(to: start)
      size = start
      throw Refusal(
        .badRequest, "More bytes came than the request says.", offset: start > 0 ? start : nil)
    }
    try archives.checkSize(size + bytes.count)
    // A client that does not say how much will come gets space piece by piece.
    if request.archiveSize == nil {
      let step = 1 << 20
      if (size + bytes.count) / step > size / step || size == 0 {
        try archives.claim(size + bytes.count + step, for: name, of: client)
      }
    }
    try file.writeFully(bytes, at: size)
    size += bytes.count
    noteSize()
    try walk.advance(file, to: size)
  }

  /// Runs `body`, and keeps why it failed.
  private func refuse(_ body: () throws -> Void) {
    do { try body() } catch {
      refusal = refusal ?? Refusal(error)
    }
  }

  // MARK: - Ending

  /// Ends without an answer, because the client is gone. The upload can be resumed, unless its
  /// bytes are wrong.
  package func suspend() {
    if isEnded { return }
    isEnded = true
    let isWrong = refusal?.isFinal == true
    if let earlierSize, isWrong || size < earlierSize {
      removeApart()
      archives.release(name)
    } else if isWrong {
      archives.discard(name)
    } else {
      try? replaceEarlier()
      archives.release(name, refusal == nil && earlierSize == nil ? (walk, size) : nil)
    }
  }

  /// Checks what came, and stores it if it is the whole archive.
  package func finish() throws(Refusal) -> Receipt {
    defer { suspend() }
    do {
      if let refusal { throw refusal }
      if let range = request.range, size != range.first + range.count {
        throw Refusal(.badRequest, "Fewer bytes came than the request says.", offset: size)
      }
      if request.range?.isLast == false {
        try replaceEarlier()
        return Receipt(outcome: .incomplete, size: size)
      }
      return try archives.checking.withLock { try store() }
    } catch {
      let refusal = Refusal(error)
      self.refusal = refusal
      throw refusal
    }
  }

  private func store() throws -> Receipt {
    let checksum = ~(try file.checksumState(of: 0..<size))
    try checkSentChecksum(checksum)
    // A request that resumes an upload may have brought no bytes: then nothing was checked yet.
    try walk.advance(file, to: size)
    let recordCount = try check()
    guard let header = walk.first else { throw Refusal.corrupted([]) }
    let place = try ArchivePlace(header)
    let folder = try archives.openFolder(place)
    var receipt = Receipt(
      outcome: .stored, path: place.path, size: size, checksum: checksum, recordCount: recordCount)
    if let old = try Self.open(place.fileName, in: folder) {
      try replace(old, at: place, in: folder, &receipt)
    } else {
      try publish(place, nil, in: folder)
    }
    return receipt
  }

  private func checkSentChecksum(_ checksum: UInt32) throws(Refusal) {
    if let said = request.checksum, said != checksum {
      throw Refusal(
        .badRequest,
        "The archive is not stored, because its CRC32C is \(ArchiveChecksum.base64(checksum)), and "
          + "the request says \(ArchiveChecksum.base64(said)): it was damaged on its way. Send it "
          + "again.")
    }
  }

  /// Stores the archive in the place of the one that is stored, if it goes on where that one ended.
  private func replace(
    _ old: borrowing File, at place: ArchivePlace, in folder: borrowing Directory,
    _ receipt: inout Receipt
  ) throws {
    guard let outcome = try outcome(besides: old) else {
      throw Refusal(
        .conflict,
        "The archive is not stored, because another one of the same session and number is stored "
          + "as \(place.path), and they differ. The stored one stays.")
    }
    receipt.outcome = outcome
    if outcome == .unchanged {
      try archives.makeSafe(old, at: place.path)
      removeApart()
      archives.discard(name)
      isEnded = true
      receipt.size = try old.status().size
      receipt.checksum = ~(try old.checksumState(of: 0..<receipt.size))
      return
    }
    // This syncs the bytes before it takes the lock: that may take long, and others wait for the
    // lock.
    try file.sync()
    let lock = try Self.lock(folder)
    guard try folder.status(of: place.fileName)?.identity == old.status().identity else {
      throw Refusal(
        .serviceUnavailable,
        "The stored archive has just been changed or removed. Send the archive again.",
        retryAfter: 5)
    }
    // A pin also holds for the longer archive; a mark of an upload does not.
    var known = try ArchiveInfo.State(of: old, name: place.fileName, in: folder)
    (known.uploaded, known.receipt, known.lease) = (nil, nil, nil)
    try withExtendedLifetime(lock) { (_) in try publish(place, known, in: folder) }
  }

  /// Locks the folder of a stored archive: nobody notes anything about the archive, changes it, or
  /// deletes it while another one takes its place.
  private static func lock(_ folder: borrowing Directory) throws -> LockedFile {
    do throws(LogError) {
      return try DirectoryLock.acquire(on: folder, within: 10_000_000_000)
    } catch {
      if let error = error.cause as? SystemError { throw error }
      throw Refusal(
        .serviceUnavailable,
        "Another process is working on the archives of the host. Send the archive again later.",
        retryAfter: 60)
    }
  }

  private static func open(
    _ name: String, in folder: borrowing Directory
  ) throws(SystemError) -> File? {
    do throws(SystemError) { return try folder.openFile(name, .read) } catch  where error.isNotFound
    {
      return nil
    }
  }

  /// Returns what storing would do to an archive that is stored already; nil if it would destroy
  /// that archive.
  private func outcome(besides old: borrowing File) throws -> Receipt.Outcome? {
    let oldSize = try old.status().size
    let common = try file.commonPrefix(with: old, of: min(size, oldSize))
    if common == size { return .unchanged }
    return common == oldSize ? .extended : nil
  }

  /// Makes the archive appear under its name, whole, and safe from a power cut.
  ///
  /// - Parameter known: What is noted about the archive that this one replaces.
  private func publish(
    _ place: ArchivePlace, _ known: ArchiveInfo.State?, in folder: borrowing Directory
  ) throws {
    var state = try known ?? ArchiveInfo.State(of: file, name: place.fileName, in: folder)
    _ = state.set(client, for: ReceivedArchives.clientAttribute)
    try state.store(of: file, name: place.fileName, in: folder)
    try file.sync()
    let source = earlierSize == nil ? name : Self.apartName(name)
    try archives.uploads.rename(source, to: place.fileName, in: folder)
    if earlierSize != nil { try? archives.uploads.remove(name) }
    (earlierSize, isEnded) = (nil, true)
    archives.withUsage { usage in
      usage.unfinished[name] = nil
      usage.add(size, of: client)
    }
    try folder.sync()
  }

  /// Checks everything that can be checked in an archive.
  ///
  /// - Returns: How many records it has.
  private func check() throws(Refusal) -> Int {
    if let problem = walk.problem(atEnd: size) { throw .corrupted([problem]) }
    let files = LogFiles([.path(file.path)])
    // For an archive that is encrypted for others, the checksums are enough: whoever can read it
    // checks the rest.
    if let error = files.unreadableWithKeys.first {
      throw Refusal(.unprocessableContent, "The archive cannot be read: \(error.message)")
    }
    // A hostile archive has any number of frames that take long to check, and other clients wait.
    let corruption = files.corruptionOfArchives(atMost: Refusal.mostPlaces)
    if !corruption.isEmpty { throw .corrupted(corruption) }
    return files.inspect().reduce(0) { $0 + $1.recordCount }
  }
}

extension Refusal {
  /// Whether the bytes that came are wrong, so that nothing can follow them.
  fileprivate var isFinal: Bool {
    switch status {
    case .badRequest: offset == nil
    case .unprocessableContent, .contentTooLarge, .conflict: true
    default: false
    }
  }
}
