import MMLogFormat
import MMLogStorage

/// Which frames hold which parts of a ring, so that a frame that repeats another one is found.
struct RingParts {
  private struct Key: Hashable {
    let range: RingRange
    let isFlight: Bool
  }

  private struct Holder {
    let frame: ArchiveFile.Frame
    /// Weak, so that an archive that has been read can be closed.
    private(set) weak var archive: ArchiveFile?
    /// Whether the frame can be read; nil if that was not needed yet.
    var isIntact: Bool?

    init(_ frame: ArchiveFile.Frame, of archive: ArchiveFile) {
      self.frame = frame
      self.archive = archive
    }
  }

  private var holders: [Key: Holder] = [:]
  private var unreadable: Set<FrameName> = []

  /// Notes that reading a frame failed: another frame with the same content is to be read.
  mutating func note(unreadable frame: FrameName) { unreadable.insert(frame) }

  /// Adds a frame of records.
  ///
  /// - Parameter index: The index of the frame in the archive.
  /// - Returns: Which frame has the same and can be read, in words; nil if there is none.
  mutating func add(_ index: Int, of archive: ArchiveFile) -> String? {
    let frame = archive.frames[index]
    let header = frame.header
    guard let range = header.ranges.first else { return nil }
    let key = Key(range: range, isFlight: header.isFlight)
    guard let holder = holders[key] else {
      holders[key] = Holder(frame, of: archive)
      return nil
    }
    let known = holder.frame.header
    // After a recovery that was cut off, another one may have archived the same part with the rest.
    guard known.ranges == header.ranges, known.summary.count == header.summary.count else {
      return nil
    }
    let isIntact = holder.isIntact ?? isIntact(holder)
    holders[key]?.isIntact = isIntact
    if isIntact { return "frame \(known.ordinal) of archive \(known.archive.number)" }
    holders[key] = Holder(frame, of: archive)
    return nil
  }

  /// Forgets the frames of all generations except some.
  mutating func forget(besides generations: Set<UInt64>) {
    holders = holders.filter { generations.contains($0.key.range.generation) }
  }

  private func isIntact(_ holder: Holder) -> Bool {
    if let archive = holder.archive { return archive.problem(of: holder.frame) == nil }
    // An archive is closed when all of it has been read.
    return !unreadable.contains(FrameName(holder.frame.header))
  }
}
