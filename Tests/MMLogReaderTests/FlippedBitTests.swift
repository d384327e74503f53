import MMLogFormat
import MMLogReader
import MMLogSystem
import TestSupport
import Testing

/// Single wrong bits in places where an uncorrected bit would cost more than one record.
/// `mmlog-torture flips` flips all bits.
@Suite struct FlippedBitTests {
  private static func log(_ count: UInt64 = 6) -> TestLog {
    let log = TestLog(bootID: Host.bootID())
    for index in 0..<count { log.write("record \(index)", ticks: index, thread: 1) }
    log.seal(1)
    return log
  }

  private static let whole = (0..<6).map { "record \($0)" }

  /// One byte of each field. The checksum shows which bit is wrong, wherever that bit is.
  private static let ofEveryFile = [
    FileHeaderLayout.magic, FileHeaderLayout.version, FileHeaderLayout.fileHeaderSize,
    FileHeaderLayout.compatibleFeatures, FileHeaderLayout.incompatibleFeatures,
    FileHeaderLayout.byteOrderProbe, FileHeaderLayout.pageSize, FileHeaderLayout.session,
    FileHeaderLayout.bootID, FileHeaderLayout.processID, FileHeaderLayout.startTime,
    FileHeaderLayout.processName, FileHeaderLayout.hostName, FileHeaderLayout.timeZone,
    FileHeaderLayout.storeName, FileHeaderLayout.checksum,
  ]
  private static let ofRings = [
    RingLayout.fileSize, RingLayout.dictionaryOffset, RingLayout.dictionarySize,
    RingLayout.segmentsOffset, RingLayout.segmentSize, RingLayout.segmentCount,
    RingLayout.segmentHeaderSize, RingLayout.archiveLevel, RingLayout.isChained,
    RingLayout.spansDecide, RingLayout.usesOffset, RingLayout.spanLimit,
  ]
  private static let ofAreaTables = [
    AreaTableLayout.kind, AreaTableLayout.offset, AreaTableLayout.areaSize,
    AreaTableLayout.entrySize, AreaTableLayout.checksum,
  ]
  private static let ofArchives = [
    FileHeaderLayout.archiveNumber, FileHeaderLayout.archiveCreated,
    FileHeaderLayout.previousHead, FileHeaderLayout.isChained,
  ]
  private static let ofSegments = [
    SegmentLayout.generation, SegmentLayout.threadOrdinal, SegmentLayout.threadID,
    SegmentLayout.threadName, SegmentLayout.checksum, SegmentLayout.firstNumber,
    SegmentLayout.writer, SegmentLayout.stream,
  ]
  /// The header's checksum does not cover these fields.
  private static let ofSegmentsThatChange = [
    SegmentLayout.state, SegmentLayout.archived, SegmentLayout.end,
    SegmentLayout.archivedChecksum, SegmentLayout.endChecksum,
  ]

  @Test("in a file header, and in the table of a ring's areas, costs nothing")
  func inAFileHeaderCostsNothing() {
    let log = Self.log()
    let ring = log.ring
    let table = Self.ofAreaTables.map { FileHeaderLayout.size + $0 }
    for (index, byte) in (Self.ofEveryFile + Self.ofRings + table).enumerated() {
      log.ring = ring
      log.ring[byte] ^= 1 << UInt8(index % 8)
      expectCorrected(log, "byte \(byte) of the ring")
    }
    let archived = Self.log()
    archived.archive()
    archived.writesRing = false
    let archive = archived.archives[0]
    for (index, byte) in (Self.ofEveryFile + Self.ofArchives).enumerated() {
      archived.archives[0] = archive
      archived.archives[0][byte] ^= 1 << UInt8(index % 8)
      expectCorrected(archived, "byte \(byte) of the archive")
    }
  }

  private func expectCorrected(_ log: TestLog, _ what: String) {
    let reading = log.read()
    #expect(reading.messages == Self.whole, "\(what)")
    #expect(reading.corruption.map(\.size) == [FileHeaderLayout.size], "\(what)")
  }

  @Test("in a segment's header costs nothing") func inASegmentsHeaderCostsNothing() {
    let log = Self.log()
    log.storePlaces(ofSegment: 0)
    let ring = log.ring
    let bits =
      Self.ofSegments.enumerated().map { $1 * 8 + $0 }
      + Self.ofSegmentsThatChange.flatMap { byte in [0, 1, 7, 12, 31].map { byte * 8 + $0 } }
    for bit in bits {
      log.ring = ring
      log.ring[log.geometry.segmentsOffset + bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(log.read().messages == Self.whole, "bit \(bit)")
    }
  }

  @Test("in the dictionary costs nothing") func inTheDictionaryCostsNothing() {
    let log = Self.log()
    let start = log.geometry.dictionaryOffset
    let ring = log.ring
    let end = ring[start..<log.geometry.usesOffset].lastIndex { $0 != 0 } ?? start
    for byte in start...end {
      log.ring = ring
      log.ring[byte] ^= 1 << UInt8(byte % 8)
      let reading = log.read()
      #expect(reading.messages == Self.whole, "byte \(byte - start)")
      #expect(!reading.corruption.isEmpty, "byte \(byte - start)")
    }
  }
}

extension TestLog {
  /// Stores the complements of a segment's watermark and end, as writers do.
  fileprivate func storePlaces(ofSegment index: Int) {
    let start = geometry.offset(ofSegment: index)
    for (offset, complement) in [
      (SegmentLayout.archived, SegmentLayout.archivedChecksum),
      (SegmentLayout.end, SegmentLayout.endChecksum),
    ] {
      let place = ring.withUnsafeBytes { $0.load(start + offset, as: UInt32.self) }
      store(~place, at: start + complement)
    }
  }
}
