import MMLogFormat
import MMLogReader
import MMLogStorage

/// The hash chain of a session: within its archives, and from each to the next.
struct ChainCheck {
  /// What differs from the hashes in later frames, by the archive's index.
  private(set) var corruption: [Int: [LogReader.Corruption]] = [:]
  /// Why an archive's chain could not be checked, by the archive's index.
  private(set) var problems: [Int: String] = [:]
  /// By the archive's number.
  private(set) var chains: [UInt32: ArchiveChain] = [:]

  init(_ session: SessionFiles) {
    for (index, archive) in session.archives.enumerated() where archive.isChained {
      do {
        let chain = try ArchiveChain(archive)
        chains[archive.fileHeader.number] = chain
        corruption[index] = chain?.corruption
      } catch {
        problems[index] = "\(archive.path): the hash chain is not checked: \(error)"
      }
    }
    checkLinks(of: session.archives)
  }

  private mutating func checkLinks(of archives: [ArchiveFile]) {
    for (index, pair) in zip(archives, archives.dropFirst()).enumerated() {
      let (before, archive) = (pair.0.fileHeader, pair.1.fileHeader)
      guard archive.number == before.number &+ 1, problems[index] == nil,
        !pair.0.isFileHeaderLost, !pair.1.isFileHeaderLost,
        chains[before.number]?.head != archive.previousHead
      else { continue }
      let range = pair.1.start..<pair.1.start + FileHeaderLayout.size
      let what =
        archive.previousHead == FrameHash.none
        ? "the file header names no archive before it, though archive \(before.number) is there"
        : "the file header is not chained to archive \(before.number) as that is now"
      corruption[index + 1, default: []].append(
        LogReader.Corruption(range, what, in: pair.1.path))
    }
  }
}
