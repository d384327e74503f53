import MMLogFormat
import MMLogSystem

extension RetentionPlan {
  /// Finds out which of these archives are to be deleted now.
  ///
  /// Those of a dead session whose ring is still to be recovered are spared.
  ///
  /// - Parameters:
  ///   - archives: All of a store, or of several together, the oldest first.
  ///   - ringDirectories: Where rings are.
  ///   - space: The free space and the whole space of the file system, in bytes; nil if unknown.
  ///   - strange: Receives each file that has a ring's name, and is none of ours, or cannot
  ///     be inspected: the archives of its session are spared.
  /// - Throws: ``LogError`` if the rings cannot be inspected: then nothing may be deleted.
  package init(
    _ retention: Retention, _ archives: [ArchiveInfo], ringDirectories: [String],
    space: (free: Int, total: Int)?, strange: (LogError) -> Void = { _ in }
  ) throws(LogError) {
    var summaries = archives.map { archive in
      var summary = Archive(allocated: archive.allocatedSize, lastTime: archive.lastTime)
      summary.isUploaded = archive.state.isUploaded
      summary.obstacle = archive.isActive ? .active : archive.state.isPinned ? .pinned : nil
      summary.store = "\(archive.directory)/\(archive.storeName)"
      summary.isEmpty = archive.contents?.count == 0
      if archive.isOfCrash { summary.crashTime = archive.contents?.endTime }
      return summary
    }
    let now = Timestamp.now
    if retention.unsentSize != nil { try Self.noteUnsent(archives, in: &summaries) }
    self.init(retention, summaries, now: now, space: space)
    // Rings are inspected only if a limit would delete something, which is rare.
    if deletions.isEmpty { return }
    for rings in ringDirectories {
      guard let isNeeded = try Recovery.neededArchives(inRingsAt: rings, strange: strange)
      else { continue }
      for (index, archive) in archives.enumerated() where isNeeded(archive) {
        summaries[index].obstacle = summaries[index].obstacle ?? .unrecovered
      }
    }
    self.init(retention, summaries, now: now, space: space)
  }

  private static func noteUnsent(
    _ archives: [ArchiveInfo], in summaries: inout [Archive]
  ) throws(LogError) {
    var unsent: [String: UnsentArchives] = [:]
    for directory in Set(archives.map(\.directory)) {
      unsent[directory] = try explaining("Reading what was shipped failed") {
        () throws(SystemError) in
        try UnsentArchives(in: Directory.open(directory))
      }
    }
    for (index, archive) in archives.enumerated() {
      summaries[index].isUnsent = unsent[archive.directory]?.contains(archive.id) ?? false
    }
  }
}
