import MMLogFormat
import MMLogReader
import MMLogSystem
import TestSupport
import Testing

/// Single wrong bits, wherever they cost more than one record unless something is done.
/// `mmlog-torture flips` flips all.
@Suite struct FlippedBitTests {
  private static func log(_ count: UInt64 = 6) -> TestLog {
    let log = TestLog(bootID: Host.bootID())
    for index in 0..<count { log.write("record \(index)", ticks: index, thread: 1) }
    log.seal(1)
    return log
  }

  private static let whole = (0..<6).map { "record \($0)" }

  /// The file header, and the table of the areas behind it.
  @Test("in a rings header costs nothing", arguments: Array(0..<1024))
  func inARingsHeaderCostsNothing(byte: Int) {
    let log = Self.log()
    log.ring[byte] ^= 1 << UInt8(byte % 8)
    let reading = log.read()
    #expect(reading.messages == Self.whole)
    #expect(reading.corruption.map(\.size) == [FileHeaderLayout.size])
  }

  @Test("in an archives header costs nothing", arguments: Array(0..<512))
  func inAnArchivesHeaderCostsNothing(byte: Int) {
    let log = Self.log()
    log.archive()
    log.writesRing = false
    log.archives[0][byte] ^= 1 << UInt8(byte % 8)
    let reading = log.read()
    #expect(reading.messages == Self.whole)
    #expect(reading.corruption.map(\.size) == [FileHeaderLayout.size])
  }

  /// Its state, what of it is archived, and where it ends are not under its checksum.
  @Test("in a segments header costs nothing", arguments: Array(0..<512))
  func inASegmentsHeaderCostsNothing(bit: Int) {
    let log = Self.log()
    log.storePlaces(ofSegment: 0)
    log.ring[log.geometry.segmentsOffset + bit / 8] ^= 1 << UInt8(bit % 8)
    #expect(log.read().messages == Self.whole)
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
  /// Stores the complements of what a segment says of its records, as writers do.
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
