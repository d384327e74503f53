import CMMLogCore
import MMLogFormat
import TestSupport
import Testing

@Suite struct FileHeaderTests {
  private let geometry = RingGeometry(dictionarySize: 8192, segmentSize: 4096, segmentCount: 3)
  private var ring: [UInt8] {
    RingHeader(identity: anyIdentity, geometry: geometry).encoded(pageSize: 4096)
  }
  private var archive: [UInt8] {
    ArchiveHeader(identity: anyIdentity, number: 7, created: 9).encoded(pageSize: 4096)
  }

  /// Changes a file header and fixes its checksum; not that of a ring's areas.
  private func changed(
    _ fileHeader: [UInt8], _ change: (UnsafeMutableRawBufferPointer) -> Void
  ) -> [UInt8] {
    var fileHeader = fileHeader
    fileHeader.withUnsafeMutableBytes {
      change($0)
      $0.store(crc32c(UnsafeRawBufferPointer($0).slice(0, 508)), 508)
    }
    return fileHeader
  }

  private func error(ofRing bytes: [UInt8]) -> FormatError? {
    failure { _ = try bytes.read { try RingHeader($0) } }
  }

  @Test("file headers are read as they were written")
  func fileHeadersAreReadAsTheyWereWritten() throws {
    let (ringHeader, archiveHeader) = (
      try ring.read { try RingHeader($0) }, try archive.read { try ArchiveHeader($0) }
    )
    #expect(ringHeader == RingHeader(identity: anyIdentity, geometry: geometry))
    #expect(archiveHeader == ArchiveHeader(identity: anyIdentity, number: 7, created: 9))
    #expect(ring.count == 1024 && archive.count == 512)
    #expect(Array(ring[40..<56]) == anyIdentity.session.bytes)
  }

