package import MMLogFormat

/// The hashes of an archive's frames, and where frames carry other hashes.
package struct ArchiveChain {
  /// Where the chain is broken.
  package private(set) var corruption: [Corruption] = []
  /// The hash of what comes before the frame that is still to come.
  package private(set) var head: FrameHash
  /// How many frames there are, missing ones included.
  package private(set) var frames: UInt64 = 0
  /// How many frames the archive's beginning has without a hole, each with the hash of what comes
  /// before it. Behind a hole, a hash is only what a frame says.
  package private(set) var linkedFrames: UInt64 = 0
  /// The hash of what comes before each frame, by ordinal.
  private var hashes: [UInt64: FrameHash] = [:]
  private let path: String

  /// Hashes the frames of an archive.
  ///
  /// - Returns: Nil if its frames are not chained.
  /// - Throws: ``CryptoError`` without libcrypto, ``SystemError`` if the file cannot be read.
  /// - Complexity: O(size of the archive).
  package init?(_ archive: ArchiveFile) throws {
    guard archive.isChained else { return nil }
    path = archive.path
    var last = archive.start..<archive.start + FileHeaderLayout.size
    head = try archive.hash(of: last).get()
    // Without a file header, frames before the first one may be missing, too. Such a gap is
    // reported elsewhere.
    var isKnown = !archive.isFileHeaderLost
    var isLinked = isKnown
    for frame in archive.frames {
      let header = frame.header
      let range = frame.offset..<frame.offset + header.frameSize
      if header.isSubstitute {
        report(range, "frame \(header.ordinal) was written by a repair, in place of what was lost")
      } else if header.ordinal > frames {
        isKnown = false
      }
      if let previous = header.previous {
        if isKnown, previous != head {
          report(last, "changed since frame \(header.ordinal) was written")
        }
        // So one change is reported once.
        if !isKnown { head = previous }
      } else {
        report(range, "frame \(header.ordinal) has no hash of what comes before it")
      }
      isLinked =
        isLinked && header.ordinal == linkedFrames && !header.isSubstitute
        && header.previous == head
      if isLinked { linkedFrames += 1 }
      hashes[header.ordinal] = head
      frames = max(frames, header.ordinal &+ 1)
      guard header.isInChain else { continue }
      // The frame behind a substitute has the hash of what was there before.
      (last, isKnown) = (range, !header.isSubstitute)
      head = try archive.hash(of: range).get()
    }
    hashes[frames] = head
  }

  /// The hash of the archive's first `count` frames; nil if it has fewer.
  package func hash(ofFrames count: UInt64) -> FrameHash? { hashes[count] }

  private mutating func report(_ range: Range<Int>, _ what: String) {
    corruption.append(Corruption(range, what, in: path))
  }
}

extension ArchiveFile {
  /// Whether its frames are chained.
  package var isChained: Bool {
    fileHeader.previousHead != nil || frames.contains { $0.header.previous != nil }
  }
}
