public import MMLogStorage
import MMLogSystem

/// Closing archives, and handing them on.
///
/// Everything here may be called from any thread, also by an observer, and works with files: not
/// for where time matters.
extension LogStore {
  // MARK: - Settings

  /// What of a store's ``Configuration`` can be changed while the store is open.
  public typealias Settings = StoreSettings

  /// The settings as they are now. The store's directory has them, too, for tools: those that were
  /// set last by a process that logs into it.
  public var settings: Settings { core.settings.withLock { $0 } }

  /// Changes settings, all or none of them. They count at once, ``StoreSettings/rotation`` also for
  /// the archive being written.
  ///
  /// ```swift
  /// try store.update { $0.retention.age = .seconds(30 * 86400) }
  /// ```
  ///
  /// - Parameter change: Changes the present settings. Called once, under a lock: it must not use
  ///   the store, nor log.
  /// - Throws: ``LogError`` if a limit is out of its range; nothing is changed then.
  public func update(_ change: (inout Settings) -> Void) throws(LogError) {
    try core.changeSettings(change)
  }

  // MARK: - Rotation

  /// Closes the archive being written, after moving all records into it. Blocks the thread;
  /// asynchronous code has a form that it awaits.
  ///
  /// - Parameter limit: How long to wait at most; the archive is closed afterwards all the same.
  ///   Default: 30 seconds.
  /// - Returns: The archive, or nil if nothing was written since the last one was closed.
  /// - Throws: ``LogError`` if it cannot be written, or the store is closed; `timedOut`. What is
  ///   not in the archive is left in the ring.
  @discardableResult
  public func rotate(within limit: Duration = .seconds(30)) throws(LogError) -> ArchiveInfo? {
    guard let open = try core.begunSession() else { return nil }
    let answer = RotationRequests.Answer()
    open.drainer.rotate(answer)
    guard let result = answer.wait(atMost: limit.nanoseconds) else {
      throw LogError(.timedOut, "Closing the archive took longer than allowed")
    }
    return try result.get()
  }

  /// Closes the archive being written, after moving all records into it. Another thread is blocked
  /// meanwhile, which a cancellation of the task does not end.
  ///
  /// - Parameter limit: How long to wait at most; the archive is closed afterwards all the same.
  ///   Default: 30 seconds.
  /// - Returns: The archive, or nil if nothing was written since the last one was closed.
  /// - Throws: ``LogError`` if it cannot be written, or the store is closed; `timedOut`. What is
  ///   not in the archive is left in the ring.
  @discardableResult
  public func rotate(within limit: Duration = .seconds(30)) async throws(LogError) -> ArchiveInfo? {
    try await onOwnThread { [self] () throws(LogError) in try rotate(within: limit) }
  }

  /// Makes every store of the process close its archive and go on in a new one within a second, by
  /// path: what has that path then. For a handler of `SIGHUP`, from programs that rename logs.
  /// Async-signal-safe.
  public static func reopenAll() { ProcessRequests.reopen() }

  // MARK: - Retention

  /// Applies the limits of ``StoreSettings/retention`` now, and waits until that is done. Otherwise
  /// they are applied when an archive is closed, and each minute. Blocks the thread; asynchronous
  /// code has a form that it awaits.
  ///
  /// - Parameter limit: How long to wait at most. Default: 30 seconds.
  /// - Throws: ``LogError``: what kept archives from being inspected, `timedOut`, or that the store
  ///   is closed. An archive that cannot be deleted is reported by an event.
  public func applyRetention(within limit: Duration = .seconds(30)) throws(LogError) {
    try core.begunMaintenance()?.apply(within: limit.nanoseconds)
  }

  /// Applies the limits of ``StoreSettings/retention`` now. Another thread is blocked meanwhile.
  ///
  /// - Parameter limit: How long to wait at most. Default: 30 seconds.
  /// - Throws: ``LogError``: what kept archives from being inspected, `timedOut`, or that the store
  ///   is closed. An archive that cannot be deleted is reported by an event.
  public func applyRetention(within limit: Duration = .seconds(30)) async throws(LogError) {
    try await onOwnThread { [self] () throws(LogError) in try applyRetention(within: limit) }
  }

