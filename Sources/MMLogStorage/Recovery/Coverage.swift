package import MMLogFormat

/// Which records of a session's ring its archives already hold: the "exactly once" of FORMAT.md, 5.
package struct Coverage {
  private var parts: [UInt64: SegmentParts] = [:]
  /// As `parts`, of flight records.
  private var flightParts: [UInt64: SegmentParts] = [:]
  private var lowestGeneration: UInt64 = 0
  /// The generations whose parts have changed since they were settled.
  private var unsettled: Set<UInt64> = []
  /// Whether an archive lacks something that it, or the ring, says it has.
  package private(set) var hasCorruption = false
  /// Whether a frame of flight records lacks something.
  private var hasFlightCorruption = false

  package init() {}

  /// Takes in the frames of one archive of the session.
  package mutating func add(_ archive: ArchiveFile) {
    hasCorruption = hasCorruption || !archive.isSound
    for frame in archive.frames where frame.header.type == .records { add(frame.header) }
  }

  /// Takes in a frame that is known to be on disk whole.
  package mutating func add(_ header: FrameHeader) {
    if !header.isFlight { lowestGeneration = max(lowestGeneration, header.lowestGeneration) }
    let kind = Self.kind(of: header)
    for range in header.ranges where range.from < range.to {
      unsettled.insert(range.generation)
      self[keyPath: kind][range.generation, default: SegmentParts()]
        .add(Int(range.from)..<Int(range.to))
    }
  }

  /// Removes the ranges of a frame whose payload turned out to be corrupted.
  package mutating func remove(_ header: FrameHeader) {
    if header.isFlight { hasFlightCorruption = true } else { hasCorruption = true }
    let kind = Self.kind(of: header)
    for range in header.ranges where range.from < range.to {
      unsettled.insert(range.generation)
      self[keyPath: kind][range.generation]?.remove(Int(range.from)..<Int(range.to))
    }
  }

  /// Which parts the ranges of a frame belong to.
  private static func kind(
    of header: FrameHeader
  ) -> WritableKeyPath<Coverage, [UInt64: SegmentParts]> {
    header.isFlight ? \.flightParts : \.parts
  }

  /// Whether frames have all of a part of the ring.
  package func contains(_ range: RingRange, areFlight: Bool) -> Bool {
    let parts = (areFlight ? flightParts : parts)[range.generation]
    return parts?.contains(Int(range.from)..<max(Int(range.from), Int(range.to))) ?? false
  }

  /// Notes that an archive lacks something that the ring says it has.
  package mutating func distrust() { hasCorruption = true }

  /// Takes in whether an archive before the newest one lacks its end. An archive is closed before
  /// its session begins the next one, so it has lost what the ring says it has.
  ///
  /// - Parameter archives: All of the session, in order.
  package mutating func checkEnds(of archives: [ArchiveFile]) {
    if archives.dropLast().contains(where: { !$0.isClosed }) { distrust() }
  }

  /// Whether the record at `offset` of a segment is in an archive.
  ///
  /// - Parameter trustsWatermarks: Whether the machine has been running ever since, so that the
  ///   watermark in the segment's header is to be believed.
  package func contains(_ segment: SegmentHeader, offset: Int, trustsWatermarks: Bool) -> Bool {
    // Records that were archived into a corrupted frame may be only in the ring.
    if !hasCorruption {
      if trustsWatermarks && offset < segment.archived { return true }
      if segment.generation < lowestGeneration { return true }
    }
    return parts[segment.generation]?.contains(offset) ?? false
  }

  /// Whether the flight record at `offset` of a segment is in an archive, or was evicted by a
  /// capture. The parameters are as in ``contains(_:offset:trustsWatermarks:)``.
  package func containsFlight(
    _ segment: SegmentHeader, offset: Int, trustsWatermarks: Bool
  ) -> Bool {
    if trustsWatermarks && !hasCorruption && !hasFlightCorruption && offset < segment.captured {
      return true
    }
    return flightParts[segment.generation]?.contains(offset) ?? false
  }

  /// Makes ``contains(_:offset:trustsWatermarks:)`` fast, until another frame is added.
  package mutating func settle() {
    for generation in unsettled {
      parts[generation]?.settle()
      flightParts[generation]?.settle()
    }
    unsettled = []
  }

  /// The generations of which frames have something.
  package var generations: Set<UInt64> { Set(parts.keys).union(flightParts.keys) }

  /// A lower bound for the count of ``generations``, at least half of it, without making the set.
  package var generationCount: Int { max(parts.count, flightParts.count) }

  /// Forgets what frames have of all generations except some.
  package mutating func forget(besides generations: Set<UInt64>) {
    parts = parts.filter { generations.contains($0.key) }
    flightParts = flightParts.filter { generations.contains($0.key) }
    unsettled = unsettled.filter { generations.contains($0) }
  }
}

/// Parts of a segment that frames hold. They may overlap, and a hostile file may have a million of
/// them.
private struct SegmentParts {
  /// How many frames hold each.
  private var counts: [Range<Int>: Int] = [:]
  /// The parts, merged where they overlap, in order; nil if they are to be merged anew.
  private var merged: [Range<Int>]?

  mutating func add(_ part: Range<Int>) {
    counts[part, default: 0] += 1
    merged = nil
  }

  /// Removes the part once: a recovery that was cut off later may have archived the same part
  /// again, in a frame that is right.
  mutating func remove(_ part: Range<Int>) {
    guard let count = counts[part] else { return }
    counts[part] = count > 1 ? count - 1 : nil
    merged = nil
  }

  func contains(_ offset: Int) -> Bool { contains(offset..<offset + 1) }

  func contains(_ part: Range<Int>) -> Bool {
    let offset = part.lowerBound
    let parts = merged ?? Self.merge(counts.keys)
    // Searches for the last part that does not begin behind `offset`.
    var (low, high) = (0, parts.count)
    while low < high {
      let middle = (low + high) / 2
      if parts[middle].lowerBound <= offset { low = middle + 1 } else { high = middle }
    }
    return low > 0 && parts[low - 1].contains(offset)
      && part.upperBound <= parts[low - 1].upperBound
  }

  mutating func settle() {
    if merged == nil { merged = Self.merge(counts.keys) }
  }

  private static func merge(_ parts: some Collection<Range<Int>>) -> [Range<Int>] {
    var merged: [Range<Int>] = []
    for part in parts.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = merged.last, part.lowerBound <= last.upperBound {
        merged[merged.count - 1] = last.lowerBound..<max(last.upperBound, part.upperBound)
      } else {
        merged.append(part)
      }
    }
    return merged
  }
}
