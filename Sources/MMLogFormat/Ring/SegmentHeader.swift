/// What a segment says of its present use.
package struct SegmentHeader: Equatable, Sendable {
  package var generation: UInt64
  package var state: UInt32
  /// Records before this offset from the segment's start are in an archive. If the offset cannot be
  /// determined, it is that of the first record.
  package var archived: Int
  package var thread: ThreadIdentity
  /// Where a sealed segment's records end; 0 while it is open, or if it cannot be determined.
  package var end: Int
  /// Who numbers the segment's entries, and the number of the first one. An entry's number is that
  /// number plus the entry's index in the segment, flight records not counted.
  package var writer: UInt32
  package var firstNumber: UInt64
  /// The stream that the segment's records are encrypted with; 0: they are not encrypted.
  package var stream: UInt64
  /// Flight records before this offset are in an archive, or evicted. This offset is not in the
  /// header itself, but in the segment's ``SegmentUse``: the caller sets it from there.
  package var captured = SegmentLayout.size

  /// Whether nothing is in the segment. A segment that is just being emptied, or of which only the
  /// state is wrong, is in use.
  package let isFree: Bool

  /// Reads the header of a segment. Throws for bytes that cannot be one.
  ///
  /// - Parameters:
  ///   - segment: The segment, or what a truncated file has of it.
  ///   - size: How large the whole segment is; default: as large as `segment`.
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
    // If the writer stores `archivedChecksum`, only generation 0 says that a segment is free. A
    // wrong state then costs no records.
    let saysMore = isRight && segment.load(SegmentLayout.archivedChecksum, as: UInt32.self) != 0
    isFree = generation == 0 || state == SegmentLayout.stateFree && !saysMore
    if !isFree && !isRight { throw .wrongChecksum }
  }
}

extension UnsafeRawBufferPointer {
  /// A place in the segment; nil if there is no such place, or if its complement contradicts it.
  func place(_ offset: Int, _ checksum: Int, in places: ClosedRange<Int>) -> Int? {
    let place = load(offset, as: UInt32.self)
    let complement = load(checksum, as: UInt32.self)
    // Zero: it was not stored, or not yet.
    guard complement == 0 || complement == ~place, places.contains(Int(place)),
      Int(place) % wordSize == 0
    else { return nil }
    return Int(place)
  }
}

/// The checksum of those fields of a segment header that do not change during a generation.
///
/// Allocates nothing: a signal handler may open a segment.
package func segmentChecksum(_ segment: UnsafeRawBufferPointer) -> UInt32 {
  func part(_ from: Int, _ to: Int) -> UnsafeRawBufferPointer { segment.slice(from, to - from) }
  var state = crc32cState(.max, part(SegmentLayout.generation, SegmentLayout.state))
  state = crc32cState(state, part(SegmentLayout.threadOrdinal, SegmentLayout.end))
  state = crc32cState(state, part(SegmentLayout.firstNumber, SegmentLayout.archivedChecksum))
  return ~crc32cState(state, part(SegmentLayout.writer, SegmentLayout.size))
}

/// The parts that ``segmentChecksum(_:)`` covers, in its order.
let segmentChecksumParts = [
  SegmentLayout.generation..<SegmentLayout.state,
  SegmentLayout.threadOrdinal..<SegmentLayout.end,
  SegmentLayout.firstNumber..<SegmentLayout.archivedChecksum,
  SegmentLayout.writer..<SegmentLayout.size,
]
