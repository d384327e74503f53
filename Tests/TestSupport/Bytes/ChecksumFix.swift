package import MMLogFormat

/// Corrects checksums, so that tests reach the code behind the checksum checks.
package enum ChecksumFix {
  package static func entries(_ bytes: [UInt8], seed: UInt32) -> [UInt8] {
    var bytes = bytes
    bytes.withUnsafeMutableBytes { fix($0, 0..<$0.count, seed: seed, entryChecksum) }
    return bytes
  }

  package static func archive(_ bytes: [UInt8]) -> [UInt8] {
    var bytes = bytes
    bytes.withUnsafeMutableBytes { bytes in
      guard fixFileHeader(bytes) else { return }
      for offset in stride(
        from: FileHeaderLayout.size, through: bytes.count - FrameLayout.size, by: 8)
      where load(bytes, offset, as: UInt64.self) == FrameLayout.markerValue {
        fixFrame(bytes, offset)
      }
      fixTrailer(Bytes(rebasing: bytes.suffix(TrailerLayout.size)))
    }
    return bytes
  }

  package static func ring(_ bytes: [UInt8]) -> [UInt8] {
    var bytes = bytes
    bytes.withUnsafeMutableBytes { bytes in
      guard fixFileHeader(bytes), bytes.count >= RingLayout.dictionary else { return }
      _ = fixFileHeader(Bytes(rebasing: bytes[FileHeaderLayout.size..<RingLayout.fileHeaderSize]))
      let session = session(bytes)
      fix(
        bytes, RingLayout.dictionary..<bytes.count,
        seed: checksumSeed(session: session, generation: 0), entryChecksum)
      let first = load(bytes, RingLayout.segmentsOffset, as: UInt64.self)
      let size = load(bytes, RingLayout.segmentSize, as: UInt64.self)
      guard first < UInt64(bytes.count),
        (UInt64(SegmentLayout.size + wordSize)...UInt64(bytes.count)).contains(size)
      else { return }
      for offset in stride(from: Int(first), through: bytes.count - Int(size), by: Int(size)) {
        fixSegment(bytes, offset..<offset + Int(size), session)
      }
    }
    return bytes
  }

  /// An area of state slots.
  package static func stateSlots(_ bytes: [UInt8]) -> [UInt8] {
    var bytes = bytes
    bytes.withUnsafeMutableBytes { bytes in
      var place = 0
      while place + StateSlotLayout.size <= bytes.count {
        let slot = Bytes(rebasing: bytes[place..<place + StateSlotLayout.size])
        place += StateSlotLayout.size
        let size = min(Int(slot[StateSlotLayout.nameSize]), StateSlotLayout.longestName)
        let name = slice(slot, StateSlotLayout.name..<StateSlotLayout.name + size)
        slot.store(
          StateSlots.head(type: slot[StateSlotLayout.type], name: name), StateSlotLayout.type)
        guard slot[StateSlotLayout.type] == 6 else { continue }
        for _ in 0..<2 where place + StateSlotLayout.size <= bytes.count {
          let copy = Bytes(rebasing: bytes[place..<place + StateSlotLayout.size])
          place += StateSlotLayout.size
          let count = paddedSize(min(Int(copy[0]), StateSlotLayout.longestText))
          let text = slice(copy, StateSlotLayout.copyText..<StateSlotLayout.copyText + count)
          copy.store(StateSlots.head(of: text, load(copy, 0, as: UInt64.self)), 0)
        }
      }
    }
    return bytes
  }

  private typealias Bytes = UnsafeMutableRawBufferPointer

  private static func load<T: FixedWidthInteger & BitwiseCopyable>(
    _ bytes: Bytes, _ offset: Int, as type: T.Type
  ) -> T {
    UnsafeRawBufferPointer(bytes).load(offset, as: type)
  }

  private static func slice(_ bytes: Bytes, _ range: Range<Int>) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: bytes[range])
  }

  private static func session(_ bytes: Bytes) -> SessionID {
    SessionID(
      words: (
        load(bytes, FileHeaderLayout.session, as: UInt64.self),
        load(bytes, FileHeaderLayout.session + 8, as: UInt64.self)
      ))
  }

  /// Corrects the checksum of a file's header, or of a ring's area table.
  private static func fixFileHeader(_ bytes: Bytes) -> Bool {
    guard bytes.count >= FileHeaderLayout.size else { return false }
    bytes.store(crc32c(slice(bytes, 0..<FileHeaderLayout.checksum)), FileHeaderLayout.checksum)
    return true
  }

  private static func fixFrame(_ bytes: Bytes, _ start: Int) {
    let rest = bytes.count - start
    let ranges = Int(load(bytes, start + FrameLayout.rangeCount, as: UInt32.self))
    let isChained = load(bytes, start + FrameLayout.flags, as: UInt8.self) & FrameLayout.chainedFlag
    let size =
      FrameLayout.size + ranges * FrameLayout.rangeSize
      + (isChained == 0 ? 0 : FrameHashLayout.size)
    guard size <= rest else { return }
    let stored = Int(load(bytes, start + FrameLayout.payloadSize, as: UInt32.self))
    bytes.store(UInt32(size), start + FrameLayout.headerSize)
    if stored <= rest - size {
      let payload = slice(bytes, start + size..<start + size + stored)
      bytes.store(crc32c(payload), start + FrameLayout.payloadChecksum)
    }
    bytes.store(UInt32(0), start + FrameLayout.checksum)
    bytes.store(crc32c(slice(bytes, start..<start + size)), start + FrameLayout.checksum)
  }

  /// One segment by itself.
  package static func segment(_ bytes: [UInt8], of session: SessionID) -> [UInt8] {
    var bytes = bytes
    bytes.withUnsafeMutableBytes { fixSegment($0, 0..<$0.count, session) }
    return bytes
  }

  private static func fixTrailer(_ bytes: Bytes) {
    guard UnsafeRawBufferPointer(bytes).starts(with: TrailerLayout.magicValue) else { return }
    bytes.store(crc32c(slice(bytes, 0..<TrailerLayout.checksum)), TrailerLayout.checksum)
  }

  private static func fixSegment(_ bytes: Bytes, _ range: Range<Int>, _ session: SessionID) {
    let segment = Bytes(rebasing: bytes[range])
    segment.store(segmentChecksum(UnsafeRawBufferPointer(segment)), SegmentLayout.checksum)
    let seed = checksumSeed(
      session: session, generation: load(segment, SegmentLayout.generation, as: UInt64.self))
    fix(segment, SegmentLayout.size..<segment.count, seed: seed, recordChecksum)
  }

  /// Corrects everything that is framed like a record, one after the other.
  private static func fix(
    _ bytes: Bytes, _ range: Range<Int>, seed: UInt32,
    _ checksum: (UnsafeRawBufferPointer, UInt32) -> UInt32
  ) {
    var offset = range.lowerBound
    while offset + 8 <= range.upperBound {
      let length = Int(load(bytes, offset, as: UInt32.self) & 0xFF_FFFF) * 8
      guard length >= 24, length <= range.upperBound - offset else { return }
      bytes.store(checksum(slice(bytes, offset..<offset + length), seed), offset + 4)
      offset += length
    }
  }
}
