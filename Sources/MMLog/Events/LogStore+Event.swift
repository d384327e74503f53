public import MMLogFormat
public import MMLogStorage

extension LogStore {
  /// Something that a store has done, will do, or has met, for whoever maintains the service.
  @nonexhaustive
  public enum Event: Sendable {
    /// An archive is about to be closed; `archive` is its path.
    case willRotate(archive: String, reason: Rotation.Reason)
    /// An archive was closed; `archive` is its path.
    case rotated(archive: String)
    /// An archive was closed, is safe from a power cut, and was found in the directory: it may be
    /// handed on. Also sent for an archive of a dead session, once a recovery has closed the
    /// archive. If the disk cannot make an archive safe, ``failed(error:)`` names the archive
    /// first.
    case sealed(archive: ArchiveInfo)
    /// An archive is about to be deleted. An observer may have been asked; see
    /// ``LogStore/Observer/mayDelete(_:for:)``.
    case willDelete(archive: ArchiveInfo, rule: Retention.Rule)
    /// An archive was deleted.
    case deleted(archive: ArchiveInfo, rule: Retention.Rule)
    /// An archive could not be deleted; the store tries again. Reported once for each archive.
    case notDeleted(archive: ArchiveInfo, error: LogError)
    /// A limit does not hold although all archives that may be deleted were deleted. `kept` says
    /// how many archives may not be deleted, and why. If `kept` is empty, other files take the
    /// space. Reported once, until the limit holds again.
    case limitExceeded(rule: Retention.Rule, kept: [Retention.Obstacle: Int])
    /// A session that had ended without closing its store was recovered.
    case recovered(session: RecoveredSession)
    /// Records were lost since the last event of this kind; the ledger counts from the session's
    /// start.
    case dropped(losses: LossLedger)
    /// Archives cannot be written, or a ring cannot be made or recovered; the store tries again by
    /// itself. Also sent when the store gives up trying to make an archive safe from a power cut.
    case failed(error: LogError)
    /// Somebody outside has set levels (`mmlogctl set-level`) or taken them back, or their time is
    /// over. `rules` are the rules that hold now. A label that no rule matches has the level that
    /// the program has set.
    case levelsSet(rules: [LevelRule])
    /// Flight records were captured: `count` of them; see ``LogStore/Configuration/archiveLevel``.
    case captured(count: Int, reason: LogStore.CaptureReason)
    /// Archives can be written again, after ``failed(error:)`` or ``stalled(duration:)``.
    case resumed
    /// The drainer has given no sign of life for `duration`: it waits in a system call, as on a
    /// file system that is frozen for a snapshot or on a disk that hangs, or it gets no processor
    /// time. Reported once, until the drainer goes on.
    case stalled(duration: Duration)
    /// A tap cannot write what was logged, and tries again by itself. `tap` is its name. Reported
    /// once, until ``tapResumed(tap:missed:)``.
    case tapFailed(tap: String, error: any Error)
    /// A tap writes again. `missed` is how many records the tap has not written since the session
    /// began: they found no room, or could not be written. The archives have them.
    case tapResumed(tap: String, missed: UInt64)
    /// An archive of ``LogStore/pendingArchives`` could not be sent, or could not be marked as
    /// uploaded. It is released, and comes again.
    case notUploaded(archive: ArchiveInfo, error: any Error)
    /// Somebody renamed, removed, replaced or cut an archive, or its directory; `path` is its path.
    /// What was still in the ring goes into a new file. For a ring, ``failed(error:)`` and
    /// ``resumed`` are reported instead.
    case takenAway(path: String)
    /// The file system has less space left than ``Retention/freeSpace`` says: `available` bytes.
    /// Reported once, until there is enough again.
    case lowSpace(available: Int)
    /// Three quarters or more of the ring's segments that no thread holds wait to be archived;
    /// `fraction` is from 0 to 1. Reported once, until the fraction is less than half.
    case ringFilling(fraction: Double)
    /// Archives that are not uploaded take `bytes` bytes:
    /// ``LogStore/Configuration/pendingThreshold`` or more. Reported once, until they take less.
    case pendingReached(bytes: Int)
    /// All archives take `bytes` bytes: ``LogStore/Configuration/sizeThreshold`` or more. Reported
    /// once, until they take less.
    case sizeReached(bytes: Int)
  }
}
