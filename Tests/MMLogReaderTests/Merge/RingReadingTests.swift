import MMLogFormat
import MMLogReader
import MMLogSystem
import TestSupport
import Testing

@Suite struct RingReadingTests {
  let log = TestLog()

  /// The segment's header says where the records end.
  @Test("missing records at the end of a sealed segment are corruption")
  func missingRecordsAtTheEndOfASealedSegmentAreCorruption() {
    log.write("a", ticks: 1)
    let place = log.write(TestRecord(ticks: 2, site: log.textSite, words: [1, 98]))
    log.seal(1)
    log.write("b", ticks: 3, thread: 2)
    log.put([UInt8](repeating: 0, count: place.count), at: place.lowerBound)
    let reading = log.read()
    #expect(reading.messages == ["a", "b"])
    #expect(reading.corruption.map(\.offset) == [place.lowerBound])
    #expect(reading.corruption.map(\.size) == [place.count])
  }

  @Test(
    "of two copies of a ring the later one is read, whichever is found first",
    arguments: [["a.ring", "b.ring"], ["b.ring", "a.ring"]])
  func laterCopy(names: [String]) {
    let folder = TemporaryDirectory()
    log.write("a", ticks: 1)
    folder.put(names[0], log.ring)
    log.write("b", ticks: 2)
    folder.put(names[1], log.ring)
    #expect(Reading([folder.path]).messages == ["a", "b"])
  }

  @Test("records of two threads come in the order of their ticks")
  func recordsOfTwoThreadsComeInTheOrderOfTheirTicks() {
    log.write("a", ticks: 10, thread: 1)
    log.write("b", ticks: 20, thread: 2)
    log.write("c", ticks: 30, thread: 1)
    let reading = log.read()
    #expect(reading.trace == ["<", "a", "b", "c", ">"])
    #expect(reading.ends.map(\.how) == [.powerLost])
    #expect(reading.corruption.isEmpty)
  }

  @Test("a record says where it comes from") func aRecordSaysWhereItComesFrom() throws {
    let label = log.label("matching")
    log.write(
      TestRecord(
        ticks: 1_500_000_000, site: log.textSite, label: label, level: .warning,
        flags: [.metadata, .unterminated, .cut],
        words: ValueWords.argument(.text("hi")) + ValueWords.metadata([("venue", .text("XETR"))])),
      thread: 3)
    let record = try #require(log.read().records.first)
    #expect(record.time == TestLog.epoch + 1_500_000_000)
    #expect(record.level == .warning && record.label == "matching")
    #expect(record.thread.ordinal == 3 && record.thread.id == 1003)
    #expect(record.thread.name == "worker3")
    #expect(record.file == "App/Main.swift" && record.line == 7 && record.function == "run()")
    #expect(record.isCut && record.isUnterminated)
    #expect(record.fields.map(\.name) == ["venue"])
    #expect(record.session.identity.hostName == "tokyo")
  }

  @Test("a threads order is kept where its clock goes back")
  func aThreadsOrderIsKeptWhereItsClockGoesBack() {
    log.write("a", ticks: 50)
    log.write("b", ticks: 20)
    log.write("c", ticks: 40, thread: 2)
    let reading = log.read()
    #expect(reading.messages == ["c", "a", "b"])
    #expect(reading.records.map(\.ticks) == [40, 50, 50])
  }

  @Test("a threads records go on in its next segment") func aThreadsRecordsGoOnInItsNextSegment() {
    for index in 0..<200 { log.write("record \(index)", ticks: UInt64(index)) }
    #expect(log.read().messages == (0..<200).map { "record \($0)" })
  }

  @Test("a flipped bit costs one record") func aFlippedBitCostsOneRecord() {
    log.write("a", ticks: 1)
    let place = log.write(TestRecord(ticks: 2, site: log.textSite, words: [1, 98]))
    log.write("c", ticks: 3)
    log.corruptRing(at: place.lowerBound + 33)
    let reading = log.read()
    #expect(reading.trace == ["<", "a", "!", "c", ">"])
    #expect(reading.corruption.map(\.offset) == [place.lowerBound])
    #expect(reading.corruption.map(\.size) == [place.count])
  }

  @Test("an unknown call site is corruption") func anUnknownCallSiteIsCorruption() {
    let place = log.write(TestRecord(ticks: 2, site: 99, words: []))
    log.write("b", ticks: 3)
    let reading = log.read()
    #expect(reading.trace == ["<", "!", "b", ">"])
    #expect(reading.corruption.first?.what.contains("99") == true)
    #expect(reading.corruption.first?.offset == place.lowerBound)
  }

  @Test("a corrupted entry of the dictionary costs its records")
  func aCorruptedEntryOfTheDictionaryCostsItsRecords() {
    let site = log.site(.literal("lost"))
    log.write("kept", ticks: 1)
    log.write(TestRecord(ticks: 2, site: site))
    log.corruptRing(at: log.geometry.dictionaryOffset + 24)
    let reading = log.read()
    #expect(reading.messages == ["kept"])
    #expect(reading.corruption.count == 2)
  }

