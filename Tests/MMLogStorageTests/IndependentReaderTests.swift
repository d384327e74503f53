import MMLogFormat
import MMLogSystem
import TestSupport
import Testing

/// Compares what the independent reader reports of corruption with what LogReader reports.
@Suite struct IndependentReaderTests {
  private let log = TestLog(bootID: Host.bootID())

  /// Archives one record.
  ///
  /// - Returns: The range of the record's frames in the archive.
  private func archive(_ ticks: UInt64) -> Range<Int> {
    let start = log.archives.last?.count ?? 0
    log.write("record \(ticks)", ticks: ticks)
    log.archive()
    return start..<(log.archives.last?.count ?? start)
  }

  private func check(_ messages: [String], hasTrouble: Bool) throws {
    log.save()
    let result = try readInPython([log.folder.path])
    #expect(result.difference(from: readHere([log.folder.path])) == nil)
    #expect(result.records.map(\.message) == messages && result.hasTrouble == hasTrouble)
  }

  @Test("gaps of ordinals are reported") func gapsOfOrdinalsAreReported() throws {
    let frames = (1...3).map { archive($0) }
    log.close()
    log.writesRing = false
    try check(["record 1", "record 2", "record 3"], hasTrouble: false)
    log.archives[0].removeSubrange(frames[1])
    try check(["record 1", "record 3"], hasTrouble: true)
  }

  @Test("frames that are there twice are read once")
  func framesThatAreThereTwiceAreReadOnce() throws {
    let frames = (1...2).map { archive($0) }
    log.writesRing = false
    log.archives[0] += log.archives[0][frames[1]]
    try check(["record 1", "record 2"], hasTrouble: true)
  }

  @Test("what an archive says of a number counts, and another entry of the ring is reported")
  func anotherEntryOfTheRingIsReported() throws {
    _ = archive(1)
    log.write("record 2", ticks: 2)
    try check(["record 1", "record 2"], hasTrouble: false)
    let site = CallSite(
      file: "Bpp/Main.swift", function: "run()", line: 7, column: 3,
      parts: [.argument(type: .string)])
    let entry = DictionaryEntry.callSite(id: log.textSite, site).encoded(seed: log.seed(0))
    log.put(entry.withUnsafeBytes { Array($0) }, at: log.geometry.dictionaryOffset)
    try check(["record 1", "record 2"], hasTrouble: true)
    let files = readHere([log.folder.path]).records.map(\.file)
    #expect(files == ["App/Main.swift", "App/Main.swift"])
  }

  @Test("entries of two words are read") func entriesOfTwoWordsAreRead() throws {
    log.sessionFields([("replaced", .bool(true))])
    log.sessionFields([])
    let keys = UInt64(log.keySet())
    let site = log.site(.literal("no fields"))
    log.write(
      TestRecord(ticks: 1, site: site, flags: .metadata, words: [keys << BlockLayout.keySetShift]))
    try check(["no fields"], hasTrouble: false)
    log.archive()
    try check(["no fields"], hasTrouble: false)
    #expect(readHere([log.folder.path]).records.first?.sessionFields == nil)
  }

  @Test("of several last states the last one counts")
  func ofSeveralLastStatesTheLastOneCounts() throws {
    log.lastState([("phase", .text("earlier"))])
    log.lastState([("phase", .text("later"))])
    _ = archive(1)
    log.writesRing = false
    let state = try stateInPython(log.save())
    #expect(state.count == 1 && state[0].contains("later"), "\(state)")
  }

  @Test("survived signals without a record are losses of a dead session")
  func survivedSignalsWithoutARecordAreLossesOfADeadSession() throws {
    log.write("record 1", ticks: 1)
    log.put([0, 2, 2], at: RingLayout.crash)
    try check(["record 1"], hasTrouble: true)
  }

  @Test("the newest archive of a dead session is missed")
  func theNewestArchiveOfADeadSessionIsMissed() throws {
    _ = archive(1)
    log.store(1, at: RingLayout.newestArchive)
    try check(["record 1"], hasTrouble: false)
    log.store(2, at: RingLayout.newestArchive)
    try check(["record 1"], hasTrouble: true)
  }

  @Test("frames that the ring knows of are missed")
  func framesThatTheRingKnowsOfAreMissed() throws {
    let frames = (1...2).map { archive($0) }
    log.store(1, at: RingLayout.newestArchive)
    log.store(UInt32(log.frameCount), at: RingLayout.newestFrames)
    try check(["record 1", "record 2"], hasTrouble: false)
    log.archives[0].removeSubrange(frames[1])
    try check(["record 1", "record 2"], hasTrouble: true)
  }

  @Test("a segment that was written to another place, too, is read once", arguments: [0, 5])
  func aSegmentThatWasWrittenToAnotherPlaceIsReadOnce(place: Int) throws {
    log.write("record 1", ticks: 1)
    log.seal(1)
    log.write("record 2", ticks: 2)
    let (segment, copy) = (log.geometry.offset(ofSegment: 1), log.geometry.offset(ofSegment: place))
    log.put(Array(log.ring[segment..<segment + log.geometry.segmentSize]), at: copy)
    try check(place == 0 ? ["record 2"] : ["record 1", "record 2"], hasTrouble: true)
  }

  @Test("a ring without clock readings has the clock of the archives, or the session's start")
  func aRingWithoutClockReadings() throws {
    log.write("record 1", ticks: 1)
    let clocks = log.areas.clocks
    log.put([UInt8](repeating: 0, count: clocks.count), at: clocks.lowerBound)
    try check(["record 1"], hasTrouble: true)
    log.frameClock = TickClock(ticks: 0, wall: TestLog.epoch, rate: 2 << 32)
    log.archive()
    log.write("record 2", ticks: 1000)
    try check(["record 1", "record 2"], hasTrouble: true)
  }
}
