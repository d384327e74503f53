import MMLogFormat
import MMLogStorage
import MMLogSystem

/// The file of a new ring: complete, locked and mapped.
struct RingFile: ~Copyable {
  let mapping: Mapping
  let lock: LockedFile
  /// The parts of the map whose first store would still cost a fault.
  let unpopulated: [Range<Int>]

  /// Makes, allocates, locks and maps the file.
  ///
  /// The file gets its name when it is complete, so that nobody ever sees a ring without a lock or
  /// a file header. Until then the file has no name, so that a crash leaves nothing. If the file
  /// system has no unnamed files, ``UnfinishedFiles`` sweeps what a crash leaves.
  ///
  /// - Throws: What failed; nothing is left behind then.
  static func make(
    _ name: String, in directory: borrowing Directory, _ fileHeader: RingHeader,
    _ keySlot: RingKeySlot?, _ firstPair: ClockPair, dictionarySize: Int
  ) throws(SystemError) -> RingFile {
    let geometry = fileHeader.geometry
    let unfinished = try UnfinishedRing.make(name, in: directory)
    do throws(SystemError) {
      let mapping = try map(unfinished.file, geometry, dictionarySize: dictionarySize)
      writeFileHeader(at: mapping.base, fileHeader)
      if let keySlot { write(keySlot, at: mapping.base) }
      RingClocks.write(firstPair, at: mapping.base + RingLayout.firstClockPair)
      TestPoint.reach(.ringHeaderWritten)
      try unfinished.finish(in: directory)
      TestPoint.reach(.ringNamed)
      return RingFile(
        mapping: mapping, lock: unfinished.take(),
        unpopulated: populatedLater(geometry, dictionarySize: dictionarySize))
    } catch {
      unfinished.discard(in: directory)
      throw error
    }
  }

  private static func map(
    _ file: borrowing File, _ geometry: RingGeometry, dictionarySize: Int
  ) throws(SystemError) -> Mapping {
    // Allocated, because a store to a sparse page on a full disk would be a SIGBUS; populated,
    // because the first store to a page would cost the caller a fault.
    let hole = dictionaryHole(geometry, dictionarySize: dictionarySize)
    try file.allocate(offset: 0, count: hole.lowerBound)
    try file.allocate(offset: hole.upperBound, count: geometry.fileSize - hole.upperBound)
    let mapping = try Mapping(file, count: geometry.fileSize)
    var start = 0
    let later = populatedLater(geometry, dictionarySize: dictionarySize) + [hole]
    for range in later.inOrder({ $0.lowerBound < $1.lowerBound }) {
      try populate(start..<range.lowerBound, of: mapping, file)
      start = range.upperBound
    }
    try populate(start..<geometry.fileSize, of: mapping, file)
    TestPoint.reach(.ringMapped)
    return mapping
  }

  /// Brings pages of a new file into memory, writable. Writes zeros first, as far as that succeeds:
  /// a fault would make the kernel read ahead, up to some MiB, in a file that has nothing to read.
  private static func populate(
    _ range: Range<Int>, of mapping: borrowing Mapping, _ file: borrowing File
  ) throws(SystemError) {
    try? file.writeZeros(offset: range.lowerBound, count: range.count)
    try mapping.populateForWriting(offset: range.lowerBound, count: range.count)
  }

  /// The part of the dictionary that gets space when it is needed, in whole pages; empty if the
  /// whole dictionary has space.
  private static func dictionaryHole(
    _ geometry: RingGeometry, dictionarySize: Int
  ) -> Range<Int> {
    let start = geometry.dictionaryOffset + dictionarySize
    return start..<max(start, geometry.usesOffset & ~4095)
  }

  /// The parts of a large ring that are populated after the store has opened: the dictionary and
  /// the segments, without their beginnings.
  private static func populatedLater(
    _ geometry: RingGeometry, dictionarySize: Int
  ) -> [Range<Int>] {
    let (entries, segments) = (64 << 10, 1 << 20)
    let first = geometry.segmentsOffset + segments
    guard first < geometry.fileSize else { return [] }
    let start = geometry.dictionaryOffset
    let dictionary = start + min(entries, dictionarySize)..<start + dictionarySize
    return [dictionary, first..<geometry.fileSize].filter { !$0.isEmpty }
  }

  private static func writeFileHeader(at base: UnsafeMutableRawPointer, _ fileHeader: RingHeader) {
    let bytes = fileHeader.encoded(pageSize: UInt32(Host.pageSize))
    base.copyMemory(from: bytes, byteCount: bytes.count)
    base.storeBytes(of: RingLayout.stateOpen, toByteOffset: RingLayout.state, as: UInt32.self)
  }

  private static func write(_ keySlot: RingKeySlot, at base: UnsafeMutableRawPointer) {
    let place = KeySlotPlaces.encoded(keySlot)
    for offset in stride(from: 0, to: KeySlotsLayout.areaSize, by: KeySlotsLayout.placeSize) {
      (base + RingLayout.keySlots + offset).copyMemory(from: place, byteCount: place.count)
    }
  }
}