  // MARK: - The catalog

  /// All archives of this store's name in its directory, of all processes, the oldest first.
  ///
  /// - Throws: ``LogError`` if the directory cannot be read. Archives that vanish meanwhile are
  ///   left out, and so are those that cannot be read, which an event reports.
  /// - Complexity: one system call for each archive that was seen before, some ten for each new
  ///   one.
  public func archives() throws(LogError) -> [ArchiveInfo] { try core.maintenance.archives() }

  /// The sealed archives that are not uploaded, the oldest first.
  ///
  /// - Throws: ``LogError`` as ``archives()`` does.
  public func needingUpload() throws(LogError) -> [ArchiveInfo] {
    try archives().filter { $0.isSealed && !$0.state.isUploaded }
  }

  /// The archives that are uploaded, the oldest first.
  ///
  /// - Throws: ``LogError`` as ``archives()`` does.
  public func uploaded() throws(LogError) -> [ArchiveInfo] {
    try archives().filter { $0.state.isUploaded }
  }

  /// The space that sealed archives take that are not uploaded, in bytes, when the store last
  /// scanned: each minute, when an archive is closed, and at each change through this object. Costs
  /// nothing, and waits for nobody.
  public var pendingBytes: Int { core.catalog.totals.pending }

  /// The space that archives take that are uploaded, in bytes; as ``pendingBytes``.
  public var uploadedBytes: Int { core.catalog.totals.uploaded }

  // MARK: - Uploading

  /// Takes a lease on an archive, so that no other uploader, in any process, sends it meanwhile.
  /// ``pendingArchives`` does so by itself.
  ///
  /// - Parameters:
  ///   - archive: The archive, as it was listed.
  ///   - owner: Distinguishes uploaders. Who has the lease already renews it.
  ///   - duration: How long it lasts, a day at most. If the uploader dies, others can have the
  ///     archive then.
  /// - Returns: The lease; nil if another uploader has one, the archive is uploaded, or it is not
  ///   what it was: some process goes on with it (see ``Configuration/resumeLastArchive``).
  /// - Throws: ``LogError``: `missingArchive`, or what the system refuses.
  public func acquireLease(
    on archive: ArchiveInfo, by owner: String, for duration: Duration
  ) throws(LogError) -> UploadLease? {
    try core.catalog.acquireLease(on: archive, by: owner, for: duration)
  }

  /// Gives a lease back before its end; does nothing if it has passed to another.
  ///
  /// Blocks the thread while another process works on the directory, ten seconds at most.
  ///
  /// - Throws: ``LogError``: `missingArchive`; `timedOut`; or what the system refuses.
  public func release(_ lease: UploadLease, on archive: ArchiveInfo) throws(LogError) {
    try core.catalog.release(lease, on: archive)
  }

  /// Marks an archive as uploaded: it is the first to be deleted when a limit asks for it. Ends
  /// every lease on it.
  ///
  /// - Parameters:
  ///   - archive: The archive, as it was listed.
  ///   - receipt: What the receiver gave for it, such as an object's version. It is kept with the
  ///     mark, in `ArchiveInfo.State.receipt`. At most 512 bytes without control characters.
  ///     Nil, the default: none; one that was noted before stays.
  /// - Throws: ``LogError``: `missingArchive`; `changedArchive` if some process has gone on with it
  ///   since it was listed, so that what was sent is not all of it; `invalidAttribute` for a
  ///   receipt that cannot be kept; or what the system refuses.
  public func markUploaded(_ archive: ArchiveInfo, receipt: String? = nil) throws(LogError) {
    try core.catalog.markUploaded(archive, receipt: receipt)
  }

  /// Takes the mark away again, and its receipt.
  ///
  /// Blocks the thread while another process works on the directory, ten seconds at most.
  ///
  /// - Throws: ``LogError``: `missingArchive`; `timedOut`; or what the system refuses.
  public func unmarkUploaded(_ archive: ArchiveInfo) throws(LogError) {
    try core.catalog.unmarkUploaded(archive)
  }

