import MMLogFormat
import TestSupport
import Testing

@Suite struct RingAreaTests {
  private let log = TestLog()

  /// What is read of the table that the ring has.
  private func read() throws -> (areas: RingAreas, problem: String?) {
    let fileHeader = try log.ring.read { try RingHeader($0) }
    return (fileHeader.areas, fileHeader.areaProblem)
  }

  @Test("it is read as it was written") func itIsReadAsItWasWritten() throws {
    var areas = RingAreas.usual
    (areas.control, areas.crash) = (nil, nil)
    (areas.stateSlots, areas.switchCounts, areas.head) = (nil, nil, nil)
    (areas.sessionState, areas.clocks) = (4096..<4160, 4160..<4256)
    let fileHeader = RingHeader(identity: anyIdentity, geometry: log.geometry, areas: areas)
    let found = try fileHeader.encoded(pageSize: 4096).read { try RingHeader($0) }
    #expect(found == fileHeader && found.areaProblem == nil)
    #expect(found.areas.clockPairs == [4160, 4192, 4224])
  }

  @Test("areas that nobody knows are passed over")
  func areasThatNobodyKnowsArePassedOver() throws {
    for index in 8..<21 {
      log.putArea(index, kind: UInt32(index + 100), offset: UInt64(1312 + index * 8), size: 8)
    }
    let found = try read()
    #expect(found.areas == .usual && found.problem == nil)
  }

  /// Of one that is larger, what this version knows.
  @Test("an area may be larger than what is known of it")
  func anAreaMayBeLargerThanWhatIsKnownOfIt() throws {
    log.putArea(6, kind: 7, offset: 1184, size: 128)
    log.putArea(7, kind: 8, offset: 1312, size: 1536 - 1312)
    let found = try read()
    #expect(found.areas == .usual && found.problem == nil)
  }

  @Test("nothing counts behind the last entry") func nothingCountsBehindTheLastEntry() throws {
    log.putArea(3, kind: 0, offset: 1, size: 1)
    let found = try read()
    #expect(found.areas.control == nil && found.areas.crash == nil)
    #expect(found.areas.stateSlots == nil && found.problem == nil)
  }

  struct Entry: Sendable {
    var index = 7
    var kind: UInt32 = 99
    var offset: UInt64 = 1312
    var size: UInt64 = 8
    let sentence: String
  }

  @Test(
    "what cannot be is reported and the usual places count",
    arguments: [
      Entry(offset: 1316, sentence: "alignment of area 99"),
      Entry(size: 12, sentence: "alignment of area 99"),
      Entry(offset: 1016, sentence: "place of area 99"),
      Entry(offset: 0, sentence: "place of area 99"),
      Entry(offset: 16384, sentence: "place of area 99"),
      Entry(offset: .max - 7, sentence: "place of area 99"),
      Entry(size: .max - 7, sentence: "place of area 99"),
      Entry(size: 232, sentence: "overlap of areas 99 and 3"),
      Entry(size: 0, sentence: "size of area 99"),
      Entry(index: 2, kind: 3, offset: 1536, size: 504, sentence: "size of area 3"),
      Entry(offset: 1176, sentence: "overlap of areas 2 and 99"),
      Entry(offset: 4600, size: 16, sentence: "overlap of areas 4 and 99"),
      Entry(kind: 2, offset: 1312, size: 96, sentence: "second area 2"),
      Entry(index: 0, offset: 1024, size: 64, sentence: "lack of area 1"),
      Entry(index: 1, offset: 1088, size: 96, sentence: "lack of area 2"),
      Entry(index: 2, offset: 1536, size: 512, sentence: "lack of area 3"),
    ])
  func whatCannotBeIsReportedAndTheUsualPlacesCount(entry: Entry) throws {
    log.putArea(entry.index, kind: entry.kind, offset: entry.offset, size: entry.size)
    let found = try read()
    #expect(found.areas == .usual)
    #expect(found.problem?.hasPrefix("it has an impossible \(entry.sentence);") == true)
  }

  @Test("one wrong bit is put right") func oneWrongBitIsPutRight() throws {
    log.putArea(8, kind: 99, offset: 1352, size: 8)
    let ring = log.ring
    for bit in 512 * 8..<1024 * 8 {
      log.ring = ring.flipping(bit: bit)
      let found = try read()
      #expect(found.areas == .usual, "bit \(bit)")
      #expect(found.problem == "one bit was wrong, and is corrected", "bit \(bit)")
    }
  }

  @Test("a table that is cut or has another checksum is reported")
  func aTableThatIsCutOrHasAnotherChecksumIsReported() throws {
    var generator = SeededGenerator(seed: 5)
    let ring = log.ring
    for _ in 0..<1000 {
      let bits = (0..<2).map { _ in Int.random(in: 512 * 8..<1024 * 8, using: &generator) }
      if bits[0] == bits[1] { continue }
      log.ring = ring.flipping(bit: bits[0]).flipping(bit: bits[1])
      let found = try read()
      #expect(found.areas == .usual, "bits \(bits)")
      #expect(found.problem?.hasPrefix("its checksum is wrong;") == true, "bits \(bits)")
    }
    for count in 512..<1024 {
      log.ring = Array(ring.prefix(count))
      #expect(try read().areas == .usual)
      #expect(try read().problem?.hasPrefix("it ends too early;") == true)
    }
  }

  @Test("hostile areas lie before the dictionary and do not overlap")
  func hostileAreasLieBeforeTheDictionaryAndDoNotOverlap() throws {
    var generator = SeededGenerator(seed: 11)
    let ring = log.ring
    var good = 0
    for round in 0..<20_000 {
      log.ring = ring
      for _ in 0..<Int.random(in: 1...3, using: &generator) {
        log.putArea(
          Int.random(in: 0..<21, using: &generator),
          kind: UInt32.random(in: 0...9, using: &generator),
          offset: UInt64.random(in: 100...2200, using: &generator) * 8,
          size: generator.next() >> UInt64.random(in: 45..<64, using: &generator) & ~7)
      }
      let (areas, problem) = try read()
      if problem == nil && areas != .usual { good += 1 }
      let optional = [
        areas.control, areas.crash, areas.stateSlots, areas.switchCounts, areas.head,
      ].compactMap(\.self)
      let places = ([areas.sessionState, areas.clocks, areas.ledger] + optional)
        .sorted { $0.lowerBound < $1.lowerBound }
      #expect(places.allSatisfy { $0.lowerBound >= 1024 && $0.upperBound <= 16384 }, "\(round)")
      #expect(!zip(places, places.dropFirst()).contains { $0.overlaps($1) }, "round \(round)")
    }
    #expect(good > 10, "\(good)")
  }
}