  /// One is corrected; CorrectionTests.
  @Test("flipped bits are noticed wherever they are")
  func flippedBitsAreNoticedWhereverTheyAre() throws {
    let (ring, archive) = (ring, archive)
    for bit in 0..<(512 * 8) {
      #expect(try ring.flipping(bit: bit).read { try RingHeader($0) }.isCorrected, "bit \(bit)")
      #expect(
        try archive.flipping(bit: bit).read { try ArchiveHeader($0) }.isCorrected, "bit \(bit)")
      let two = [bit, (bit * 7 + 100) % 4096]
      if two[0] == two[1] { continue }
      #expect(
        error(ofRing: ring.flipping(bit: two[0]).flipping(bit: two[1])) != nil, "bits \(two)")
    }
  }

  @Test("a file header cut anywhere is refused") func aFileHeaderCutAnywhereIsRefused() {
    for count in 0..<512 {
      let cut = Array(ring.prefix(count))
      #expect(error(ofRing: cut) == (count < 8 ? .foreign : .truncated), "\(count) bytes")
    }
  }

  @Test("each reason has its own error") func eachReasonHasItsOwnError() {
    #expect(error(ofRing: archive) == .foreign)
    #expect(error(ofRing: changed(ring) { $0.store(UInt32(3), 8) }) == .newerFormat)
    // A newer version may have its checksum elsewhere.
    var newer = ring
    newer[8] = 9
    #expect(error(ofRing: newer) == .newerFormat)
    #expect(error(ofRing: changed(ring) { $0.store(UInt64(1), 24) }) == .newerFormat)
    #expect(error(ofRing: changed(ring) { $0.store(UInt64.max, 16) }) == nil, "compatible features")
    for version in [0, 1] as [UInt32] {
      #expect(error(ofRing: changed(ring) { $0.store(version, 8) }) == .olderFormat)
    }
    for (offset, value) in [(12, 511), (32, 0x0403_0201)] as [(Int, UInt32)] {
      #expect(error(ofRing: changed(ring) { $0.store(value, offset) }) == .invalid("file header"))
    }
    #expect(error(ofRing: ring.flipping(bit: 800).flipping(bit: 900)) == .wrongChecksum)
  }

  /// A kind of file of a later version may have such a magic, and no wrong bit.
  @Test("a magic with a wrong bit under a right checksum is another kind of file")
  func aMagicWithAWrongBitUnderARightChecksumIsAnotherKindOfFile() {
    for bit in 0..<64 {
      let (ring, archive) = (
        changed(ring) { $0[bit / 8] ^= 1 << UInt8(bit % 8) },
        changed(archive) { $0[bit / 8] ^= 1 << UInt8(bit % 8) }
      )
      #expect(error(ofRing: ring) == .foreign, "bit \(bit)")
      #expect(failure { _ = try archive.read { try ArchiveHeader($0) } } == .foreign, "bit \(bit)")
    }
  }

  @Test("areas that do not fit are refused") func areasThatDoNotFitAreRefused() {
    let cases: [(String, Int, UInt64)] = [
      ("file size", 408, 8192), ("file size", 408, .max), ("dictionary offset", 416, 0),
      ("dictionary offset", 416, 4088), ("dictionary offset", 416, 8193),
      ("dictionary offset", 416, .max), ("dictionary size", 424, .max),
      ("dictionary size", 424, 8200),
      ("dictionary size", 424, 8196), ("segments", 432, 8), ("segments", 432, .max - 7),
      ("segments", 432, 16388), ("segment size", 440, 0), ("segment size", 440, 64),
      ("segment size", 440, 4100), ("segment size", 440, 1 << 40), ("segment size", 440, .max),
      ("uses", 464, 0), ("uses", 464, 8), ("uses", 464, 16376), ("uses", 464, 16385),
      ("uses", 464, 20464), ("uses", 464, 20480), ("uses", 464, .max - 7),
    ]
    for (name, offset, value) in cases {
      let bytes = changed(ring) { $0.store(value, offset) }
      #expect(error(ofRing: bytes) == .invalid("geometry"), "\(name) \(value)")
    }
    for (offset, value) in [(448, 0), (448, 4), (448, .max), (452, 72)] as [(Int, UInt32)] {
      let bytes = changed(ring) { $0.store(value, offset) }
      #expect(error(ofRing: bytes) == .invalid("geometry"), "u32 at \(offset): \(value)")
    }
  }

  @Test("hostile geometry throws or lies within the file")
  func hostileGeometryThrowsOrLiesWithinTheFile() throws {
    var generator = SeededGenerator(seed: 7)
    for round in 0..<2000 {
      let bytes = changed(ring) { fileHeader in
        for offset in [408, 416, 424, 432, 440, 448, 464] where Bool.random(using: &generator) {
          let value = generator.next() >> UInt64.random(in: 0..<64, using: &generator)
          fileHeader.store(value & ~UInt64.random(in: 0...7, using: &generator), offset)
        }
      }
      guard let fileHeader = try? bytes.read({ try RingHeader($0) }) else { continue }
      let found = fileHeader.geometry
      #expect(
        found.dictionaryOffset + found.dictionarySize <= found.segmentsOffset, "round \(round)")
      #expect(found.uses.lowerBound >= found.dictionaryOffset + found.dictionarySize)
      #expect(found.uses.upperBound <= found.segmentsOffset)
      let size = bytes.withUnsafeBytes { $0.load(408, as: UInt64.self) }
      #expect(found.fileSize <= size, "round \(round)")
    }
  }

  @Test("long names are cut at a characters edge") func longNamesAreCutAtACharactersEdge() throws {
    var identity = anyIdentity
    identity.processName = String(repeating: "é", count: 60)
    identity.hostName = String(repeating: "x", count: 63) + "é"
    identity.storeName = String(repeating: "s", count: 128)
    let bytes = ArchiveHeader(identity: identity, number: 1, created: 0).encoded(pageSize: 1)
    let fileHeader = try bytes.read { try ArchiveHeader($0) }
    #expect(fileHeader.identity.processName == String(repeating: "é", count: 32))
    #expect(fileHeader.identity.hostName == String(repeating: "x", count: 63))
    #expect(fileHeader.identity.storeName == identity.storeName)
  }

  @Test("a session ID is read from its text") func aSessionIDIsReadFromItsText() throws {
    var generator = SeededGenerator(seed: 3)
    for _ in 0..<100 {
      let id = SessionID(random: (generator.next(), generator.next()))
      #expect(SessionID(id.description) == id)
      let digits = Array(id.description)
      #expect(digits.count == 32 && digits[12] == "4" && "89ab".contains(digits[16]))
    }
    let text = "000102030405060708090a0b0c0d0e0f"
    let id = try #require(SessionID(text))
    #expect(id.bytes == Array(0...15) && id.description == text)
    for wrong in [
      "", "0", text + "0", text.uppercased(), "g" + text.dropFirst(), "é" + text.dropFirst(2),
    ] {
      #expect(SessionID(wrong) == nil, "\(wrong)")
    }
  }
}

