import MMLogFormat
import MMLogStorage

/// What the ring of a session tells of its archives.
struct RingEvidence {
  let ring: InputFiles.RingInput
  /// By rising number.
  let archives: [ArchiveFile]
  /// What they have of it; settled.
  let coverage: Coverage

  /// Whether the ring says of a record that it was archived, and the archives that should have it do
  /// not: one was cut, or is missing. Those before the first that is here may have been deleted.
  var showsGap: Bool {
    guard let first = firstTicks else { return false }
    return ring.image.segments.contains { segment in
      var scanner = ring.image.scanner(of: segment, looksBehindZeros: false)
      while case .record(let view, let offset) = scanner.next(), offset < segment.header.drained {
        if view.ticks >= first, !ring.image.isFlight(view),
          !coverage.contains(segment.header, offset: offset, trustsDrained: false)
        {
          return true
        }
      }
      return false
    }
  }

  /// From when on the archives should have everything.
  private var firstTicks: UInt64? {
    if archives.first?.head.number == 1 { return 0 }
    let frames = archives.lazy.flatMap(\.frames).filter { $0.header.type == .records }
    return frames.first?.header.summary.firstTicks
  }

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
