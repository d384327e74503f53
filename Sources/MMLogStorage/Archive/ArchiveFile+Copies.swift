import MMLogFormat
import MMLogSystem

extension ArchiveFile {
  /// Decides which of two archives with one number is read: first the one whose structure is right,
  /// then the one with more frames that are as they were written, then the longer one. Reads the
  /// whole archive.
  package var rank: (Int, Int, Int) { (isSound ? 1 : 0, wholeFrameCount, length) }

  /// Whether another archive has everything that this one has.
  package func isCopy(of other: ArchiveFile) -> Bool {
    isSound && extent <= other.extent && frames.count <= other.frames.count
      && wholeFrameCount == frames.count
      && zip(frames, other.frames).allSatisfy {
        $0.offset - start == $1.offset - other.start && $0.header == $1.header
      }
  }

  /// How many frames have payloads with the right checksums.
  private var wholeFrameCount: Int {
    frames.count { (try? scanner.hasPayload($0.header, at: $0.offset)) == true }
  }

  /// How many bytes of its file may be its own.
  private var extent: Int { (isLast ? scanner.size : closedEnd ?? end) - start }

  /// The archives of one session that are read, by rising number: one of each number.
  package static func read(of archives: [ArchiveFile]) -> [ArchiveFile] {
    Dictionary(grouping: archives, by: \.fileHeader.number).values
      .compactMap { $0.max { $0.rank < $1.rank } }
      .inOrder { $0.fileHeader.number < $1.fileHeader.number }
  }
}
