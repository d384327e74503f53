import MMLogFormat
import MMLogSystem

/// Leases and marks: what an uploader notes of an archive.
extension Catalog {
  /// Takes a lease on an archive.
  ///
  /// - Parameter archive: The archive, as it was listed.
  /// - Returns: The lease; nil if another owner has one, if the archive is marked as uploaded, or
  ///   if it has changed.
  package func acquireLease(
    on archive: ArchiveInfo, by owner: String, for duration: Duration
  ) throws(LogError) -> UploadLease? {
    let owner = ArchiveInfo.State.line(owner)
    return try change(archive.fileName, size: archive.size) { state, isSame in
      let now = Timestamp.now
      if !isSame || state.isUploaded { return nil }
      if let other = state.lease, other.owner != owner, other.isInForce(at: now) { return nil }
      let span = min(max(.zero, duration), UploadLease.longest)
      let lease = UploadLease(owner: owner, expiry: now + span, process: .current)
      state.lease = lease
      return lease
    }
  }

  /// Ends a lease; does nothing if it has passed to another owner.
  package func release(_ lease: UploadLease, on archive: ArchiveInfo) throws(LogError) {
    try change(archive.fileName) { if $0.lease?.owner == lease.owner { $0.lease = nil } }
  }

  /// Marks an archive as uploaded, and ends every lease on it.
  ///
  /// - Parameter receipt: Is noted with the mark; nil: what was noted before stays.
  /// - Throws: `changedArchive` if the archive has changed since it was listed; `invalidAttribute`.
  package func markUploaded(_ archive: ArchiveInfo, receipt: String?) throws(LogError) {
    if let receipt, let problem = ArchiveInfo.State.problem(withText: receipt) {
      throw LogError(
        .invalidAttribute,
        "The receipt for \(archive.path) \(problem): shorten it, or note its checksum",
        path: archive.path)
    }
    let isMarked = try change(archive.fileName, size: archive.size) { state, isSame in
      if !isSame { return false }
      state.uploaded = state.uploaded ?? .now
      state.receipt = receipt ?? state.receipt
      state.lease = nil
      return true
    }
    if isMarked { return }
    throw LogError(
      .changedArchive,
      "The archive \(archive.path) has changed since it was listed: list it again, and send "
        + "it again",
      path: archive.path)
  }

  /// Removes the mark, and its receipt.
  package func unmarkUploaded(_ archive: ArchiveInfo) throws(LogError) {
    try change(archive.fileName) { ($0.uploaded, $0.receipt) = (nil, nil) }
  }

  /// Notes an attribute on an archive.
  ///
  /// - Parameter value: Nil removes it.
  /// - Throws: `invalidAttribute` if there is no room, or the key or the value cannot be one.
  package func setAttribute(
    _ value: String?, for key: String, on archive: ArchiveInfo
  ) throws(LogError) {
    var problem = ArchiveInfo.State.problem(withKey: key, value: value)
    if problem == nil, try !change(archive.fileName, { $0.set(value, for: key) }) {
      problem =
        "All attributes together would take more than \(ArchiveInfo.State.roomForAttributes) bytes"
    }
    guard let problem else { return }
    throw LogError(
      .invalidAttribute,
      "\(problem): nothing was noted on \(archive.path). Choose other texts, or remove attributes",
      path: archive.path)
  }
}