  @Test("a record can carry its call site") func aRecordCanCarryItsCallSite() {
    let site = CallSite(
      file: "A/B.swift", function: "f", line: 1, column: 1,
      parts: [.literal("n = "), .argument(type: .int)])
    let entry = DictionaryEntry.callSite(id: 0, site).encoded(seed: log.seed(0))
    log.write(
      TestRecord(
        ticks: 1, flags: .inlineCallSite, words: [5] + entry + [UInt64(entry.count)]))
    #expect(log.read().messages == ["n = 5"])
  }

  @Test("a record of a shared segment names its thread")
  func aRecordOfASharedSegmentNamesItsThread() {
    log.write("named", ticks: 1, thread: 5)
    let site = log.textSite
    log.write(
      TestRecord(ticks: 2, site: site, flags: .thread, words: [5 | 1005 << 32, 1, 97]), thread: 0)
    let threads = log.read().records.map(\.thread)
    #expect(threads.map(\.ordinal) == [5, 5])
    #expect(threads.map(\.name) == ["worker5", "worker5"])
  }

  @Test("a truncated ring gives what is there") func aTruncatedRingGivesWhatIsThere() {
    log.write("a", ticks: 1, thread: 1)
    log.write("b", ticks: 2, thread: 2)
    log.ring.removeLast(log.ring.count - log.geometry.offset(ofSegment: 1) - 16)
    let reading = log.read()
    #expect(reading.messages == ["a"])
    #expect(reading.corruption.count == 1)
  }

  @Test("a corrupted segment header costs that segment")
  func aCorruptedSegmentHeaderCostsThatSegment() {
    log.write("a", ticks: 1, thread: 1)
    log.write("b", ticks: 2, thread: 2)
    log.corruptRing(at: log.geometry.offset(ofSegment: 0) + SegmentLayout.threadID)
    let reading = log.read()
    #expect(reading.messages == ["b"])
    #expect(reading.corruption.map(\.size) == [log.geometry.segmentSize])
  }

  /// The places are those of the first pair, and of a slot of each parity; the other slots are
  /// used.
  @Test("a clock reading with a wrong checksum is reported", arguments: RingAreas.usual.clockPairs)
  func aClockReadingWithAWrongChecksumIsReported(place: Int) {
    log.write("a", ticks: 1)
    for ordinal in 1...2 as ClosedRange<UInt32> {
      let pair = ClockPair(ticks: 0, wall: TestLog.epoch, monotonic: 0, ordinal: ordinal)
      let slot = Int(ordinal % 2) * ClockPairLayout.size
      log.put(pair.encoded, at: RingLayout.clockPairSlots + slot)
    }
    log.corruptRing(at: place + ClockPairLayout.wall)

    let reading = log.read()

    #expect(reading.corruption.map(\.offset) == [place])
    #expect(reading.corruption.map(\.size) == [ClockPairLayout.size])
    #expect(reading.records.map(\.time) == [TestLog.epoch + 1])
  }

  @Test(
    "a ring without clock readings has the clock of the archives, or the session's start",
    arguments: [true, false])
  func aRingWithoutClockReadings(hasArchive: Bool) {
    log.frameClock = TickClock(ticks: 0, wall: TestLog.epoch, rate: 2 << 32)
    log.write("a", ticks: 1000)
    if hasArchive { log.archive() }
    log.write("b", ticks: 2000)
    let clocks = log.areas.clocks
    log.put([UInt8](repeating: 0, count: clocks.count), at: clocks.lowerBound)

    let reading = log.read()

    let times = [2000, 4000].map { TestLog.epoch + (hasArchive ? $0 : 0) }
    #expect(reading.records.map(\.time) == times)
    #expect(reading.corruption.map(\.offset) == [clocks.lowerBound])
    #expect(reading.corruption.map(\.size) == [clocks.count])
  }

  @Test("a segment that was written to another place, too, is read once", arguments: [0, 5])
  func aSegmentThatWasWrittenToAnotherPlaceIsReadOnce(place: Int) {
    log.write("a", ticks: 1)
    log.seal(1)
    log.write("b", ticks: 2)
    let (segment, copy) = (log.geometry.offset(ofSegment: 1), log.geometry.offset(ofSegment: place))
    log.put(Array(log.ring[segment..<segment + log.geometry.segmentSize]), at: copy)

    let reading = log.read()

    #expect(reading.messages == (place == 0 ? ["b"] : ["a", "b"]))
    #expect(reading.corruption.map(\.offset) == [copy])
    #expect(reading.corruption.map(\.size) == [log.geometry.segmentSize])
    #expect(reading.corruption.first?.what == "segment \(place): it is a copy of segment 1")
  }

  @Test("a clock reading that a death cut off is no corruption")
  func aClockReadingThatADeathCutOffIsNoCorruption() {
    log.write("a", ticks: 1)
    log.put([1, 2, 3, 4], at: RingLayout.clockPairSlots + ClockPairLayout.wall)
    let reading = log.read()
    #expect(reading.messages == ["a"] && reading.corruption.isEmpty)
  }

