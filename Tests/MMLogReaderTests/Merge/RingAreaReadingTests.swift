import MMLogAnalysis
import MMLogFormat
import MMLogReader
import MMLogSystem
import TestSupport
import Testing

/// Rings of other writers, and rings whose table of areas is corrupted.
@Suite struct RingAreaReadingTests {
  private static let messages = (1...3).map { "record \($0)" }

  private static let losses = {
    var losses = LossLedger()
    losses[.ringFull, .info] = 3
    return losses
  }()

  private static func log(
    areas: RingAreas = .usual, dictionary: Int = RingLayout.dictionary
  ) -> TestLog {
    var geometry = TestLog.usualGeometry
    geometry.dictionaryOffset += dictionary - RingLayout.dictionary
    geometry.usesOffset += dictionary - RingLayout.dictionary
    geometry.segmentsOffset += dictionary - RingLayout.dictionary
    let log = TestLog(bootID: Host.bootID(), geometry: geometry, areas: areas)
    for (index, message) in messages.enumerated() { log.write(message, ticks: UInt64(index)) }
    return log
  }

  /// Puts something into each area that a reader reads.
  private static func fillAreas(of log: TestLog) {
    let areas = log.areas
    let pair = ClockPair(ticks: 0, wall: TestLog.epoch + 7, monotonic: 0, ordinal: 1)
    log.put(pair.encoded, at: areas.clocks.lowerBound + ClockPairLayout.slots)
    log.put(losses.encoded, at: areas.ledger.lowerBound)
    let end = SessionEnd(.terminated, time: TestLog.epoch + 9, signal: 15)
    log.put(end.encoded, at: areas.sessionState.lowerBound + SessionStateLayout.ending)
  }

  private static func check(_ reading: Reading) {
    #expect(reading.messages == messages)
    #expect(reading.records.map(\.time) == (0..<3).map { TestLog.epoch + 7 + $0 })
    #expect(reading.losses == [losses])
    #expect(reading.ends.map(\.how) == [.terminated])
  }

  @Test("a ring with an area that nobody knows is read whole")
  func aRingWithAnAreaThatNobodyKnowsIsReadWhole() {
    let log = Self.log(areas: .usual, dictionary: 16384)
    Self.fillAreas(of: log)
    log.putArea(8, kind: 77, offset: 1352, size: 168)
    log.put([UInt8](repeating: 0xEE, count: 168), at: 1352)
    let reading = log.read()
    Self.check(reading)
    #expect(reading.corruption.isEmpty)
  }

  @Test("areas are read where the table says") func areasAreReadWhereTheTableSays() {
    var areas = RingAreas.usual
    (areas.sessionState, areas.clocks) = (8200..<8264, 9000..<9096)
    areas.stateSlots = 16384..<24576
    (areas.ledger, areas.control, areas.crash) = (10000..<10512, nil, 12000..<15584)
    let log = Self.log(areas: areas, dictionary: 24576)
    log.putState()
    Self.fillAreas(of: log)
    let reading = log.read()
    Self.check(reading)
    #expect(reading.corruption.isEmpty)
    log.save()
    let files = LogFiles([.path(log.folder.path)])
    #expect(files.overview().map(\.stateInWords.texts.count) == [TestLog.state.count])
    log.put(CrashReport.bytes(frames: [], registers: 0, module: "/bin/orders"), at: 12000)
    #expect(log.read().trace.contains("#"))
  }

  enum Fault: CaseIterable { case zeros, garbage, overlap, outside }

  @Test("a corrupted table is reported and costs nothing", arguments: Fault.allCases)
  func aCorruptedTableIsReportedAndCostsNothing(fault: Fault) {
    let log = Self.log()
    Self.fillAreas(of: log)
    switch fault {
    case .zeros: log.put([UInt8](repeating: 0, count: 512), at: 512)
    case .garbage: log.put([UInt8](repeating: 0xA5, count: 64), at: 520)
    case .overlap: log.putArea(2, kind: 3, offset: 1088, size: 512)
    case .outside: log.putArea(2, kind: 3, offset: UInt64(log.ring.count), size: 512)
    }
    let reading = log.read()
    Self.check(reading)
    #expect(reading.corruption.map(\.offset) == [512] && reading.corruption.map(\.size) == [512])
    #expect(reading.corruption.first?.what.hasPrefix("area table: ") == true)
  }
}
