/// What a segment says of its present use.
package struct SegmentHeader: Equatable, Sendable {
  package var generation: UInt64
  package var state: UInt32
  /// Records before this offset from the segment's start are in an archive.
  package var drained: Int
  package var thread: ThreadIdentity
  /// Where a sealed segment's records end; 0 while it is open.
  package var end: Int
  package var ordinalInThread: UInt64

  package var isFree: Bool { generation == 0 || state == SegmentLayout.stateFree }

  /// Reads the header of a segment. Throws for one that cannot be.
  ///
  /// - Parameters:
  ///   - segment: The segment, or what a truncated file has of it.
  ///   - size: How large the whole segment is; default: as large as what is given.
  package init(_ segment: UnsafeRawBufferPointer, size: Int? = nil) throws(FormatError) {
    guard segment.count > SegmentLayout.size else { throw .truncated }
    generation = segment.load(SegmentLayout.generation, as: UInt64.self)
    state = segment.load(SegmentLayout.state, as: UInt32.self)
    drained = Int(segment.load(SegmentLayout.drained, as: UInt32.self))
    end = Int(segment.load(SegmentLayout.end, as: UInt32.self))
    ordinalInThread = segment.load(SegmentLayout.ordinalInThread, as: UInt64.self)
    thread = ThreadIdentity(
      ordinal: segment.load(SegmentLayout.threadOrdinal, as: UInt32.self),
      id: segment.load(SegmentLayout.threadID, as: UInt32.self),
      name: segment.text(SegmentLayout.threadName, SegmentLayout.threadNameSize))
    guard !isFree else { return }
    guard segmentCheck(segment) == segment.load(SegmentLayout.check, as: UInt32.self) else {
      throw .wrongCheck
    }
    let offsets = SegmentLayout.size...max(segment.count, size ?? 0)
    guard offsets.contains(drained), end == 0 || offsets.contains(end),
      drained % wordSize == 0, end % wordSize == 0, state <= SegmentLayout.stateSealed
    else { throw .invalid("segment header") }
  }
}

/// The check of a segment header's fields that stay as they are for as long as its generation.
///
/// Allocates nothing: a signal handler may open a segment.
package func segmentCheck(_ segment: UnsafeRawBufferPointer) -> UInt32 {
  func part(_ from: Int, _ to: Int) -> UnsafeRawBufferPointer { segment.slice(from, to - from) }
  var state = crc32cState(.max, part(SegmentLayout.generation, SegmentLayout.state))
  state = crc32cState(state, part(SegmentLayout.threadOrdinal, SegmentLayout.end))
  let ordinal = SegmentLayout.ordinalInThread
  return ~crc32cState(state, part(ordinal, ordinal + wordSize))
}

/// A thread of the process that logged.
package struct ThreadIdentity: Hashable, Sendable {
  /// Counts threads in the order in which they first logged, from 1; 0 where several share a segment.
  package var ordinal: UInt32
  /// The operating system's id, which it may give again to a later thread.
  package var id: UInt32
  /// At most 16 bytes.
  package var name: String

  package init(ordinal: UInt32, id: UInt32, name: String) {
    self.ordinal = ordinal
    self.id = id
    self.name = name
  }

  /// Reads an entry of a frame's thread table, of ``ThreadLayout/size`` bytes.
  init(_ bytes: UnsafeRawBufferPointer) {
    ordinal = bytes.load(ThreadLayout.ordinal, as: UInt32.self)
    id = bytes.load(ThreadLayout.threadID, as: UInt32.self)
    name = bytes.text(ThreadLayout.name, SegmentLayout.threadNameSize)
  }

  /// Writes an entry of a frame's thread table.
  func encode(into output: UnsafeMutableRawBufferPointer, at offset: Int) {
    output.store(ordinal, offset + ThreadLayout.ordinal)
    output.store(id, offset + ThreadLayout.threadID)
    output.store(text: name, offset + ThreadLayout.name, SegmentLayout.threadNameSize)
  }
}
