import TestSupport

/// What may happen to the files of a directory without their writer's doing.
enum Mutation: String, CaseIterable {
  // A disk gives blocks that belong elsewhere, are old, or have nothing in them.
  case staleBlock, blockOfOtherSession, blockOfOtherArchive, blockOfDeletedArchive, zeroedBlocks
  case bitsFlipped
  // Frames belong elsewhere, are missing, or come twice.
  case frameOfOtherSession, frameOfOtherArchive, frameOfDeletedArchive
  case frameRemoved, frameCopied, frameMoved, framesSwapped, frameRepeated
  // Headers, trailers and tables go bad.
  case fileHeaderLost, laterFileHeaderLost, trailerLost, trailerAndFileHeaderLost, headerBytesBad
  case clockPairBad, segmentHeaderBad, ringAreasBad
  // Files end early, are gone, or get another's name.
  case cutAnywhere, cutAtFrame
  case oldestArchiveRemoved, middleArchiveRemoved, newestArchiveRemoved, ringRemoved
  case renamed, swapped

  /// Does the mutation somewhere.
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