  // MARK: - Attributes

  /// Notes a text on an archive, for all processes and later starts: it is in
  /// `ArchiveInfo.State.attributes` wherever the archive is listed. Kept as uploaded, pinned and
  /// leased are: in an extended attribute of the file, fsetxattr(2), or beside it; and synced.
  ///
  /// ```swift
  /// try store.setAttribute("OPS-17", for: "ticket", on: archive)
  /// ```
  ///
  /// Blocks the thread while another process works on the directory, ten seconds at most.
  ///
  /// - Parameters:
  ///   - value: At most 512 bytes without control characters; nil removes the attribute.
  ///   - key: 1 to 64 letters of ASCII, digits, dots, hyphens and underscores.
  ///   - archive: The archive. It may have changed since it was listed.
  /// - Throws: ``LogError``: `invalidAttribute` if the key or the value is not as it has to be, or
  ///   keys and values take more than 1024 bytes together, with two for each attribute;
  ///   `missingArchive`; `timedOut`; or what the system refuses. Nothing is noted then.
  public func setAttribute(
    _ value: String?, for key: String, on archive: ArchiveInfo
  ) throws(LogError) {
    try core.catalog.setAttribute(value, for: key, on: archive)
  }

  // MARK: - Keeping and removing

  /// Keeps an archive from being deleted by any limit, and by ``removeAll()``, until it is
  /// unpinned.
  ///
  /// - Parameters:
  ///   - archive: The archive.
  ///   - reason: For whoever wonders later; kept in one line.
  /// - Throws: ``LogError``: `missingArchive`; `timedOut`; or what the system refuses.
  public func pin(_ archive: ArchiveInfo, because reason: String = "") throws(LogError) {
    let reason = ArchiveInfo.State.line(reason)
    try core.catalog.change(archive.fileName) { $0.pinned = reason }
  }

  /// Ends a pin.
  ///
  /// Blocks the thread while another process works on the directory, ten seconds at most.
  ///
  /// - Throws: ``LogError``: `missingArchive`; `timedOut`; or what the system refuses.
  public func unpin(_ archive: ArchiveInfo) throws(LogError) {
    try core.catalog.change(archive.fileName) { $0.pinned = nil }
  }

  /// Deletes one archive, whether or not it is uploaded: renames it into the trash, then unlinks
  /// it. ``Event/deleted(archive:rule:)`` reports it, with the rule `request`.
  ///
  /// Blocks the thread while another process works on the directory, ten seconds at most.
  ///
  /// - Parameter archive: The archive, as it was listed.
  /// - Throws: ``LogError``: `archiveInUse` if it is being written, pinned or leased, or the
  ///   recovery of a process that died still needs it; `changedArchive` if it is not what it was
  ///   when it was listed; `missingArchive`; `timedOut`; or what the system refuses. The archive is
  ///   there then, unless it was missing.
  /// - Complexity: O(rings in the directory), and some twenty system calls.
  public func remove(_ archive: ArchiveInfo) throws(LogError) {
    try core.maintenance.remove(archive)
  }

  /// Deletes those of these archives that still are uploaded, and are not pinned. Those of a
  /// session that still is to be recovered stay until it is.
  ///
  /// - Returns: Those that were deleted.
  @discardableResult
  public func removeUploaded(_ archives: [ArchiveInfo]) throws(LogError) -> [ArchiveInfo] {
    try core.maintenance.remove(archives) { $0.state.isUploaded && !$0.state.isPinned }
  }

  /// Deletes all archives of this store's name in its directory, but those that are pinned, those
  /// that are being written, and those of a session that still is to be recovered.
  ///
  /// - Returns: Those that were deleted.
  @discardableResult
  public func removeAll() throws(LogError) -> [ArchiveInfo] {
    try core.maintenance.remove(archives()) { $0.isSealed && !$0.state.isPinned }
  }
}