@Suite struct SegmentHeaderTests {
  private let segment: [UInt8] = {
    var bytes = [UInt8](repeating: 0, count: 256)
    bytes.withUnsafeMutableBytes {
      $0.store(UInt64(9), 0)
      $0.store(SegmentLayout.stateSealed, 8)
      $0.store(UInt32(136), 12)
      $0.store(UInt32(3), 16)
      $0.store(UInt32(1003), 20)
      $0.store(text: "worker", 24, 16)
      $0.store(UInt32(192), 40)
      $0.store(UInt64(5), 48)
      $0.store(UInt32(77), 64)
      $0.store(segmentChecksum(UnsafeRawBufferPointer($0)), 44)
    }
    return bytes
  }()

  @Test("it is read as it was written") func itIsReadAsItWasWritten() throws {
    let header = try segment.read { try SegmentHeader($0) }
    #expect(header.generation == 9 && header.state == 2)
    #expect(header.archived == 136 && header.end == 192)
    #expect(header.thread == ThreadIdentity(ordinal: 3, id: 1003, name: "worker"))
    #expect(header.firstNumber == 5 && header.writer == 77 && !header.isFree)
  }

  /// CRC32C of bytes 0–7, 16–39, 48–55 and 64–127: FORMAT.md, 3.
  @Test("its checksum is over what does not change")
  func itsChecksumIsOverWhatDoesNotChange() throws {
    let covered = Array(segment[0..<8] + segment[16..<40] + segment[48..<56] + segment[64..<128])
    let checksum = covered.read { crc32c($0) }
    #expect(segment.withUnsafeBytes { $0.load(44, as: UInt32.self) } == checksum)
    for bit in 0..<1024 where covers(bit / 8) {
      let bytes = segment.flipping(bit: bit)
      #expect(
        failure { _ = try bytes.read { try SegmentHeader($0) } } == .wrongChecksum, "bit \(bit)")
    }
  }

  /// FORMAT.md, 3: the offset, and the seeded checksum of these four bytes.
  @Test("the use of a segment is of one generation and right or nothing")
  func theUseOfASegmentIsOfOneGenerationAndRightOrNothing() {
    let word = SegmentUse.word(128, seed: 7)
    #expect(word == mmlog_segment_use(128, 7), "which writers store")
    let checksum = [128, 0, 0, 0].read { crc32cState(7, $0) }
    #expect(word == UInt64(checksum) << 32 | 128)
    #expect(SegmentUse.captured(word, seed: 7, segmentSize: 256) == 128)
    #expect(SegmentUse.captured(word, seed: 8, segmentSize: 256) == nil)
    for bit in 0..<64 {
      #expect(SegmentUse.captured(word ^ 1 << bit, seed: 7, segmentSize: 256) == nil, "bit \(bit)")
    }
    for (offset, isPlace) in [
      (0, false), (120, false), (128, true), (132, false), (256, true), (264, false),
    ] {
      let found = SegmentUse.captured(
        SegmentUse.word(offset, seed: 7), seed: 7, segmentSize: 256)
      #expect(found == (isPlace ? offset : nil))
    }
  }

  @Test("a mapped segment is at each step of a use what readers take it for")
  func aMappedSegmentAtEachStepOfAUse() throws {
    // Of an earlier use: sealed, with records behind the header.
    var bytes = segment
    try bytes.withUnsafeMutableBytes { bytes in
      let base = try #require(bytes.baseAddress)
      let mapped = base.assumingMemoryBound(to: mmlog_segment.self)
      func header() throws -> SegmentHeader { try SegmentHeader(UnsafeRawBufferPointer(bytes)) }

      mmlog_set_segment_archived(mapped, 192)
      mmlog_set_segment_state(mapped, SegmentLayout.stateFree)
      #expect(try mmlog_segment_state(mapped) == 0 && !header().isFree, "its records are there")
      mapped.pointee.generation = 0
      #expect(try header().isFree)

      var use = mmlog_segment()
      (use.generation, use.stream) = (10, 6)
      (use.thread_ordinal, use.thread_id) = (4, 1004)
      use.thread_name = UnsafeRawBufferPointer(bytes).load(
        fromByteOffset: SegmentLayout.threadName, as: (UInt64, UInt64).self)
      (use.writer, use.first_number) = (78, 1 << 40)
      mmlog_write_segment(mapped, use)
      #expect(try mmlog_segment_state(mapped) == 0 && !header().isFree, "the generation says it")
      mmlog_set_segment_state(mapped, UInt32(MMLOG_SEGMENT_OPEN))
      let open = try header()
      #expect(open.state == SegmentLayout.stateOpen && open.generation == 10)
      #expect(open.archived == 128 && open.end == 0, "of the last use is nothing left")
      #expect(open.thread == ThreadIdentity(ordinal: 4, id: 1004, name: "worker"))
      #expect(open.writer == 78 && open.firstNumber == 1 << 40 && open.stream == 6)

      mmlog_set_segment_archived(mapped, 200)
      mmlog_set_segment_end(mapped, 248)
      mmlog_set_segment_state(mapped, UInt32(MMLOG_SEGMENT_SEALED))
      let sealed = try header()
      #expect(sealed.state == SegmentLayout.stateSealed && !sealed.isFree)
      #expect(sealed.archived == 200 && sealed.end == 248)
    }
  }

  private func covers(_ byte: Int) -> Bool {
    byte < 8 || (16..<40).contains(byte) || (44..<56).contains(byte) || (64..<128).contains(byte)
  }

  private func header(_ change: (UnsafeMutableRawBufferPointer) -> Void) throws -> SegmentHeader {
    var bytes = segment
    bytes.withUnsafeMutableBytes(change)
    return try bytes.read { try SegmentHeader($0) }
  }

  /// What is in the segment is then to be read from its beginning, and as far as it goes.
  @Test("offsets outside the segment say nothing")
  func offsetsOutsideTheSegmentSayNothing() throws {
    for value in [0, 64, 127, 129, 257, 264, .max, 128, 192, 256] as [UInt32] {
      let archived = try header { $0.store(value, 12) }.archived
      let end = try header { $0.store(value, 40) }.end
      let isPlace = [128, 192, 256].contains(value)
      #expect(
        archived == (isPlace ? Int(value) : 128) && end == (isPlace ? Int(value) : 0), "\(value)")
    }
  }

  @Test("offsets count only with their complements")
  func offsetsCountOnlyWithTheirComplements() throws {
    for (offset, complement, unknown) in [(12, 56, 128), (40, 60, 0)] {
      func read(_ place: UInt32, _ checksum: UInt32) throws -> Int {
        let header = try header {
          $0.store(place, offset)
          $0.store(checksum, complement)
        }
        return offset == 12 ? header.archived : header.end
      }
      #expect(try read(192, ~192) == 192 && read(192, 0) == 192)
      for bit in 0..<32 {
        #expect(try read(192 ^ 1 << bit, ~192) == unknown, "bit \(bit)")
        #expect(try read(192, ~192 ^ 1 << bit) == unknown, "bit \(bit) of the complement")
      }
    }
  }

  @Test("a free segment needs no checksum") func aFreeSegmentNeedsNoChecksum() throws {
    for offset in [0, 8] {
      let header = try header {
        $0.store(UInt64(0), offset)
        $0[16] = 99
      }
      #expect(header.isFree, "zero at \(offset)")
    }
  }

  /// A wrong bit may have made it look free, or it was just being emptied: what is in it counts.
  @Test("a segment with a right checksum is in use whatever its state says")
  func aSegmentWithARightChecksumIsInUseWhateverItsStateSays() throws {
    for state in [0, 3, 1 << 31] as [UInt32] {
      let header = try header {
        $0.store(state, 8)
        $0.store(~UInt32(136), 56)
      }
      #expect(!header.isFree, "state \(state)")
    }
  }

  @Test("a truncated segment may end where its file does not reach")
  func aTruncatedSegmentMayEndWhereItsFileDoesNotReach() throws {
    let cut = Array(segment.prefix(160))
    #expect(try cut.read { try SegmentHeader($0) }.end == 0, "there is nothing at 192")
    let header = try cut.read { try SegmentHeader($0, size: 256) }
    #expect(header.end == 192)
    #expect(
      failure { _ = try Array(segment.prefix(128)).read { try SegmentHeader($0) } } == .truncated)
  }
}
