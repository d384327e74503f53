package import MMLogFormat

/// Which records of a session's ring its archives already hold: the "exactly once" of FORMAT.md, 5.
package struct Coverage {
  private var ranges: [UInt64: [Range<Int>]] = [:]
  private var lowestGeneration: UInt64 = 0
  /// Whether an archive lacks something that it, or the ring, says it has.
  package private(set) var hasDamage = false

  package init() {}

  /// Takes in the frames of one archive of the session.
  package mutating func add(_ archive: ArchiveFile) {
    hasDamage = hasDamage || !archive.damage.isEmpty
    for frame in archive.frames where frame.header.type == .records { add(frame.header) }
  }

  /// Takes in a frame that is known to be on disk whole.
  package mutating func add(_ header: FrameHeader) {
    lowestGeneration = max(lowestGeneration, header.lowestGeneration)
    for range in header.ranges where range.from < range.to {
      ranges[range.generation, default: []].append(Int(range.from)..<Int(range.to))
    }
  }

  /// Forgets what a frame claimed whose payload turned out to be damaged.
  package mutating func remove(_ header: FrameHeader) {
    hasDamage = true
    for range in header.ranges where range.from < range.to {
      // Only one: a recovery that was cut off later may have archived the same range again, and well.
      let claimed = Int(range.from)..<Int(range.to)
      guard let index = ranges[range.generation]?.firstIndex(of: claimed) else { continue }
      ranges[range.generation]?.remove(at: index)
    }
  }

  /// Takes in that an archive lacks something that the ring says it has.
  package mutating func distrust() { hasDamage = true }

  /// Whether the record at `offset` of a segment is in an archive.
  ///
  /// - Parameter trustsDrained: Whether the machine has been running ever since, so that what the
  ///   segment's header says was still true when it was read.
  package func contains(_ segment: SegmentHeader, offset: Int, trustsDrained: Bool) -> Bool {
    // What was archived into a damaged frame may be nowhere but in the ring.
    if !hasDamage {
      if trustsDrained && offset < segment.drained { return true }
      if segment.generation < lowestGeneration { return true }
    }
    return ranges[segment.generation]?.contains { $0.contains(offset) } ?? false
  }
}
