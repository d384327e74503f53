public import MMLogStorage
import MMLogSystem

/// Closing archives, and passing them on.
///
/// All of these may be called from any thread, also by an observer. They work with files: do not
/// call them where time matters.
extension LogStore {
  // MARK: - Settings

  /// The parts of a store's ``Configuration`` that can be changed while the store is open.
  public typealias Settings = StoreSettings

  /// The settings as they are now. For tools, the store's directory has the settings, too: those
  /// that a process which logs into the directory has set last.
  public var settings: Settings { core.settings.withLock { $0 } }

  /// Changes settings, all or none of them. The new settings count at once;
  /// ``StoreSettings/rotation`` counts also for the archive being written.
  ///
  /// ```swift
  /// try store.update { $0.retention.age = .seconds(30 * 86400) }
  /// ```
  ///
  /// - Parameter change: Changes the present settings. Called once, under a lock: it must not use
  ///   the store or log.
  /// - Throws: ``LogError`` if a limit is out of its range; nothing is changed then.
  public func update(_ change: (inout Settings) -> Void) throws(LogError) {
    try core.changeSettings(change)
  }

  // MARK: - Rotation

  /// Closes the archive being written, after moving all records into it. Blocks the thread;
  /// asynchronous code can await another form.
  ///
  /// - Parameter limit: How long to wait at most. When the time is over, the archive is still
  ///   closed, but later. Default: 30 seconds.
  /// - Returns: The archive, or nil if nothing was written since the last archive was closed.
  /// - Throws: ``LogError`` if the archive cannot be written, or the store is closed; `timedOut`.
  ///   Records that are not in the archive stay in the ring.
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

  /// Closes the archive being written, after moving all records into it. Meanwhile another thread
  /// is blocked. Canceling the task does not end that.
  ///
  /// - Parameter limit: How long to wait at most. When the time is over, the archive is still
  ///   closed, but later. Default: 30 seconds.
  /// - Returns: The archive, or nil if nothing was written since the last archive was closed.
  /// - Throws: ``LogError`` if the archive cannot be written, or the store is closed; `timedOut`.
  ///   Records that are not in the archive stay in the ring.
  @discardableResult
  public func rotate(within limit: Duration = .seconds(30)) async throws(LogError) -> ArchiveInfo? {
    try await onOwnThread { [self] () throws(LogError) in try rotate(within: limit) }
  }

  /// Makes every store of the process close its archive within a second and go on in a new one, in
  /// the directory that then has the store's path. For a handler of `SIGHUP`, which programs that
  /// rename logs send. Async-signal-safe.
  public static func reopenAll() { ProcessRequests.reopen() }

  // MARK: - Retention

  /// Applies the limits of ``StoreSettings/retention`` now, and waits until that is done. Without
  /// this call, the store applies them when an archive is closed, and each minute. Blocks the
  /// thread; asynchronous code can await another form.
  ///
  /// - Parameter limit: How long to wait at most. Default: 30 seconds.
  /// - Throws: ``LogError``: what kept archives from being inspected, `timedOut`, or that the store
  ///   is closed. An archive that cannot be deleted is reported by an event.
  public func applyRetention(within limit: Duration = .seconds(30)) throws(LogError) {
    try core.begunMaintenance()?.apply(within: limit.nanoseconds)
  }

  /// Applies the limits of ``StoreSettings/retention`` now. Meanwhile another thread is blocked.
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
  ///   left out. Archives that cannot be read are left out, too, and an event reports them.
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

  /// The space that sealed archives which are not uploaded take, in bytes, as of the store's last
  /// scan. The store scans each minute, when an archive is closed, and at each change through this
  /// object. Reading this costs nothing, and waits for nobody.
  public var pendingBytes: Int { core.catalog.totals.pending }

  /// The space that uploaded archives take, in bytes; as of the scan that ``pendingBytes``
  /// describes.
  public var uploadedBytes: Int { core.catalog.totals.uploaded }

  // MARK: - Uploading

  /// Takes a lease on an archive, so that no other uploader, in any process, sends it meanwhile.
  /// ``pendingArchives`` does so by itself.
  ///
  /// - Parameters:
  ///   - archive: The archive, as it was listed.
  ///   - owner: Distinguishes uploaders. An owner that has the lease already renews it.
  ///   - duration: How long the lease lasts, a day at most. If the uploader dies, others can have
  ///     the archive when the lease is over.
  /// - Returns: The lease; nil if another uploader has one, if the archive is uploaded, or if the
  ///   archive has changed because some process goes on with it (see
  ///   ``Configuration/resumeLastArchive``).
  /// - Throws: ``LogError``: `missingArchive`, or that the system refuses something.
  public func acquireLease(
    on archive: ArchiveInfo, by owner: String, for duration: Duration
  ) throws(LogError) -> UploadLease? {
    try core.catalog.acquireLease(on: archive, by: owner, for: duration)
  }

  /// Releases a lease before its end. Does nothing if another uploader has the lease by now.
  ///
  /// Blocks the thread while another process works on the directory, ten seconds at most.
  ///
  /// - Throws: ``LogError``: `missingArchive`; `timedOut`; or that the system refuses something.
  public func release(_ lease: UploadLease, on archive: ArchiveInfo) throws(LogError) {
    try core.catalog.release(lease, on: archive)
  }

