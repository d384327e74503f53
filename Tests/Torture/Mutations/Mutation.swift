import TestSupport

/// What may happen to the files of a directory behind the back of who wrote them.
enum Mutation: String, CaseIterable {
  // A disk gives blocks that belong elsewhere, are old, or have nothing in them.
  case staleBlock, blockOfOtherSession, blockOfOtherArchive, blockOfDeletedArchive, zeroedBlocks
  case bitsFlipped
  // The same by frames.
  case frameOfOtherSession, frameOfOtherArchive, frameOfDeletedArchive
  case frameRemoved, frameCopied, frameMoved, framesSwapped, frameRepeated
  // What says what a file is goes bad.
  case fileHeaderLost, laterFileHeaderLost, trailerLost, trailerAndFileHeaderLost, headerBytesBad
  case clockPairBad, segmentHeaderBad, ringAreasBad
  // Files end early, go, or get another's name.
  case cutAnywhere, cutAtFrame
  case oldestArchiveRemoved, middleArchiveRemoved, newestArchiveRemoved, ringRemoved
  case renamed, swapped

  /// Does it somewhere.
  ///
  /// - Returns: What was done; nil if there is no place for it.
  func apply(to files: inout MutatedFiles, _ random: inout SeededGenerator) -> String? {
    switch self {
    case .staleBlock, .blockOfOtherSession, .blockOfOtherArchive, .blockOfDeletedArchive,
      .zeroedBlocks, .bitsFlipped:
      applyToBlocks(of: &files, &random)
    case .frameOfOtherSession, .frameOfOtherArchive, .frameOfDeletedArchive, .frameRemoved,
      .frameCopied, .frameMoved, .framesSwapped, .frameRepeated:
      applyToFrames(of: &files, &random)
    case .fileHeaderLost, .laterFileHeaderLost, .trailerLost, .trailerAndFileHeaderLost,
      .headerBytesBad,
      .clockPairBad, .segmentHeaderBad, .ringAreasBad:
      applyToHeaders(of: &files, &random)
    case .cutAnywhere, .cutAtFrame, .oldestArchiveRemoved, .middleArchiveRemoved,
      .newestArchiveRemoved, .ringRemoved, .renamed, .swapped:
      applyToWholeFiles(of: &files, &random)
    }
  }
}
