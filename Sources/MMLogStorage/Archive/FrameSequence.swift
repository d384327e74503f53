import MMLogFormat

/// The frames of an archive in the order of their ordinals, each once, and what is wrong with their
/// order.
struct FrameSequence {
  private let path: String
  private(set) var frames: [ArchiveFile.Frame] = []
  private(set) var corruption: [Corruption] = []
  /// Whether there is a key slot, or a frame that is encrypted.
  private(set) var isEncrypted = false
  /// The ordinal that comes next.
  private var next: UInt64 = 0

  /// - Parameter path: The file that the archive is in.
  init(in path: String) { self.path = path }

  /// Takes in frames that follow one another in the file.
  ///
  /// - Parameters:
  ///   - gaps: The gaps between them, by where each ends.
  ///   - isIntact: Whether a frame's payload is right. Called for frames that are there more than
  ///     once.
  mutating func take(
    _ new: [ArchiveFile.Frame], gaps: [Int: ArchiveGap], isIntact: (ArchiveFile.Frame) -> Bool
  ) {
    let ordinals = new.lazy.map(\.header.ordinal)
    if zip(ordinals, ordinals.dropFirst()).allSatisfy({ $0 < $1 }) {
      for frame in new { take(frame, gaps[frame.offset]) }
      return
    }
    let late = Self.late(new)
    for frame in Self.sorted(new, isIntact) {
      take(frame, gaps[frame.offset], isLate: late.contains(frame.offset))
    }
  }

  private mutating func take(
    _ frame: ArchiveFile.Frame, _ gap: ArchiveGap?, isLate: Bool = false
  ) {
    let ordinal = frame.header.ordinal
    // A repair has reported what it could not read.
    let missing = frame.header.isSubstitute ? next..<next : next..<max(next, ordinal)
    report(gap, missing: missing, before: frame.offset)
    if isLate || ordinal < next {
      let what = ordinal < next ? "is there already" : "stands behind later ones"
      let range = frame.offset..<frame.offset + frame.header.frameSize
      report(Corruption(range, "frame \(ordinal) \(what)", in: path))
    }
    if ordinal < next && !isAnother(frame) { return }
    frames.append(frame)
    let isSecret = frame.header.isEncrypted && frame.header.type.isSecret
    isEncrypted = isEncrypted || isSecret || frame.header.type == .keySlot
    next = max(next, ordinal == .max ? ordinal : ordinal + 1)
  }

  /// Whether a frame has the last one's ordinal, but is not the same: nothing says which of them is
  /// wrong.
  private func isAnother(_ frame: ArchiveFile.Frame) -> Bool {
    guard let last = frames.last?.header else { return false }
    return last.ordinal == frame.header.ordinal && last != frame.header
  }

  /// Takes in the trailer.
  mutating func end(_ trailer: Trailer, at offset: Int, gaps: [Int: ArchiveGap]) {
    let count = UInt64(trailer.frameCount)
    report(gaps[offset], missing: next..<max(next, count), before: offset)
    if count < next {
      let what = "the trailer counts \(count) frames, and there are more"
      report(Corruption(offset..<offset + TrailerLayout.size, what, in: path))
    }
  }

  /// What is missing behind the last frame, which ends at `offset`, if there have to be `count`
  /// frames; nil if nothing is.
  func end(ofFrames count: UInt64, at offset: Int) -> Corruption? {
    Self.sentence(next..<max(next, count)).map {
      Corruption(offset..<offset, $0, in: path)
    }
  }

  /// Reports what stands before the file header.
  mutating func report(_ gap: ArchiveGap) { report(gap, missing: 0..<0, before: 0) }

  /// Reports something else that is wrong.
  mutating func report(_ found: Corruption) { corruption.append(found) }

  /// Reports what stands before an offset, and which frames should.
  private mutating func report(_ gap: ArchiveGap?, missing: Range<UInt64>, before offset: Int) {
    if gap == nil && missing.isEmpty { return }
    let parts = [Self.sentence(missing), gap?.content].compactMap(\.self)
    let what = parts.isEmpty ? "between frames" : parts.joined(separator: ": ")
    report(Corruption(gap?.range ?? offset..<offset, what, in: path))
  }

  private static func sentence(_ missing: Range<UInt64>) -> String? {
    if missing.isEmpty { return nil }
    let (first, last) = (missing.lowerBound, missing.upperBound - 1)
    return first == last ? "frame \(first) is missing" : "frames \(first) to \(last) are missing"
  }

  /// The offsets of frames that stand behind a frame with a greater ordinal.
  private static func late(_ frames: [ArchiveFile.Frame]) -> Set<Int> {
    var (late, highest) = (Set<Int>(), UInt64(0))
    for frame in frames {
      if frame.header.ordinal < highest { late.insert(frame.offset) }
      highest = max(highest, frame.header.ordinal)
    }
    return late
  }

  /// The frames by ordinal; of those with the same ordinal, one that can be read comes first.
  private static func sorted(
    _ frames: [ArchiveFile.Frame], _ isIntact: (ArchiveFile.Frame) -> Bool
  ) -> [ArchiveFile.Frame] {
    var sorted = frames.sorted {
      ($0.header.ordinal, $0.offset) < ($1.header.ordinal, $1.offset)
    }
    var last: UInt64?
    for index in sorted.indices.dropLast() {
      let ordinal = sorted[index].header.ordinal
      defer { last = ordinal }
      // All but the first frame with an ordinal were checked when they were found.
      if ordinal != last, ordinal == sorted[index + 1].header.ordinal, !isIntact(sorted[index]) {
        sorted.swapAt(index, index + 1)
      }
    }
    return sorted
  }
}