  /// Marks an archive as uploaded: limits delete uploaded archives first. Ends every lease on the
  /// archive.
  ///
  /// - Parameters:
  ///   - archive: The archive, as it was listed.
  ///   - receipt: What the receiver returned for the archive, such as an object's version. The
  ///     receipt is kept with the mark, in `ArchiveInfo.State.receipt`. At most 512 bytes without
  ///     control characters. Nil, the default: none; a receipt that was noted before stays.
  /// - Throws: ``LogError``: `missingArchive`; `changedArchive` if some process has gone on with
  ///   the archive since it was listed, so that not all of it was sent; `invalidAttribute` for a
  ///   receipt that cannot be kept; or that the system refuses something.
  public func markUploaded(_ archive: ArchiveInfo, receipt: String? = nil) throws(LogError) {
    try core.catalog.markUploaded(archive, receipt: receipt)
  }

  /// Removes the mark and its receipt.
  ///
  /// Blocks the thread while another process works on the directory, ten seconds at most.
  ///
  /// - Throws: ``LogError``: `missingArchive`; `timedOut`; or that the system refuses something.
  public func unmarkUploaded(_ archive: ArchiveInfo) throws(LogError) {
    try core.catalog.unmarkUploaded(archive)
  }

  // MARK: - Attributes

  /// Notes a text on an archive, for all processes and later starts: the text is in
  /// `ArchiveInfo.State.attributes` wherever the archive is listed. It is kept where the states
  /// uploaded, pinned and leased are: in an extended attribute of the file, fsetxattr(2), or beside
  /// the file. It is synced.
  ///
  /// ```swift
  /// try store.setAttribute("OPS-17", for: "ticket", on: archive)
  /// ```
  ///
  /// Blocks the thread while another process works on the directory, ten seconds at most.
  ///
  /// - Parameters:
  ///   - value: At most 512 bytes without control characters; nil removes the attribute.
  ///   - key: 1 to 64 ASCII letters, digits, dots, hyphens and underscores.
  ///   - archive: The archive. It may have changed since it was listed.
  /// - Throws: ``LogError``: `invalidAttribute` if the key or the value breaks these rules, or if
  ///   all keys and values together, with two bytes for each attribute, take more than 1024 bytes;
  ///   `missingArchive`; `timedOut`; or that the system refuses something. If it throws, nothing is
  ///   noted.
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
  ///   - reason: Why, for people who look at the pin later; kept in one line.
  /// - Throws: ``LogError``: `missingArchive`; `timedOut`; or that the system refuses something.
  public func pin(_ archive: ArchiveInfo, because reason: String = "") throws(LogError) {
    let reason = ArchiveInfo.State.line(reason)
    try core.catalog.change(archive.fileName) { $0.pinned = reason }
  }

  /// Ends a pin.
  ///
  /// Blocks the thread while another process works on the directory, ten seconds at most.
  ///
  /// - Throws: ``LogError``: `missingArchive`; `timedOut`; or that the system refuses something.
  public func unpin(_ archive: ArchiveInfo) throws(LogError) {
    try core.catalog.change(archive.fileName) { $0.pinned = nil }
  }

  /// Deletes one archive, whether or not it is uploaded: renames it into the trash, then unlinks
  /// it. ``Event/deleted(archive:rule:)`` reports it, with the rule `request`.
  ///
  /// Blocks the thread while another process works on the directory, ten seconds at most.
  ///
  /// - Parameter archive: The archive, as it was listed.
  /// - Throws: ``LogError``: `archiveInUse` if the archive is being written, pinned or leased, or
  ///   the recovery of a process that died still needs it; `changedArchive` if it has changed since
  ///   it was listed; `missingArchive`; `timedOut`; or that the system refuses something. If it
  ///   throws, the archive is still there, unless it was missing.
  /// - Complexity: O(rings in the directory), and some twenty system calls.
  public func remove(_ archive: ArchiveInfo) throws(LogError) {
    try core.maintenance.remove(archive)
  }

  /// Deletes those of these archives that are still marked as uploaded, and are not pinned.
  /// Archives of a session that has not been recovered yet stay until it is.
  ///
  /// Blocks the thread while another process works on the directory, ten seconds at most.
  ///
  /// - Returns: The archives that were deleted.
  /// - Throws: ``LogError``: `timedOut`, or that the system refuses something. If one archive
  ///   cannot be deleted, the others are deleted all the same, and
  ///   ``Event/deleted(archive:rule:)`` reports each of them.
  /// - Complexity: O(archives in the list, and files in the directory).
  @discardableResult
  public func removeUploaded(_ archives: [ArchiveInfo]) throws(LogError) -> [ArchiveInfo] {
    try core.maintenance.remove(archives) { $0.state.isUploaded && !$0.state.isPinned }
  }

  /// Deletes all archives of this store's name in its directory, except those that are pinned,
  /// those that are being written, and those of a session that has not been recovered yet.
  ///
  /// Blocks the thread while another process works on the directory, ten seconds at most.
  ///
  /// - Returns: The archives that were deleted.
  /// - Throws: As ``removeUploaded(_:)``.
  /// - Complexity: O(files in the directory).
  @discardableResult
  public func removeAll() throws(LogError) -> [ArchiveInfo] {
    try core.maintenance.remove(archives()) { $0.isSealed && !$0.state.isPinned }
  }
}
