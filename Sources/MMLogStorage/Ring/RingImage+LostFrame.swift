package import MMLogFormat

extension RingImage {
  /// The header of a frame that was not written whole, if neither the ring nor other frames have
  /// its records.
  ///
  /// A process writes a frame before it notes in its ring that the records are archived. So if the
  /// ring lacks them, the frame was whole once.
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

  /// What the newest archive lacks at its end of the frames that the process has noted in its ring:
  /// the file was cut. If the process lives, the archive may have been read before the ring.
  ///
  /// - Parameter archives: The session's, by rising number.
  /// - Returns: Which archive it is, and what it lacks; nil if it is whole, or not there.
  package func lostEnd(of archives: [ArchiveFile]) -> (index: Int, lack: Corruption)? {
    let state = sessionState
    guard let index = archives.lastIndex(where: { $0.fileHeader.number == state.newestArchive }),
      let lack = archives[index].lack(ofFrames: state.newestFrames)
    else { return nil }
    return (index, lack)
  }

  /// Whether the newest archive is not there, or nothing of it can be read, although the process
  /// has noted frames of it and had not begun to seal it. No limit deletes such an archive.
  ///
  /// - Parameter archives: The session's, by rising number.
  package func isNewestLost(of archives: [ArchiveFile]) -> Bool {
    sessionState.newestFrames > 0 && !sessionState.mayNewestBeSealed
      && sessionState.newestArchive > archives.last?.fileHeader.number ?? 0
  }
}
