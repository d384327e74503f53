package import MMLogFormat
import MMLogSystem

/// The order of archives in time, also where a clock was set back.
package enum ArchiveOrder {
  /// An archive that begins so much later than now comes from the future.
  private static let future = Duration.seconds(3600)

  /// The archives, oldest first: by when they were begun, but those of one session always by their
  /// numbers.
  ///
  /// - Parameter own: The archives of this session come last if there are some from the future.
  /// - Complexity: O(*n* log *n*).
  package static func sorted(
    _ archives: [ArchiveInfo], own: SessionID? = nil
  ) -> [ArchiveInfo] {
    let now = Timestamp.now
    let bySession = archives.inOrder {
      ($0.session.words.0, $0.session.words.1, $0.number)
        < ($1.session.words.0, $1.session.words.1, $1.number)
    }
    var keys: [(isLast: Bool, begun: Timestamp, place: Int)] = []
    keys.reserveCapacity(archives.count)
    let isSetBack = archives.contains { $0.created > now + future }
    for (place, archive) in bySession.enumerated() {
      let isFirst = place == 0 || bySession[place - 1].session != archive.session
      let begun = isFirst ? archive.created : max(archive.created, keys[place - 1].begun)
      keys.append((isSetBack && archive.session == own, begun, place))
    }
    return keys.inOrder { ($0.isLast ? 1 : 0, $0.begun) < ($1.isLast ? 1 : 0, $1.begun) }
      .map { bySession[$0.place] }
  }
}
