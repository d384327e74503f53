/// What a segment says of its present use.
package struct SegmentHeader: Equatable, Sendable {
  package var generation: UInt64
  package var state: UInt32
  /// Records before this offset from the segment's start are in an archive. If it cannot be
  /// determined, where the first one is.
  package var archived: Int
  package var thread: ThreadIdentity
  /// Where a sealed segment's records end; 0 while it is open, or if it cannot be determined.
  package var end: Int
  /// Who numbers its entries, and the number of the first one: an entry's number is that and its
  /// index in the segment, flight records not counted.
  package var writer: UInt32
  package var firstNumber: UInt64
  /// Which stream its records are encrypted with; 0: what stands there is clear.
  package var stream: UInt64
  /// Flight records before this offset are in an archive, or evicted. Not of the header itself: of
  /// the segment's ``SegmentUse``, once somebody has checked there.
  package var captured = SegmentLayout.size

  /// Whether nothing is in it. One that is just being emptied, or of which only the state is wrong,
  /// is in use.
  package let isFree: Bool

  /// Reads the header of a segment. Throws for one that cannot be.
  ///
  /// - Parameters:
  ///   - segment: The segment, or what a truncated file has of it.
  ///   - size: How large the whole segment is; default: as large as what is given.
  package init(_ segment: UnsafeRawBufferPointer, size: Int? = nil) throws(FormatError) {
    guard segment.count > SegmentLayout.size else { throw .truncated }
    generation = segment.load(SegmentLayout.generation, as: UInt64.self)
    state = segment.load(SegmentLayout.state, as: UInt32.self)
    let places = SegmentLayout.size...max(segment.count, size ?? 0)
    archived =
      segment.place(SegmentLayout.archived, SegmentLayout.archivedChecksum, in: places)
      ?? SegmentLayout.size
    end = segment.place(SegmentLayout.end, SegmentLayout.endChecksum, in: places) ?? 0
    writer = segment.load(SegmentLayout.writer, as: UInt32.self)
    firstNumber = segment.load(SegmentLayout.firstNumber, as: UInt64.self)
    stream = segment.load(SegmentLayout.stream, as: UInt64.self)
    thread = ThreadIdentity(
      ordinal: segment.load(SegmentLayout.threadOrdinal, as: UInt32.self),
      id: segment.load(SegmentLayout.threadID, as: UInt32.self),
      name: segment.text(SegmentLayout.threadName, SegmentLayout.threadNameSize))
    let isRight = segmentChecksum(segment) == segment.load(SegmentLayout.checksum, as: UInt32.self)
    // Where the writer stores `archivedChecksum`, only generation 0 says that a segment is free. A
    // wrong state then costs no records.
    let saysMore = isRight && segment.load(SegmentLayout.archivedChecksum, as: UInt32.self) != 0
    isFree = generation == 0 || state == SegmentLayout.stateFree && !saysMore
    if !isFree && !isRight { throw .wrongChecksum }
  }
}

extension UnsafeRawBufferPointer {
  /// A place in the segment, or nil if it is none, or its complement says another.
  func place(_ offset: Int, _ checksum: Int, in places: ClosedRange<Int>) -> Int? {
    let place = load(offset, as: UInt32.self)
    let complement = load(checksum, as: UInt32.self)
    // Zero: from a writer that did not store it.
    guard complement == 0 || complement == ~place, places.contains(Int(place)),
      Int(place) % wordSize == 0
    else { return nil }
    return Int(place)
  }
}

/// The checksum of a segment header's fields that stay as they are for as long as its generation.
///
/// Allocates nothing: a signal handler may open a segment.
package func segmentChecksum(_ segment: UnsafeRawBufferPointer) -> UInt32 {
  func part(_ from: Int, _ to: Int) -> UnsafeRawBufferPointer { segment.slice(from, to - from) }
  var state = crc32cState(.max, part(SegmentLayout.generation, SegmentLayout.state))
  state = crc32cState(state, part(SegmentLayout.threadOrdinal, SegmentLayout.end))
  state = crc32cState(state, part(SegmentLayout.firstNumber, SegmentLayout.archivedChecksum))
  return ~crc32cState(state, part(SegmentLayout.writer, SegmentLayout.size))
}

/// What ``segmentChecksum(_:)`` is over, in its order.
let segmentChecksumParts = [
  SegmentLayout.generation..<SegmentLayout.state,
  SegmentLayout.threadOrdinal..<SegmentLayout.end,
  SegmentLayout.firstNumber..<SegmentLayout.archivedChecksum,
  SegmentLayout.writer..<SegmentLayout.size,
]