  @Test(
    "a clock reading that is being written again is no corruption",
    arguments: RingAreas.usual.clockPairs)
  func aClockReadingThatIsWrittenAgain(place: Int) {
    log.write("a", ticks: 1)
    for ordinal in 1...2 as ClosedRange<UInt32> {
      let pair = ClockPair(ticks: 0, wall: TestLog.epoch, monotonic: 0, ordinal: ordinal)
      let slot = Int(ordinal % 2) * ClockPairLayout.size
      log.put(pair.encoded, at: RingLayout.clockPairSlots + slot)
    }
    log.put([UInt8](repeating: 0, count: 8), at: place + ClockPairLayout.ordinal)
    let reading = log.read()
    #expect(reading.messages == ["a"] && reading.corruption.isEmpty)
  }

  @Test("losses are reported at the end") func lossesAreReportedAtTheEnd() {
    var ledger = LossLedger()
    ledger[.ringFull, .info] = 3
    log.put(ledger.encoded, at: RingLayout.ledger)
    let reading = log.read()
    #expect(reading.trace == ["<", "$", ">"])
    #expect(reading.losses == [ledger])
  }

  @Test("a ring that is locked is of a living process")
  func aRingThatIsLockedIsOfALivingProcess() throws {
    log.write("a", ticks: 1)
    let file = try File.open(log.save()[0], [.read, .write])
    let isLocked = try file.tryLock()
    #expect(isLocked)
    #expect(Reading([log.folder.path]).ends == [.running])
    try file.unlock()
    #expect(Reading([log.folder.path]).ends.map(\.how) == [.powerLost])
  }
}

@Suite struct FragmentTests {
  let log = TestLog()
  let text = String(repeating: "0123456789", count: 300)
  var record: TestRecord {
    TestRecord(ticks: 5, site: log.textSite, words: ValueWords.argument(.text(text)))
  }

  @Test("fragments become one record") func fragmentsBecomeOneRecord() {
    log.writeFragments(record, partWords: 50)
    log.write("after", ticks: 6)
    #expect(log.read().messages == [text, "after"])
  }

  @Test("fragments of two threads do not mix") func fragmentsOfTwoThreadsDoNotMix() {
    for part in 1...2 { log.writeFragments(record, thread: UInt32(part), partWords: 40) }
    #expect(log.read().messages == [text, text])
  }

  @Test("fragments cross frames and the ring") func fragmentsCrossFramesAndTheRing() {
    log.writeFragments(record, partWords: 150, range: 0..<1)
    log.archive()
    log.writeFragments(record, partWords: 150, range: 1..<2)
    log.archive()
    log.writeFragments(record, partWords: 150, range: 2..<3)
    #expect(log.read().messages == [text])
  }

  @Test("a record without its last fragment is unfinished")
  func aRecordWithoutItsLastFragmentIsUnfinished() {
    log.writeFragments(record, partWords: 50, range: 0..<3)
    #expect(log.read().unfinished.map(\.size) == [1200])
    log.write("after", ticks: 6)
    #expect(log.read().trace == ["<", "?", "after", ">"])
  }

  /// If the beginning of a flight record was captured and the rest evicted, this does not show that
  /// its thread died.
  @Test("a flight record without its rest is reported as one")
  func aFlightRecordWithoutItsRestIsReportedAsOne() throws {
    let log = TestLog(archiveLevel: .info)
    let record = TestRecord(
      ticks: 5, site: log.textSite, level: .debug, words: ValueWords.argument(.text(text)))
    log.writeFragments(record, partWords: 50, range: 0..<3)
    log.archive(areFlight: true)
    let unfinished = log.read().unfinished
    #expect(unfinished.map(\.isFlight) == [true])
    #expect(
      unfinished.map(\.summary).allSatisfy { $0.contains("1200 bytes") && !$0.contains("died") })
  }
}

#if DEBUG
  @Suite struct UnreadableFileTests {
    /// A fault of the file system that does not come again.
    @Test(
      "what cannot be read is reported and nothing comes twice",
      arguments: [SystemCall.pread, .openat, .fstat, .readdir])
    func whatCannotBeReadIsReportedAndNothingComesTwice(call: SystemCall) throws {
      let log = TestLog(bootID: Host.bootID())
      for index in 0..<20 {
        log.write("record \(index)", ticks: UInt64(index))
        if index == 4 { log.archive() }
        if index == 9 { log.archive(isPublished: false) }
      }
      log.save()
      let all = (0..<20).map { "record \($0)" }
      #expect(Reading([log.folder.path]).messages == all)
      for onCall in 1...40 {
        ForcedFault.force(call, errno: 5, onCall: onCall, under: log.folder.path)
        let reading = Reading([log.folder.path])
        ForcedFault.clear(under: log.folder.path)
        #expect(Set(reading.messages).count == reading.messages.count, "\(onCall)")
        let isReported = !reading.unreadable.isEmpty || !reading.corruption.isEmpty
        #expect(reading.messages == all || isReported, "\(onCall)")
      }
    }
  }
#endif
