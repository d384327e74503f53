import MMLogFormat
import MMLogSystem

extension ArchiveFile {
  /// Which of two archives of one number is read: one without corruption, and then the longer one.
  package var rank: (Int, Int) { (isSound ? 1 : 0, length) }

  /// Whether all that is in it is in another one, too.
  package func isCopy(of other: ArchiveFile) -> Bool {
    isSound && extent <= other.extent && frames.count <= other.frames.count
      && zip(frames, other.frames).allSatisfy {
        $0.offset - start == $1.offset - other.start && $0.header == $1.header
      }
  }

  /// How many bytes of its file may be its own.
  private var extent: Int { (isLast ? scanner.size : closedEnd ?? end) - start }

  /// Of archives of one session those that are read, by rising number: one of each number.
  package static func read(of archives: [ArchiveFile]) -> [ArchiveFile] {
    Dictionary(grouping: archives, by: \.fileHeader.number).values
      .compactMap { $0.max { $0.rank < $1.rank } }
      .inOrder { $0.fileHeader.number < $1.fileHeader.number }
  }
}
