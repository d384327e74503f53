/// Where the areas of a ring are. Sizes in bytes.
package struct RingGeometry: Equatable, Sendable {
  package var dictionaryOffset: Int
  package var dictionarySize: Int
  /// Where the segments' uses are.
  package var usesOffset: Int
  package var segmentsOffset: Int
  package var segmentSize: Int
  package var segmentCount: Int

  /// The geometry of a new ring: dictionary after the file header, then the
  /// segments' uses, segments at a page's edge after them.
  ///
  /// - Parameter isEncrypted: Whether there has to be room for key slots before the dictionary.
  package init(
    dictionarySize: Int, segmentSize: Int, segmentCount: Int, isEncrypted: Bool = false
  ) {
    dictionaryOffset = RingLayout.dictionary + (isEncrypted ? KeySlotsLayout.areaSize : 0)
    self.dictionarySize = dictionarySize
    usesOffset = dictionaryOffset + paddedSize(dictionarySize)
    segmentsOffset = (usesOffset + segmentCount * wordSize + 4095) & ~4095
    self.segmentSize = segmentSize
    self.segmentCount = segmentCount
  }

  package var fileSize: Int { segmentsOffset + segmentSize * segmentCount }

  /// Where the segments' uses are.
  package var uses: Range<Int> { usesOffset..<usesOffset + segmentCount * wordSize }

  /// The offset of the word that says a segment's use.
  package func use(ofSegment index: Int) -> Int { usesOffset + index * wordSize }

  /// The offset of a segment, which must be one of the ring's.
  package func offset(ofSegment index: Int) -> Int {
    precondition(index >= 0 && index < segmentCount)
    return segmentsOffset + index * segmentSize
  }

  init(checking bytes: UnsafeRawBufferPointer) throws(FormatError) {
    let size = bytes.load(RingLayout.fileSize, as: UInt64.self)
    let fields = [
      RingLayout.dictionaryOffset, RingLayout.dictionarySize, RingLayout.segmentsOffset,
      RingLayout.segmentSize,
    ].map { bytes.load($0, as: UInt64.self) }
    let uses = bytes.load(RingLayout.usesOffset, as: UInt64.self)
    let count = UInt64(bytes.load(RingLayout.segmentCount, as: UInt32.self))
    let header = bytes.load(RingLayout.segmentHeaderSize, as: UInt32.self)
    // Small enough that no sum and product below overflows.
    guard size <= RingLayout.largestFile, fields.allSatisfy({ $0 <= size && $0 % 8 == 0 }),
      header == SegmentLayout.size, fields[0] >= RingLayout.dictionary,
      fields[0] + fields[1] <= fields[2], fields[1] <= RingLayout.largestDictionary,
      fields[3] > UInt64(SegmentLayout.size), fields[3] <= RingLayout.largestSegment,
      count > 0, count <= RingLayout.maximumSegments, count <= (size - fields[2]) / fields[3],
      uses % 8 == 0, uses >= fields[0] + fields[1], uses <= fields[2],
      count * UInt64(wordSize) <= fields[2] - uses
    else { throw .invalid("geometry") }
    dictionaryOffset = Int(fields[0])
    dictionarySize = Int(fields[1])
    usesOffset = Int(uses)
    segmentsOffset = Int(fields[2])
    segmentSize = Int(fields[3])
    segmentCount = Int(count)
  }

  func encode(into out: UnsafeMutableRawBufferPointer) {
    out.store(UInt64(fileSize), RingLayout.fileSize)
    out.store(UInt64(dictionaryOffset), RingLayout.dictionaryOffset)
    out.store(UInt64(dictionarySize), RingLayout.dictionarySize)
    out.store(UInt64(segmentsOffset), RingLayout.segmentsOffset)
    out.store(UInt64(segmentSize), RingLayout.segmentSize)
    out.store(UInt32(segmentCount), RingLayout.segmentCount)
    out.store(UInt32(SegmentLayout.size), RingLayout.segmentHeaderSize)
    out.store(UInt64(usesOffset), RingLayout.usesOffset)
  }
}
