public import MMLogFormat

/// A session that ended without closing its store, and what was saved of it.
public struct RecoveredSession: Sendable {
  /// The session, its process and its store.
  public let identity: SessionIdentity
  /// How the session ended. Not every end is a crash: see `SessionEnd.How.isCrash`.
  public let end: SessionEnd
  /// How many records were moved from the ring to an archive, flight records included. Records that
  /// were archived before are not counted.
  public let recordCount: Int
  /// How many of them were flight records: below `LogStore.Configuration.archiveLevel`.
  public let flightRecordCount: Int
  /// What the session itself had counted as lost, and one record for each place where the recovery
  /// found records corrupted.
  public let losses: LossLedger
  /// The session's archives that are there now, the oldest first, including those that were sealed
  /// before it died. All of them are complete. With `resumeLastArchive`, the first may be one that
  /// another session began.
  public let archives: [ArchiveInfo]
  /// Those of them that the recovery has sealed.
  package let sealed: [ArchiveInfo]
  /// The parts of the ring that could not be read, one line each. Empty unless the machine went
  /// down or the file was corrupted.
  public let corruption: [String]

  /// ``corruption`` in one sentence; nil if nothing was corrupted.
  package var corruptionSentence: String? {
    guard let first = corruption.first else { return nil }
    let count = corruption.count
    return "The ring of the session \(identity.session) was corrupted in \(count) "
      + "place\(count == 1 ? "" : "s"), the first: \(first)."
  }
}
