/// The word of a ring that says that a segment is in use, and up to where its flight records are
/// captured or evicted. It lies apart from the segment, so that it outlives the segment's header.
///
/// It is one word, so that it is stored whole or not at all. Its checksum begins with the
/// generation's seed, so that it says nothing of another use of the segment. It is zero while the
/// segment is free. While a segment is emptied, the word says that all of it is captured or
/// evicted.
package enum SegmentUse {
  /// The word of the use with this seed, if its flight records are captured up to an offset.
  package static func word(_ captured: Int, seed: UInt32) -> UInt64 {
    UInt64(check(UInt32(captured), seed)) << 32 | UInt64(UInt32(captured))
  }

  /// Up to where the flight records of the use with this seed are captured, in a segment of this
  /// size; nil if the word is not of this use.
  package static func captured(_ word: UInt64, seed: UInt32, segmentSize: Int) -> Int? {
    let place = UInt32(truncatingIfNeeded: word)
    guard check(place, seed) == UInt32(word >> 32), Int(place) % wordSize == 0,
      (SegmentLayout.size...segmentSize).contains(Int(place))
    else { return nil }
    return Int(place)
  }

  /// Whether a segment is being emptied, whatever use its word is of.
  package static func isBeingEmptied(_ word: UInt64, segmentSize: Int) -> Bool {
    UInt32(truncatingIfNeeded: word) == UInt32(segmentSize)
  }

  private static func check(_ place: UInt32, _ seed: UInt32) -> UInt32 {
    withUnsafeBytes(of: place.littleEndian) { crc32cState(seed, $0) }
  }
}
