package import MMLogFormat

extension RingImage {
  /// A frame that was not written whole, of which the ring lacks what it was to hold, and other frames, too.
  ///
  /// A process notes in its ring that records are archived after their frame was written. So a ring that lacks them says that the
  /// frame was whole once.
  ///
  /// - Parameters:
  ///   - tail: What follows the last frame of the session's last archive.
  ///   - coverage: What the session's archives have; settled.
  package func lostFrame(_ tail: ArchiveTail, _ coverage: Coverage) -> FrameHeader? {
    guard case .frame(_, let header?) = tail else { return nil }
    let generations = Set(segments.map(\.header.generation))
    let isLost = header.ranges.contains {
      !generations.contains($0.generation) && !coverage.contains($0, areFlight: header.isFlight)
    }
    return isLost ? header : nil
  }
}
