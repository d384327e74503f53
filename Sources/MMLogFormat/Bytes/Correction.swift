// A single wrong bit is corrected in the bytes that everything else depends on: a file header, an
// area table, a segment's header, a dictionary entry.
//
// A wrong bit changes a CRC32C by a pattern that says how far the bit is from the end. In up to 655
// bytes the code has a Hamming distance of 6 (G. Castagnoli et al., "Optimization of cyclic
// redundancy-check codes", 1993): what looks like one wrong bit is that, or five at least.

/// The maximum number of bytes in which a wrong bit is searched for.
private let longestCorrected = 655

/// Which bit of `count` bytes is wrong, counted from the first byte's lowest bit.
///
/// - Parameter difference: The checksum that the bytes have, exclusive-or the one that they should
///   have.
/// - Returns: nil if not exactly one bit is wrong.
private func wrongBit(of count: Int, _ difference: UInt32) -> Int? {
  guard count <= longestCorrected else { return nil }
  let polynomial: UInt32 = 0x82F6_3B78
  var pattern = polynomial
  for bit in (0..<count * 8).reversed() {
    if pattern == difference { return bit }
    pattern = pattern >> 1 ^ (pattern & 1 == 0 ? 0 : polynomial)
  }
  return nil
}

extension UnsafeMutableRawBufferPointer {
  fileprivate func flip(bit: Int, at offset: Int) { self[offset + bit / 8] ^= 1 << UInt8(bit % 8) }

  /// Corrects a wrong bit in bytes under a checksum, or in the checksum itself.
  ///
  /// - Parameters:
  ///   - parts: Where the bytes are, in the order in which the checksum takes them.
  ///   - checksum: Where the checksum is, of 4 bytes.
  ///   - difference: As in ``wrongBit(of:_:)``.
  /// - Returns: False if not exactly one bit is wrong.
  fileprivate func correct(_ parts: [Range<Int>], checksum: Int, _ difference: UInt32) -> Bool {
    if difference.nonzeroBitCount == 1 {
      flip(bit: difference.trailingZeroBitCount, at: checksum)
      return true
    }
    guard var bit = wrongBit(of: parts.reduce(0) { $0 + $1.count }, difference) else {
      return false
    }
    for part in parts {
      if bit < part.count * 8 {
        flip(bit: bit, at: part.lowerBound)
        return true
      }
      bit -= part.count * 8
    }
    return false
  }

  /// Corrects a wrong bit in a file header, or in the area table of a ring, that is whole.
  ///
  /// - Returns: Whether there was one.
  package func correctFileHeader() -> Bool {
    let difference = UnsafeRawBufferPointer(self).checksumDifference(at: FileHeaderLayout.checksum)
    return difference != 0
      && correct([0..<FileHeaderLayout.checksum], checksum: FileHeaderLayout.checksum, difference)
  }

  /// Corrects a wrong bit in the header of a segment in use.
  ///
  /// - Returns: Whether there was one.
  package func correctSegmentHeader() -> Bool {
    let bytes = UnsafeRawBufferPointer(self)
    guard bytes.load(SegmentLayout.state, as: UInt32.self) != SegmentLayout.stateFree else {
      return false
    }
    let difference = segmentChecksum(bytes) ^ bytes.load(SegmentLayout.checksum, as: UInt32.self)
    return difference != 0
      && correct(segmentChecksumParts, checksum: SegmentLayout.checksum, difference)
  }

  /// Corrects wrong bits in dictionary entries that follow one another, at most one in each.
  ///
  /// - Returns: Where the corrected entries are.
  package func correctEntries(seed: UInt32) -> [Range<Int>] {
    var scanner = EntryScanner(UnsafeRawBufferPointer(self), seed: seed)
    while scanner.next() != nil {}
    return scanner.corruption.flatMap { correctEntries(in: $0, seed: seed) }
  }

  /// Corrects the entries that the corruption begins with: where several follow one another, they
  /// are one corruption.
  private func correctEntries(in corruption: Range<Int>, seed: UInt32) -> [Range<Int>] {
    var (rest, corrected) = (corruption, [Range<Int>]())
    while !rest.isEmpty, let length = correctEntry(in: rest, seed: seed) {
      corrected.append(rest.lowerBound..<rest.lowerBound + length)
      rest = rest.lowerBound + length..<rest.upperBound
    }
    return corrected
  }

  /// Corrects the entry at the beginning of the corruption, and returns its length.
  private func correctEntry(in corruption: Range<Int>, seed: UInt32) -> Int? {
    let part = UnsafeMutableRawBufferPointer(rebasing: self[corruption])
    if let length = part.correctEntry(seed: seed) { return length }
    // The wrong bit may be in its length.
    for bit in 0..<Int(RecordLayout.lengthBits) {
      part.flip(bit: bit, at: 0)
      if let length = part.entryLength, part.entryDifference(length, seed) == 0 { return length }
      part.flip(bit: bit, at: 0)
    }
    return nil
  }

  /// Corrects the entry that these bytes begin with, given that its length is right.
  private func correctEntry(seed: UInt32) -> Int? {
    guard let length = entryLength else { return nil }
    let (parts, header) = ([wordSize..<length, 0..<4], Array(self[..<wordSize]))
    guard correct(parts, checksum: 4, entryDifference(length, seed)) else { return nil }
    if entryLength == length { return length }
    // The wrong bit would be in the length, but the difference was calculated with this length.
    store(bytes: header, 0)
    return nil
  }

  private var entryLength: Int? {
    let length = framedLength(UnsafeRawBufferPointer(self), 0) ?? 0
    return (2 * wordSize...longestCorrected).contains(length) ? length : nil
  }

  private func entryDifference(_ length: Int, _ seed: UInt32) -> UInt32 {
    let entry = UnsafeRawBufferPointer(self).slice(0, length)
    return entryChecksum(entry, seed: seed) ^ entry.load(4, as: UInt32.self)
  }
}
