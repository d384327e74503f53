/// What stands in the place of a flight record that was erased, so that what follows it is found.
///
/// Its header word is stored first, and alone says that nothing of the record counts any more: its
/// checksum covers only the word's own low half. Then the words behind it are zeroed. So a process
/// that dies in between leaves no half of a record.
package enum ErasedRecord {
  /// The header word of an erased record.
  ///
  /// - Parameters:
  ///   - length: The record's length in bytes.
  ///   - seed: The seed of the segment's generation.
  package static func header(length: Int, seed: UInt32) -> UInt64 {
    let low = UInt32(truncatingIfNeeded: UInt64(length / wordSize) | RecordLayout.erasedKind)
    return UInt64(check(low, seed)) << 32 | UInt64(low)
  }

  /// The length in bytes of the erased record that begins with a word; nil if none does, or if
  /// `room` is too small for it.
  static func length(_ header: UInt64, room: Int, seed: UInt32) -> Int? {
    let low = UInt32(truncatingIfNeeded: header)
    guard header & 0xFF00_0000 == RecordLayout.erasedKind,
      case let length = Int(header & RecordLayout.lengthMask) * wordSize,
      length >= RecordLayout.bodyWord * wordSize, length <= room,
      check(low, seed) == UInt32(truncatingIfNeeded: header >> 32)
    else { return nil }
    return length
  }

  private static func check(_ low: UInt32, _ seed: UInt32) -> UInt32 {
    withUnsafeBytes(of: low.littleEndian) { crc32cState(seed, $0) }
  }
}
