import MMLogFormat
import MMLogSystem

/// Leases and marks: what an uploader notes of an archive.
extension Catalog {
  /// Takes a lease on an archive.
  ///
  /// - Parameter archive: The archive, as it was listed.
  /// - Returns: The lease; nil if another has one, the archive is marked, or it is not what it was.
  package func acquireLease(
    on archive: ArchiveInfo, by owner: String, for duration: Duration
  ) throws(LogError) -> UploadLease? {
    let owner = ArchiveInfo.State.line(owner)
    return try change(archive.fileName, size: archive.size) { state, isSame in
      let now = Timestamp.now
      if !isSame || state.isUploaded { return nil }
      if let other = state.lease, other.owner != owner, other.isInForce(at: now) { return nil }
      let span = min(max(.zero, duration), UploadLease.longest)
      let lease = UploadLease(owner: owner, expiry: now + span)
      state.lease = lease
      return lease
    }
  }

  /// Ends a lease; does nothing if it has passed to another.
  package func release(_ lease: UploadLease, on archive: ArchiveInfo) throws(LogError) {
    try change(archive.fileName) { if $0.lease?.owner == lease.owner { $0.lease = nil } }
  }

  /// Marks an archive as uploaded, and ends every lease on it.
  ///
  /// - Throws: `changedArchive` if it is not what it was when it was listed.
  package func markUploaded(_ archive: ArchiveInfo) throws(LogError) {
    let isMarked = try change(archive.fileName, size: archive.size) { state, isSame in
      if !isSame { return false }
      state.uploaded = state.uploaded ?? .now
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
}
