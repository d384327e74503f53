package import MMLogCrypto
package import MMLogFormat
package import MMLogSystem

/// What a session notes of its archives for its recovery: in its ring.
package protocol SessionNotes: AnyObject {
  /// Notes behind which archive the session's first archive begins, before its file is changed.
  func noteResumed(_ archive: ArchiveID) throws(SystemError)
  /// Notes the number of the newest archive, and how many frames it has, after each write to it. A
  /// recovery goes on from that number, even if a limit has deleted the archive: readers, and those
  /// who receive archives, take two archives with one number for copies. By the number of frames, a
  /// reader notices that a file was cut.
  func noteArchive(_ number: UInt32, frames: UInt32) throws(SystemError)
  /// Notes what the session's next archive is chained to, when an archive is left: a limit may
  /// delete the archive before a recovery begins the next.
  func note(_ head: NotedHead) throws(SystemError)
}

/// Writes the archives of a session, one after the other. Begins an archive when there is something
/// to write, and the next one when that has reached its size, its age or its time, or was taken
/// away.
package final class ArchiveSeries {
  package struct Settings: Sendable {
    /// When an archive is closed.
    package var rotation: Rotation
    /// 0 (none) to 9.
    package var compressionLevel: Int
    /// The compression of records. The build must have it.
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
    /// A sync made it safe from a power cut, or failed.
    case synced(failed: Bool)
    /// It cannot be made safe from a power cut, and that is not tried any more.
    case unsafe(LogError)
    /// Archives are not begun where they should be, but elsewhere.
    case refused(LogError)
  }

  /// How the session's first archive is begun behind the last one that is there; nil: it has a file
  /// of its own.
  package var resumption: Resumption?
  /// Why archives may not go into a directory that has replaced theirs; nil: they may.
  package var whyNotToMove: (borrowing Directory) throws(SystemError) -> LogError? = {
    (_) throws(SystemError) in nil
  }
  /// Whether it has been reported that archives may not move.
  private var isMoveRefused = false
  /// Where to note what a recovery has to know; nil: nowhere.
  package var notes: (any SessionNotes)?
  private var directory: Directory
  private let identity: SessionIdentity
  /// The rotation may be changed between any two calls.
  package var settings: Settings
  /// Makes frames of the session's records. For one thread at a time, like the series, but that may
  /// be another thread.
  package let encoder: FrameEncoder
  private var current: ArchiveWriter?
  /// The ring's key slot, if records are appended as they stood in an encrypted ring.
  package var ringKeySlot: [UInt8] = []
  /// What the next archive is chained to: the last frame of the one before, if that is known.
  package var head = FrameHash.none
  private var timer: RotationTimer?
  /// The number of the newest archive.
  package private(set) var number: UInt32
  private var writtenLosses = LossLedger()
  /// Whether names were made in the directory that a power cut could still undo.
  private var hasUnsyncedNames: Bool
  /// Archives that were left before they were safe from a power cut, the oldest first.
  private var unsynced: [LeftArchive] = []
  /// The maximum number of such archives: each is an open file.
  private static let maximumLeft = 8
  /// How long it is tried to make such an archive safe, in nanoseconds. Meanwhile it is open.
  package var patience: UInt64 = 60_000_000_000
  private var lastCheck: UInt64 = 0
  /// Receives each event.
  package var report: (Event) -> Void = { _ in }
  /// Called before anything is written; several times for what is written at once.
  package var willWrite: () -> Void = {}

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
    // A process that died may not have synced the names that it made.
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

  /// Appends a frame of records to the current archive. The caller notes that the records are in
  /// it, and then calls ``rotateIfDue(dictionary:)``. If this were one call, the caller would
  /// append the records again after a failure to close the archive.
  ///
  /// - Parameter dictionary: All entries of the session so far: at least those that ``encoder``
  ///   got.
  /// - Returns: How many bytes the archive grew by.
  @discardableResult
  package func append(
    _ frame: EncodedFrame, dictionary: UnsafeRawBufferPointer
  ) throws(SystemError) -> Int {
    try checkPlace(dictionary: dictionary)
    // Rotates again, if that failed the last time.
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
    try notes?.noteArchive(number, frames: archive.frameCount)
    return archive.end - before
  }

  /// Appends the losses if they have grown since they were written last.
  package func append(_ losses: LossLedger) throws(SystemError) {
    guard losses != writtenLosses else { return }
    try append { (archive) throws(SystemError) in try archive.append(losses) }
    writtenLosses = losses
  }

  /// Appends the report of the crash that the process died of.
  package func append(_ crash: CrashReport) throws(SystemError) {
    try append { (archive) throws(SystemError) in
      try archive.append(crash, ringKeySlot: ringKeySlot)
    }
  }

  /// Ends the session: appends how it ended to the last archive, and closes the archive.
  package func end(_ end: SessionEnd, dictionary: UnsafeRawBufferPointer) throws(SystemError) {
    try checkPlace(dictionary: dictionary)
    try append { (archive) throws(SystemError) in try archive.append(end) }
    try close(.end, dictionary: dictionary)
    try syncLeft()
  }

  // MARK: - Rotation

  /// The number of frames with which an archive is closed, whatever its size: the index of twice as
  /// many would be a larger payload than readers accept.
  private static let maximumFrames = FrameLayout.largestPayload / IndexEntryLayout.size / 2

  /// The number of syncs that may fail in a row before an archive is closed. With the pauses of the
  /// drainer, that takes some seconds.
  private static let maximumFailedSyncs = 8

  /// Why the current archive is due to be closed, or nil if it is not.
  package func dueRotation() -> Rotation.Reason? {
    guard let current, !current.isEmpty else { return nil }
    // Each sync that fails is a failed pass. Another archive may be on a sound part of the disk,
    // unless that was tried just before.
    if current.failedSyncs >= Self.maximumFailedSyncs, unsynced.isEmpty { return .interference }
    if current.frameCount >= Self.maximumFrames { return .size }
    // The next archive would repeat the dictionary, so one with little else goes on.
    let size = current.isMostlyDictionary ? 0 : current.end
    return timer?.reason(settings.rotation, size: size, now: .now)
  }

  /// Closes the current archive if it has reached its size, its age, or its time.
  package func rotateIfDue(dictionary: UnsafeRawBufferPointer) throws(SystemError) {
    if dueRotation() == nil { return }
    // If the archive was taken away meanwhile, that is to be reported instead.
    try checkPlace(dictionary: dictionary)
    if let reason = dueRotation() { try close(reason, dictionary: dictionary) }
  }

  /// Closes the current archive if there is anything in it.
  ///
  /// - Returns: The archive; nil if there was none.
  package func rotate(
    dictionary: UnsafeRawBufferPointer
  ) throws(SystemError) -> ArchiveInfo? {
    try checkPlace(dictionary: dictionary)
    guard let current, !current.isEmpty else { return nil }
    try close(.request, dictionary: dictionary)
    return current.info
  }

  /// Closes the current archive, if there is one. If the archive has its trailer, and only its sync
  /// has failed, the archive is left: ``syncLeft()`` tries again, and new records go into another
  /// archive.
  package func close(
    _ reason: Rotation.Reason = .end, dictionary: UnsafeRawBufferPointer
  ) throws(SystemError) {
    try checkDescriptors()
    guard let closing = current else { return }
    if !closing.isComplete { report(.willClose(path: closing.path, reason)) }
    // A limit of another process may delete the archive as soon as that has its trailer.
    try notes?.noteArchive(number, frames: closing.frameCount | SessionStateLayout.mayBeSealed)
    try syncing(reason) { (archive) throws(SystemError) in
      try archive.close(dictionary: dictionary)
    }
    try notes?.noteArchive(number, frames: SessionStateLayout.allFrames)
    leave(closing)
    // The archive is complete, and is not closed again, though its name may not be safe yet.
    defer { report(.closed(path: closing.path, reason)) }
    try syncNames()
    TestPoint.reach(.archiveClosed)
  }

  /// Makes everything that was written safe from a power cut.
  package func sync() throws(SystemError) {
    try syncCurrent()
    try syncLeft()
  }

  /// Makes the current archive, and the names of all, safe from a power cut.
  package func syncCurrent() throws(SystemError) {
    try checkDescriptors()
    try syncing { (archive) throws(SystemError) in try archive.sync() }
    try syncNames()
  }

  /// Whether archives were left before they were safe from a power cut.
  package var hasLeft: Bool { !unsynced.isEmpty }

  /// Tries to make the archives safe from a power cut that were left before they were. Gives up
  /// those that the disk has lost a part of, because another try makes nothing safer, and those
  /// that were left long ago.
  ///
  /// - Throws: the first failure, after a try for each archive.
  package func syncLeft() throws(SystemError) {
    var failure: SystemError?
    for left in unsynced {
      willWrite()
      do throws(SystemError) {
        try left.archive.sync()
        report(.synced(failed: false))
        drop(left)
      } catch {
        if error.call == .fdatasync { report(.synced(failed: true)) }
        failure = failure ?? error
        if !left.archive.isCorrupted && Clock.monotonic() &- left.since < patience { continue }
        reportUnsafe(error)
        drop(left)
      }
    }
    if let failure { throw failure }
  }

  /// Keeps an archive that is left until it is safe from a power cut. If there are too many, gives
  /// up the oldest.
  private func keep(
    _ archive: ArchiveWriter, _ reason: Rotation.Reason?, _ error: SystemError
  ) {
    if unsynced.count == Self.maximumLeft, let oldest = unsynced.first {
      reportUnsafe(oldest.error)
      drop(oldest)
    }
    unsynced.append(LeftArchive(archive: archive, reason: reason, error: error))
  }

  private func drop(_ left: LeftArchive) {
    unsynced.removeAll { $0.archive === left.archive }
    if let reason = left.reason { report(.closed(path: left.archive.path, reason)) }
  }

  private func reportUnsafe(_ error: SystemError) {
    report(
      .unsafe(
        LogError(
          error,
          while: "Making an archive safe from a power cut failed, and is not tried any more; "
            + "newer records go into other archives")))
  }

  /// Runs `body`, which ends with a sync, on the current archive. Leaves the archive as it is if
  /// the disk turns out to have lost a part of it, and if only the sync of a complete archive has
  /// failed. Readers read what is readable, and new records go into another archive: one that
  /// cannot be synced must not stop all.
  ///
  /// - Parameter reason: Why `body` closes the archive; nil if it does not.
  private func syncing(
    _ reason: Rotation.Reason? = nil, _ body: (ArchiveWriter) throws(SystemError) -> Void
  ) throws(SystemError) {
    guard let archive = current else { return }
    willWrite()
    do throws(SystemError) {
      try body(archive)
      report(.synced(failed: false))
    } catch {
      if error.call == .fdatasync { report(.synced(failed: true)) }
      if archive.isCorrupted {
        reportUnsafe(error)
        leave(archive)
      } else if archive.isComplete {
        keep(archive, reason, error)
        leave(archive)
      }
      throw error
    }
  }

  /// Leaves an archive: the next one is chained to it.
  private func leave(_ archive: ArchiveWriter) {
    head = archive.head?.hash ?? .none
    // If that fails, a recovery that does not find the archive begins a new chain.
    if settings.isChained { try? notes?.note(NotedHead(archive: number, head)) }
    current = nil
  }

  /// Makes the next operation check where the directory's path leads, even if that was checked a
  /// moment ago.
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
      // The archive is complete. Only what failed before is left to do: to note that.
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
      return try resumption.begin(fileHeader, in: directory, settings, notes)
    } catch  where error.isRefusal {
      // The file is another user's. That is reported once, even if the new archive fails, too.
      self.resumption = nil
      report(
        .refused(
          LogError(error, while: "Going on with the last archive failed, so a new one is begun")))
      return nil
    }
  }

  // MARK: - When others change the files

  /// How long it may take to notice that the directory was replaced, in nanoseconds.
  private static let checkInterval: UInt64 = 500_000_000

  /// Goes on in a new archive if the current one was renamed, removed, replaced or cut, and in a
  /// new directory if the directory was.
  ///
  /// What is left of the old archive is completed where it is.
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
    case .gone: leaveClosed(current, dictionary)
    }
  }

  /// Leaves an archive whose descriptor the program may have closed: then the archive is still in
  /// its place, and is closed there.
  private func leaveClosed(_ archive: ArchiveWriter, _ dictionary: UnsafeRawBufferPointer) {
    let isInPlace = archive.reopen()
    leave(archive, isWhole: isInPlace, reason: isInPlace ? .interference : nil, dictionary)
  }

  /// - Parameter reason: Why it is closed, if it is still in its place.
  private func leave(
    _ archive: ArchiveWriter, isWhole: Bool, reason: Rotation.Reason? = nil,
    _ dictionary: UnsafeRawBufferPointer
  ) {
    willWrite()
    // Whoever took the archive away may not let us complete it.
    try? notes?.noteArchive(number, frames: 0)
    if isWhole {
      report(.willClose(path: archive.path, .interference))
      do throws(SystemError) {
        try archive.close(dictionary: dictionary)
        if let reason { report(.closed(path: archive.path, reason)) }
      } catch {
        // The archive has records that are nowhere else: a sync has to make them safe, or to fail.
        keep(archive, reason, error)
      }
    } else if !archive.isStillOpen {
      // Its name still leads to what was written.
      keep(archive, nil, .closed(archive.path))
    }
    leave(archive)
    report(.takenAway(path: archive.path))
  }

  /// Goes on in a new archive if the program has closed descriptors that it did not open. Their
  /// numbers may be those of other files by now, which must not be written to.
  private func checkDescriptors() throws(SystemError) {
    if directory.isStillOpen, current?.isStillOpen != false { return }
    // An archive that is closed here lacks the dictionary at its end.
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
      // Nothing is known: the next call checks again.
      return true
    }
  }

  /// - Returns: False if the new directory is not to be used. Records then go into the old one,
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
      if (try? current.place(in: directory)) == .unchanged {
        leave(current, isWhole: true, dictionary)
      } else {
        leaveClosed(current, dictionary)
      }
    } else {
      report(.takenAway(path: directory.path))
    }
    // Syncs the names in the old directory, which may be gone.
    if hasUnsyncedNames { try? directory.sync() }
    directory = new
    hasUnsyncedNames = false
    return true
  }
}

/// An archive that was left before it was safe from a power cut. A sync has to make it safe, or to
/// fail.
private struct LeftArchive {
  let archive: ArchiveWriter
  /// Why it was closed; nil if it was taken away.
  let reason: Rotation.Reason?
  /// Why it was not safe when it was left.
  let error: SystemError
  let since = Clock.monotonic()
}
