import MMLogFormat
import MMLogSystem

extension RetentionPlan {
  /// Finds out which of these archives are to be deleted now.
  ///
  /// - Parameters:
  ///   - archives: All of a store, the oldest first.
  ///   - ringDirectory: Where rings are: an archive that is not complete though nobody writes it is spared as long as the
  ///     ring of its session is there, since that still has to be recovered.
  ///   - space: What is free on the file system, and all there is, in bytes; nil if unknown.
  package init(
    _ retention: Retention, _ archives: [ArchiveInfo], ringDirectory: String,
    space: (free: Int, total: Int)?
  ) {
    let hasOpen = archives.contains { !$0.isSealed && !$0.isActive }
    let rings = hasOpen ? Self.sessionsWithRings(in: ringDirectory) : []
    let summaries = archives.map { archive in
      var summary = Archive(allocated: archive.allocatedSize, lastTime: archive.lastTime)
      summary.isUploaded = archive.state.isUploaded
      summary.isSpared =
        archive.isActive || archive.state.isHeld
        || (!archive.isSealed && rings.contains(archive.session))
      summary.isEmpty = archive.contents?.count == 0
      summary.endsInCrash = archive.contents?.ending == .died
      return summary
    }
    self.init(retention, summaries, now: Clock.realtime(), space: space)
  }

  private static func sessionsWithRings(in directory: String) -> Set<SessionID> {
    let names = (try? Directory.open(directory).names()) ?? []
    return Set(names.compactMap { FileNames.Ring(fileName: $0)?.session })
  }
}
