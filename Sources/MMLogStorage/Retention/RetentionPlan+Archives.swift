import MMLogFormat
import MMLogSystem

extension RetentionPlan {
  /// Finds out which of these archives are to be deleted now.
  ///
  /// Those of a dead session whose ring is still to be recovered are spared: its recovery looks into them for what it need not archive
  /// again.
  ///
  /// - Parameters:
  ///   - archives: All of a store, the oldest first.
  ///   - ringDirectory: Where rings are.
  ///   - space: What is free on the file system, and all there is, in bytes; nil if unknown.
  package init(
    _ retention: Retention, _ archives: [ArchiveInfo], ringDirectory: String,
    space: (free: Int, total: Int)?
  ) {
    var summaries = archives.map { archive in
      var summary = Archive(allocated: archive.allocatedSize, lastTime: archive.lastTime)
      summary.isUploaded = archive.state.isUploaded
      summary.isSpared = archive.isActive || archive.state.isHeld
      summary.isEmpty = archive.contents?.count == 0
      summary.endsInCrash = archive.contents?.ending == .died
      return summary
    }
    let now = Clock.realtime()
    self.init(retention, summaries, now: now, space: space)
    // Mostly there is nothing to delete, or no such ring.
    let dead = deletions.isEmpty ? [] : DeadRing.sessions(in: ringDirectory)
    if dead.isEmpty { return }
    for index in archives.indices where dead.contains(archives[index].session) {
      summaries[index].isSpared = true
    }
    self.init(retention, summaries, now: now, space: space)
  }
}
