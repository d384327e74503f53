import MMLogFormat
import MMLogStorage

/// What the ring of a session tells of its archives.
struct RingEvidence {
  let ring: InputFiles.RingInput
  /// By rising number.
  let archives: [ArchiveFile]

  /// The number of the session's newest archive, if that is not there. Of a process that lives, a limit may have deleted it; a dead
  /// one's is kept until it is recovered.
  var missingArchive: Int? {
    let newest = max(ring.image.newestArchive, hasArchived ? 1 : 0)
    return !ring.isRunning && newest > archives.last?.head.number ?? 0 ? Int(newest) : nil
  }

  /// Whether anything of the ring was archived: the ring says so, or in whose file that was begun, or a segment was
  /// used and is free again, for no other reason.
  private var hasArchived: Bool {
    let image = ring.image
    if image.resumed != nil { return true }
    if image.segments.contains(where: { $0.header.drained > SegmentLayout.size }) { return true }
    guard image.head.archiveLevel == .trace, image.losses.isEmpty, image.damage.isEmpty else {
      return false
    }
    return (image.segments.first?.header.generation ?? 1) > 1
  }
}
