package import MMLogCrypto
package import MMLogFormat
package import MMLogSystem

/// The archives of a session, one after the other: begins one when there is something to write, and
/// the next when one has reached its size, its age or its time, or was taken away.
package final class ArchiveSeries {
  package struct Settings: Sendable {
    /// When an archive is closed.
    package var rotation: Rotation
    /// 0 (none) to 9.
    package var compressionLevel: Int
    /// Of records. What the build has.
    package var format: CompressionFormat
    /// For whom archives are encrypted; none: they are not.
    package var recipients: [Recipient]
    /// Whether frames are chained: see ``FrameChain``.
    package var isChained: Bool

    package init(
      rotation: Rotation, compressionLevel: Int, format: CompressionFormat = .zlib,
      recipients: [Recipient] = [], isChained: Bool = false
    ) {
      (self.recipients, self.isChained) = (recipients, isChained)
      self.rotation = rotation
      self.compressionLevel = compressionLevel
      self.format = format
    }

    /// Settings by which archives are closed at a size only; nil: never.
    package init(rotationSize: Int?, compressionLevel: Int) {
      self.init(
        rotation: Rotation(size: rotationSize, age: nil), compressionLevel: compressionLevel)
    }
  }

  /// Something that happened to an archive.
  package enum Event {
    case willClose(path: String, Rotation.Reason)
    case closed(path: String, Rotation.Reason)
    /// It was renamed, removed or replaced, or its directory was; or its descriptor was closed.
    case takenAway(path: String)
    /// It was made safe from a power cut, or that failed.
    case synced(failed: Bool)
    /// Archives are not begun where they were to be; they are elsewhere.
    case refused(LogError)
  }

  /// How the session's first archive is begun behind the last one that is there; nil: it has a file
  /// of its own.
  package var resumption: Resumption?
  /// Why archives may not go into a directory that has come in place of theirs; nil: they may.
  package var whyNotToMove: (borrowing Directory) throws(SystemError) -> LogError? = {
    (_) throws(SystemError) in nil
  }
  /// Whether it has been reported that archives may not.
  private var isMoveRefused = false
  /// Receives which archive that is before it is changed, to be noted in the ring.
  package var noteResumed: (ArchiveID) throws(SystemError) -> Void = {
    (_) throws(SystemError) in
  }
  private var directory: Directory
  private let identity: SessionIdentity
  /// When archives are closed may be changed between any two calls.
  package var settings: Settings
  /// What makes frames of the session's records. For one thread at a time, as the series; but it
  /// may be another thread.
  package let encoder: FrameEncoder
  private var current: ArchiveWriter?
  /// The ring's key slot, if records are appended as they stood in an encrypted ring.
  package var ringKeySlot: [UInt8] = []
  /// What the next archive is chained to: the last frame of the one before, if that is known.
  package var head = FrameHash.none
  /// Receives that when an archive is left, to be noted in the ring: a limit may delete the archive
  /// before a recovery begins the next.
  package var noteHead: (NotedHead) throws(SystemError) -> Void = { (_) throws(SystemError) in }
  private var timer: RotationTimer?
  /// The number of the newest archive.
  package private(set) var number: UInt32
  private var writtenLosses = LossLedger()
  /// Whether names were made in the directory that a power cut could still undo.
  private var hasUnsyncedNames: Bool
  /// Archives that were taken away, and could not be made safe from a power cut.
  private var unsynced: [ArchiveWriter] = []
  private var lastCheck: UInt64 = 0
  /// Receives each event.
  package var report: (Event) -> Void = { _ in }
  /// Called before anything is written; several times for what is written at once.
  package var willWrite: () -> Void = {}
  /// Receives the number of the newest archive, and how many frames it has, after each write to it;
  /// to be noted in the ring. A recovery goes on from that number, although a limit may have
  /// deleted the archive: readers, and whoever has archives handed on, take two of a number for
  /// copies of one. A reader misses the frames if the file was cut.
  package var note: (_ number: UInt32, _ frames: UInt32) throws(SystemError) -> Void = {
    (_, _) throws(SystemError) in
  }

  /// - Parameters:
  ///   - directory: Where the archives are.
  ///   - number: The number of the session's newest archive; 0 if it had none.
  ///   - current: That archive, if it is to be continued.
  package init(
    in directory: consuming Directory, _ identity: SessionIdentity, _ settings: Settings,
    number: UInt32 = 0, current: ArchiveWriter? = nil
  ) {
    self.directory = directory
    try? self.directory.noteIdentity()
    self.identity = identity
    self.settings = settings
    encoder = FrameEncoder(
      of: identity.session, compressionLevel: settings.compressionLevel, format: settings.format)
    self.number = number
    self.current = current
    timer = current.map { RotationTimer(created: $0.fileHeader.created, now: .now) }
    // A process that died may not have come to sync those it made.
    hasUnsyncedNames = number > 0
  }

  /// Whether the session has an archive.
  package var isEmpty: Bool { number == 0 }

  /// Encodes rows, and appends them; see ``append(_:dictionary:)``.
  @discardableResult
  package func append(
    _ rows: borrowing RowBuilder, dictionary: UnsafeRawBufferPointer, _ fields: FrameHeader
  ) throws(SystemError) -> Int {
    try append(encoder.encode(rows, dictionary: dictionary, fields), dictionary: dictionary)
  }

  /// Appends a frame of records to the current archive. To be followed by
  /// ``rotateIfDue(dictionary:)``, once it is noted that they are in it: were both one, a failure
  /// to close the archive would have them appended again.
  ///
  /// - Parameter dictionary: All entries of the session so far: at least those that ``encoder``
  ///   got.
  /// - Returns: How many bytes the archive grew by.
  @discardableResult
  package func append(
    _ frame: EncodedFrame, dictionary: UnsafeRawBufferPointer
  ) throws(SystemError) -> Int {
    try checkPlace(dictionary: dictionary)
    // Again, if it failed the last time.
    try rotateIfDue(dictionary: dictionary)
    return try append { (archive) throws(SystemError) in
      try archive.append(frame, dictionary: dictionary, ringKeySlot: ringKeySlot)
    }
  }

  /// Writes to the current archive, and notes how many frames it has then.
  ///
  /// - Returns: How many bytes the archive grew by.
  @discardableResult
  private func append(
    _ body: (ArchiveWriter) throws(SystemError) -> Void
  ) throws(SystemError) -> Int {
    try checkDescriptors()
    willWrite()
    let archive = try writer()
    let before = archive.end
    try body(archive)
    try note(number, archive.frameCount)
    return archive.end - before
  }

  /// Appends the losses if they have grown since they were written last.
  package func append(_ losses: LossLedger) throws(SystemError) {
    guard losses != writtenLosses else { return }
    try append { (archive) throws(SystemError) in try archive.append(losses) }
    writtenLosses = losses
  }

  /// Appends what the process died of.
  package func append(_ crash: CrashReport) throws(SystemError) {
    try append { (archive) throws(SystemError) in
      try archive.append(crash, ringKeySlot: ringKeySlot)
    }
  }

  /// Ends the session: says how in the last archive, and closes that.
  package func end(_ end: SessionEnd, dictionary: UnsafeRawBufferPointer) throws(SystemError) {
    try checkPlace(dictionary: dictionary)
    try append { (archive) throws(SystemError) in try archive.append(end) }
    try close(.end, dictionary: dictionary)
  }

  // MARK: - Rotation

  /// How many frames an archive has before it is closed, whatever its size: the index of twice as
  /// many would be a larger payload than is read.
  private static let maximumFrames = FrameLayout.largestPayload / IndexEntryLayout.size / 2

  /// Why the current archive is due to be closed, or nil if it is not.
  package func dueRotation() -> Rotation.Reason? {
    guard let current, !current.isEmpty else { return nil }
    if current.frameCount >= Self.maximumFrames { return .size }
    return timer?.reason(settings.rotation, size: current.end, now: .now)
  }

  /// Closes the current archive if it has its size, its age, or its time.
  package func rotateIfDue(dictionary: UnsafeRawBufferPointer) throws(SystemError) {
    if dueRotation() == nil { return }
    // Of an archive that was taken away meanwhile, something else is to be reported.
    try checkPlace(dictionary: dictionary)
    if let reason = dueRotation() { try close(reason, dictionary: dictionary) }
  }

  /// Closes the current archive if there is anything in it.
  ///
  /// - Returns: The archive; nil if there was none.
  @discardableResult
  package func rotate(
    dictionary: UnsafeRawBufferPointer
  ) throws(SystemError) -> ArchiveInfo? {
    try checkPlace(dictionary: dictionary)
    guard let current, !current.isEmpty else { return nil }
    try close(.request, dictionary: dictionary)
    return current.info
  }

  /// Closes the current archive, if there is one.
  package func close(
    _ reason: Rotation.Reason = .end, dictionary: UnsafeRawBufferPointer
  ) throws(SystemError) {
    try checkDescriptors()
    guard let closing = current else { return }
    if !closing.isComplete { report(.willClose(path: closing.path, reason)) }
    // It may be deleted as soon as it has its trailer, by a limit of another process.
    try note(number, closing.frameCount | SessionStateLayout.mayBeSealed)
    try leavingCorrupted { (archive) throws(SystemError) in
      try archive.close(dictionary: dictionary)
    }
    try note(number, SessionStateLayout.allFrames)
    leave(closing)
    // It is complete, and is not closed again, though its name may not be safe yet.
    defer { report(.closed(path: closing.path, reason)) }
    try syncNames()
    TestPoint.reach(.archiveClosed)
  }

  /// Makes everything that was written safe from a power cut.
  package func sync() throws(SystemError) {
    try checkDescriptors()
    while let left = unsynced.last {
      willWrite()
      // Of one that the disk has lost a part of, no other try makes more safe.
      defer { if left.isCorrupted { unsynced.removeLast() } }
      try left.sync()
      unsynced.removeLast()
    }
    try leavingCorrupted { (archive) throws(SystemError) in try archive.sync() }
    try syncNames()
  }

  /// Does something with the current archive that ends with a sync, and leaves that as it is if the
  /// disk turns out to have lost a part of it: what is readable will be read, and what comes now
  /// goes into another.
  private func leavingCorrupted(
    _ body: (ArchiveWriter) throws(SystemError) -> Void
  ) throws(SystemError) {
    guard let archive = current else { return }
    willWrite()
    do throws(SystemError) {
      try body(archive)
      report(.synced(failed: false))
    } catch {
      if error.call == .fdatasync { report(.synced(failed: true)) }
      if archive.isCorrupted { leave(archive) }
      throw error
    }
  }

  /// Goes on with another archive, chained to this one.
  private func leave(_ archive: ArchiveWriter) {
    head = archive.head?.hash ?? .none
    // Where that fails, a recovery that does not find the archive begins a new chain.
    if settings.isChained { try? noteHead(NotedHead(archive: number, head)) }
    current = nil
  }

  /// Has the next thing that is done check where the directory's path leads now, however short ago
  /// that was inspected.
  package func expectMove() { lastCheck = 0 }

  private func syncNames() throws(SystemError) {
    guard hasUnsyncedNames else { return }
    willWrite()
    try directory.sync()
    hasUnsyncedNames = false
  }

  private func writer() throws(SystemError) -> ArchiveWriter {
    if let current {
      if !current.isComplete { return current }
      // All that is left to do is what failed before: to make it safe.
      try close(dictionary: UnsafeRawBufferPointer(start: nil, count: 0))
    }
    let fileHeader = ArchiveHeader(
      identity: identity, number: number + 1, created: .now,
      previousHead: settings.isChained ? head : nil)
    let writer: ArchiveWriter
    if let resumed = try resumed(fileHeader) {
      writer = resumed
    } else {
      writer = try ArchiveWriter(
        in: directory, fileHeader, compressionLevel: settings.compressionLevel,
        recipients: settings.recipients)
    }
    number += 1
    current = writer
    timer = RotationTimer(created: writer.created, now: .now)
    hasUnsyncedNames = true
    return writer
  }

  private func resumed(_ fileHeader: ArchiveHeader) throws(SystemError) -> ArchiveWriter? {
    guard number == 0, let resumption else { return nil }
    do throws(SystemError) {
      return try resumption.begin(fileHeader, in: directory, settings, note: noteResumed)
    } catch  where error.isRefusal {
      // The file is another user's. That is said once, though the new archive may fail, too.
      self.resumption = nil
      report(
        .refused(
          LogError(error, while: "Going on with the last archive failed, so a new one is begun")))
      return nil
    }
  }

  // MARK: - Outside hands

  /// How long a directory may be another one before it is noticed, in nanoseconds.
  private static let checkInterval: UInt64 = 500_000_000

  /// Goes on in a new archive if the current one was renamed, removed, replaced or cut, and in a
  /// new directory if that was.
  ///
  /// What is left of the old one is completed where it is.
  private func checkPlace(dictionary: UnsafeRawBufferPointer) throws(SystemError) {
    let now = Clock.monotonic()
    if now &- lastCheck >= Self.checkInterval || !directory.isStillOpen {
      lastCheck = now
      if try !isDirectoryInPlace(), try moveToNewDirectory(dictionary: dictionary) { return }
    }
    guard let current else { return }
    switch try current.place(in: directory) {
    case .unchanged: break
    case .elsewhere: leave(current, isWhole: true, dictionary)
    case .gone: leave(current, isWhole: false, dictionary)
    }
  }

  private func leave(
    _ archive: ArchiveWriter, isWhole: Bool, _ dictionary: UnsafeRawBufferPointer
  ) {
    willWrite()
    // Whoever took it away need not let us complete it.
    try? note(number, 0)
    if isWhole {
      report(.willClose(path: archive.path, .interference))
      do throws(SystemError) { try archive.close(dictionary: dictionary) } catch {
        // It has records that nobody else has: whoever asks for a sync is to know of them.
        unsynced.append(archive)
      }
    } else if !archive.isStillOpen {
      // Its name still leads to what was written.
      unsynced.append(archive)
    }
    leave(archive)
    report(.takenAway(path: archive.path))
  }

  /// Goes on in a new archive if the program has closed descriptors that it did not open. Their
  /// numbers may be those of other files by now, which must not be written to.
  private func checkDescriptors() throws(SystemError) {
    if directory.isStillOpen, current?.isStillOpen != false { return }
    // What is left is not completed, and needs no dictionary.
    try checkPlace(dictionary: UnsafeRawBufferPointer(start: nil, count: 0))
  }

  private func isDirectoryInPlace() throws(SystemError) -> Bool {
    do throws(SystemError) {
      let there = try Directory.open(directory.path).status(of: ".")
      if !directory.isStillOpen { return false }
      return try there?.identity == directory.status().identity
    } catch  where error.isNotFound {
      return false
    } catch  where error.isOutOfDescriptors {
      // Nothing is known. It is asked again the next time.
      return true
    }
  }

  /// - Returns: False if the new one is not to be used. What is written then goes into the old one,
  ///   wherever that is.
  private func moveToNewDirectory(
    dictionary: UnsafeRawBufferPointer
  ) throws(SystemError) -> Bool {
    willWrite()
    let newFiles = directory.newFiles
    try Directory.create(directory.path, newFiles: newFiles)
    var new = try Directory.open(directory.path, newFiles: newFiles)
    try new.noteIdentity()
    if let problem = try whyNotToMove(new) {
      if !isMoveRefused { report(.refused(problem)) }
      isMoveRefused = true
      return false
    }
    isMoveRefused = false
    if let current {
      let isWhole = (try? current.place(in: directory)) == .unchanged
      leave(current, isWhole: isWhole, dictionary)
    } else {
      report(.takenAway(path: directory.path))
    }
    // Of the old one, the names; it may be gone.
    if hasUnsyncedNames { try? directory.sync() }
    directory = new
    hasUnsyncedNames = false
    return true
  }
}
