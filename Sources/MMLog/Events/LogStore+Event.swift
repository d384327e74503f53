public import MMLogFormat
public import MMLogStorage

extension LogStore {
  /// Something that a store has done, will do, or has met, for whoever maintains the service.
  @nonexhaustive
  public enum Event: Sendable {
    /// An archive is about to be closed; its path.
    case willRotate(archive: String, reason: Rotation.Reason)
    /// An archive was closed; its path.
    case rotated(archive: String)
    /// An archive was closed, safe from a power cut, and found in the directory: it may be handed
    /// on. Also one of a session that died, which the recovery at the store's opening has closed.
    case sealed(archive: ArchiveInfo)
    /// An archive is about to be deleted. An observer may have been asked; see
    /// ``LogStore/Observer/mayDelete(_:for:)``.
    case willDelete(archive: ArchiveInfo, rule: Retention.Rule)
    /// An archive was deleted.
    case deleted(archive: ArchiveInfo, rule: Retention.Rule)
    /// An archive could not be deleted; it is tried again. Reported once for each archive.
    case notDeleted(archive: ArchiveInfo, error: LogError)
    /// A limit does not hold though all was deleted that may be: how many archives may not, and
    /// why. Where there are none, others take the space. Reported once, until it holds again.
    case limitExceeded(rule: Retention.Rule, kept: [Retention.Obstacle: Int])
    /// A session that had ended without closing its store was recovered.
    case recovered(session: RecoveredSession)
    /// Records were lost since the last event of this kind; the ledger counts from the session's
    /// start.
    case dropped(losses: LossLedger)
    /// Archives cannot be written, or a ring cannot be made or recovered; the store tries again by
    /// itself.
    case failed(error: LogError)
    /// Somebody outside has set levels (`mmlogctl set-level`) or taken them back, or their
    /// time is over: the rules that hold now. Where none matches, labels have the level that the
    /// program has set.
    case levelsSet(rules: [LevelRule])
    /// Flight records were captured, so many; see ``LogStore/Configuration/archiveLevel``.
    case captured(count: Int, reason: LogStore.CaptureReason)
    /// Archives can be written again, after ``failed(error:)`` or ``stalled(duration:)``.
    case resumed
    /// The drainer has given no sign of life for so long: it waits in a system call, as on a file
    /// system that is frozen for a snapshot, or on a disk that hangs, or gets no time. Reported
    /// once, until it goes on.
    case stalled(duration: Duration)
    /// A tap cannot write what was logged, and tries again by itself; the tap's name. Reported
    /// once, until ``tapResumed(tap:missed:)``.
    case tapFailed(tap: String, error: any Error)
    /// A tap writes again. `missed` is how many records it has not written since the session began:
    /// they found no room, or could not be written. The archives have them.
    case tapResumed(tap: String, missed: UInt64)
    /// An archive of ``LogStore/pendingArchives`` could not be sent, or not be marked. It is given
    /// back, and comes again.
    case notUploaded(archive: ArchiveInfo, error: any Error)
    /// Someone renamed, removed, replaced or cut an archive, or its directory; its path. What was
    /// still in the ring goes into a new file. Of a ring, ``failed(error:)`` and ``resumed``
    /// report.
    case takenAway(path: String)
    /// The file system has less space left than ``Retention/freeSpace`` says; in bytes. Reported
    /// once, until there is enough again.
    case lowSpace(available: Int)
    /// So much of the ring waits to be archived, from 0 to 1: three quarters or more of what no
    /// thread holds. Reported once, until it is less than half.
    case ringFilling(fraction: Double)
    /// Archives that are not uploaded take so many bytes:
    /// ``LogStore/Configuration/pendingThreshold`` or more. Reported once, until it is less.
    case pendingReached(bytes: Int)
    /// All archives take so many bytes: ``LogStore/Configuration/sizeThreshold`` or more. Reported
    /// once, until it is less.
    case sizeReached(bytes: Int)
  }
}
