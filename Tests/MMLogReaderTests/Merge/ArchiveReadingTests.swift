import MMLogFormat
import MMLogReader
import MMLogSystem
import TestSupport
import Testing

@Suite struct ArchiveReadingTests {
  let log = TestLog()

  init() { log.writesRing = false }

  /// Writes three frames, each with one record.
  private func writeThree() {
    for (index, text) in ["a", "b", "c"].enumerated() {
      log.write(text, ticks: UInt64(index + 1) * 100, level: index == 1 ? .error : .info)
      log.archive()
    }
  }

  private func frames() throws -> [ArchiveFileFrame] { try ArchiveFileFrame.all(log.archives[0]) }

  @Test("a closed archive is read to its end") func aClosedArchiveIsReadToItsEnd() {
    writeThree()
    log.close()
    let reading = log.read()
    #expect(reading.trace == ["<", "a", "b", "c", ">"])
    #expect(reading.ends == [.ended(SessionEnd(.closed, time: TestLog.epoch + 999))])
  }

  @Test("an archive without an end is of unknown fate")
  func anArchiveWithoutAnEndIsOfUnknownFate() {
    writeThree()
    #expect(log.read().ends == [.unknown])
  }

  @Test("a thread has its name in all records behind the one that names it")
  func aThreadHasItsNameInAllRecordsBehindTheOneThatNamesIt() {
    for (index, isNamed) in [false, true, false].enumerated() {
      log.namesThreads = isNamed
      log.write("\(index)", ticks: UInt64(index + 1) * 100)
      log.archive()
      log.seal(1)
    }
    let threads = log.read().records.map(\.thread)
    #expect(threads.map(\.name).dropFirst() == ["worker1", "worker1"])
    #expect(threads.allSatisfy { $0.ordinal == 1 && $0.id == 1001 })
  }

  @Test("frames that overlap are merged") func framesThatOverlapAreMerged() {
    log.write("a", ticks: 100, thread: 1)
    log.write("c", ticks: 300, thread: 1)
    log.archive()
    log.write("b", ticks: 200, thread: 2)
    log.write("d", ticks: 400, thread: 2)
    log.archive()
    #expect(log.read().messages == ["a", "b", "c", "d"])
  }

  @Test(
    "a frame that is archived again is given once, and reported", arguments: [false, true],
    [false, true])
  func aFrameThatIsArchivedAgain(hasRing: Bool, isInAnotherArchive: Bool) {
    log.writesRing = hasRing
    log.write("a", ticks: 100)
    log.write("b", ticks: 200)
    log.archive(isPublished: false)
    if isInAnotherArchive {
      log.close(nil)
      log.beginArchive()
    }
    log.archive()
    let reading = log.read()
    #expect(reading.messages == ["a", "b"])
    #expect(reading.corruption.count == 1)
  }

  @Test("what records of frames that take turns keep in memory is counted once")
  func whatRecordsOfFramesThatTakeTurnsKeepIsCountedOnce() {
    for thread in 1...2 as ClosedRange<UInt32> {
      for index in 0..<5 as Range<UInt64> {
        log.write("record \(index)", ticks: index * 100 + UInt64(thread), thread: thread)
      }
      log.archive()
    }
    var kept = KeptBytes()
    let records = log.read().records
    let sizes = records.map { kept.add($0) }
    // Each record takes memory itself.
    let own = MemoryLayout<LogReader.Record>.stride
    #expect(sizes.count { $0 > own } == 2 && sizes.count { $0 == own } == 8, "\(sizes)")
  }

  @Test("a corrupted payload costs its frame") func aCorruptedPayloadCostsItsFrame() throws {
    writeThree()
    let frame = try frames()[3]
    log.corruptArchive(at: frame.offset + FrameLayout.size + FrameLayout.rangeSize + 6)
    let reading = log.read()
    #expect(reading.trace == ["<", "a", "!", "c", ">"])
    #expect(reading.corruption.map(\.offset) == [frame.offset])
    #expect(reading.corruption.map(\.size) == [frame.size])
  }

  @Test(
    "a copy with a corrupted frame is reported, and the whole one read",
    arguments: ["1.mmlog", "3.mmlog"])
  func aCopyWithACorruptedFrame(name: String) throws {
    writeThree()
    let frame = try frames()[3]
    log.close()
    log.folder.put("2.mmlog", log.archives[0])
    log.corruptArchive(at: frame.offset + FrameLayout.size + FrameLayout.rangeSize + 6)
    let copy = log.folder.put(name, log.archives[0])
    let reading = Reading([log.folder.path])
    #expect(reading.messages == ["a", "b", "c"] && reading.corruption.isEmpty)
    #expect(reading.unreadable.map(\.path) == [copy])
  }

  @Test("a corrupted header costs its frame") func aCorruptedHeaderCostsItsFrame() throws {
    writeThree()
    let frame = try frames()[3]
    log.corruptArchive(at: frame.offset + FrameLayout.count)
    let reading = log.read()
    #expect(reading.trace == ["<", "a", "!", "c", "_", ">"])
    #expect(reading.corruption.map(\.offset) == [frame.offset])
  }

  @Test("a corrupted frame of call sites is made up for by another")
  func aCorruptedFrameOfCallSitesIsMadeUpForByAnother() throws {
    writeThree()
    log.corruptArchive(at: try frames()[0].offset + FrameLayout.size + 30)
    let reading = log.read()
    #expect(reading.messages == ["a", "b", "c"])
    #expect(reading.corruption.count == 1)
  }

  @Test("a truncated archive gives what is there")
  func aTruncatedArchiveGivesWhatIsThere() throws {
    writeThree()
    let frame = try frames()[5]
    log.archives[0].removeLast(8)
    let reading = log.read()
    #expect(reading.trace == ["<", "a", "b", "!", ">"])
    #expect(reading.corruption.map(\.offset) == [frame.offset])
  }

  @Test("a corrupted file header costs no record") func aCorruptedFileHeaderCostsNoRecord() {
    writeThree()
    log.corruptArchive(at: 100)
    let reading = log.read()
    #expect(reading.messages == ["a", "b", "c"] && reading.unreadable.isEmpty)
    #expect(reading.corruption.map(\.offset) == [0] && reading.corruption.map(\.size) == [512])
  }

  @Test("a corrupted file header without frames is reported with its reason")
  func aCorruptedFileHeaderWithoutFramesIsReportedWithItsReason() {
    log.beginArchive()
    log.corruptArchive(at: 100)
    let reading = log.read()
    #expect(reading.trace.isEmpty)
    #expect(reading.unreadable.map(\.code) == [.corruptedFile])
  }

  @Test("a newer version is refused") func aNewerVersionIsRefused() {
    writeThree()
    log.archives[0][FileHeaderLayout.version] = 9
    #expect(log.read().unreadable.map(\.code) == [.newerFormat])
  }

  /// Version 1 was never released.
  @Test("an older version is refused with a sentence")
  func anOlderVersionIsRefusedWithASentence() {
    writeThree()
    log.archives[0][FileHeaderLayout.version] = 1
    log.archives[0] = ChecksumFix.archive(log.archives[0])
    let unreadable = log.read().unreadable
    #expect(unreadable.map(\.code) == [.olderFormat])
    #expect(unreadable.first?.message.contains("before the first release") == true)
  }

  /// An archive of another session, whose frames have the same sizes and places.
  private func twin(session: UInt64) -> [UInt8] {
    let other = TestLog(session: session)
    for (index, text) in ["x", "y", "z"].enumerated() {
      other.write(text, ticks: UInt64(index + 1) * 100, level: index == 1 ? .error : .info)
      other.archive()
    }
    return other.archives[0]
  }

  @Test("a frame of another session is reported and not printed")
  func aFrameOfAnotherSessionIsReportedAndNotPrinted() throws {
    writeThree()
    let (frame, other) = (try frames()[3], twin(session: 2))
    #expect(try ArchiveFileFrame.all(other)[3] == frame, "another place or size")
    let place = frame.offset..<frame.offset + frame.size
    log.archives[0].replaceSubrange(place, with: other[place])
    let reading = log.read()
    #expect(reading.trace == ["<", "a", "!", "c", "_", ">"])
    #expect(reading.corruption.map(\.offset) == [frame.offset])
    #expect(reading.corruption.map(\.size) == [frame.size])
    let session = SessionID(words: (2, 0))
    #expect(
      reading.corruption.map(\.what) == [
        "frame 3 is missing: a frame of session \(session), archive 1"
      ]
    )
  }

  @Test("a frame of an older archive of the session is reported and not printed")
  func aFrameOfAnOlderArchiveOfTheSessionIsReportedAndNotPrinted() throws {
    writeThree()
    let (older, stale) = (log.archives[0], try frames()[3])
    log.close(nil)
    log.beginArchive()
    for text in ["d", "e", "f"] {
      log.write(text, ticks: 400)
      log.archive()
    }
    let frame = try ArchiveFileFrame.all(log.archives[1])[3]
    log.archives[1].replaceSubrange(
      frame.offset..<frame.offset + frame.size,
      with: older[stale.offset..<stale.offset + stale.size])
    let reading = log.read()
    #expect(reading.messages == ["a", "b", "c", "d", "f"])
    #expect(
      reading.corruption.map(\.what) == [
        "frame 3 is missing: a frame of an older archive of the same session, number 1"
      ])
  }

  /// If blocks are in the wrong place, the size that another session's frame claims is not true in
  /// this file.
  @Test("what stands behind the beginning of another sessions frame is read")
  func whatStandsBehindTheBeginningOfAnotherSessionsFrameIsRead() throws {
    writeThree()
    let (frame, other) = (try frames()[3], twin(session: 2))
    let header = frame.offset..<frame.offset + FrameLayout.size
    let payload = header.lowerBound + FrameLayout.payloadSize
    log.archives[0].replaceSubrange(header, with: other[header])
    log.archives[0].withUnsafeMutableBytes {
      $0.store(UInt32(1 << 20), payload)
      $0.store(UInt32(0), frame.offset + FrameLayout.rangeCount)
      $0.store(UInt32(FrameLayout.size), frame.offset + FrameLayout.headerSize)
    }
    ArchiveFileFrame.resign(&log.archives[0], at: frame.offset)
    let reading = log.read()
    #expect(reading.trace == ["<", "a", "!", "c", "_", ">"])
    #expect(reading.corruption.map(\.size) == [frame.size])
  }

  @Test("a frame of an unknown type is passed over")
  func aFrameOfAnUnknownTypeIsPassedOver() throws {
    writeThree()
    let frame = log.addFrame(.losses, [1, 2, 3, 4, 5, 6, 7, 8])
    log.archives[0][frame.lowerBound + FrameLayout.type] = 77
    ArchiveFileFrame.resign(&log.archives[0], at: frame.lowerBound)
    log.write("d", ticks: 400)
    log.archive()
    let reading = log.read()
    #expect(reading.trace == ["<", "a", "b", "c", "d", ">"])
  }

  @Test("rotated archives of a session are one stream")
  func rotatedArchivesOfASessionAreOneStream() {
    writeThree()
    log.close(nil)
    log.beginArchive()
    log.write("d", ticks: 400)
    log.archive()
    log.close()
    let reading = log.read()
    #expect(reading.trace == ["<", "a", "b", "c", "d", ">"])
  }

  @Test("an archive that is missing between others is reported")
  func anArchiveThatIsMissingBetweenOthersIsReported() {
    for _ in 0..<3 {
      log.write("x", ticks: 500)
      log.archive()
      log.close(nil)
      log.beginArchive()
    }
    log.archives.removeLast()
    let paths = log.save()
    #expect(Reading([paths[0], paths[2]]).gaps.map(\.cause) == [.archivesNotHere(2...2)])
    // The first archives may be gone: retention deletes the oldest.
    #expect(Reading([paths[1], paths[2]]).gaps.isEmpty)
  }

  @Test("filters pass over frames without reading them")
  func filtersPassOverFramesWithoutReadingThem() throws {
    let second = Int64(1_000_000_000)
    log.frameClock = TickClock(ticks: 0, wall: TestLog.epoch, rate: UInt64(second / 10) << 32)
    writeThree()
    // The reader does not read this frame, so it does not find the corruption in it.
    log.corruptArchive(at: try frames()[1].offset + FrameLayout.size + FrameLayout.rangeSize + 6)
    var filter = LogReader.Filter()
    filter.minimumLevel = .error
    #expect(log.read(filter).trace == ["<", "b", ">"])
    filter = LogReader.Filter()
    filter.since = TestLog.epoch + 20 * second
    #expect(log.read(filter).trace == ["<", "b", "c", ">"])
    filter.until = TestLog.epoch + 30 * second
    #expect(log.read(filter).trace == ["<", "b", ">"])
  }

  @Test("the last ledger counts") func theLastLedgerCounts() {
    var ledger = LossLedger()
    for count in [2, 5] as [UInt64] {
      ledger[.ringFull, .debug] = count
      log.addFrame(.losses, ledger.encoded)
    }
    #expect(log.read().losses == [ledger])
    ledger[.ringFull, .debug] = 9
    log.put(ledger.encoded, at: RingLayout.ledger)
    log.writesRing = true
    #expect(log.read().losses == [ledger])
  }

  @Test("recovery is reported") func recoveryIsReported() {
    writeThree()
    log.close(.killed)
    #expect(log.read().ends == [.ended(SessionEnd(.killed, time: TestLog.epoch + 999))])
  }
}

@Suite struct OverlapTests {
  let log = TestLog(bootID: Host.bootID())

  /// `a` is in the archive only, `b` in both, and `c` in the ring only.
  private func writeOverlap(isPublished: Bool) {
    log.write("a", ticks: 1)
    log.archive()
    log.write("b", ticks: 2)
    log.archive(isPublished: isPublished)
    log.write("c", ticks: 3)
  }

  @Test("a record in both is given once", arguments: [true, false])
  func aRecordInBothIsGivenOnce(isPublished: Bool) {
    writeOverlap(isPublished: isPublished)
    #expect(log.read().trace == ["<", "a", "b", "c", ">"])
  }

  @Test(
    "a ring alone gives all that it has, or what is in no archive if that was sealed",
    arguments: [true, false])
  func aRingAlone(isSealed: Bool) {
    writeOverlap(isPublished: true)
    if isSealed { log.close(nil) }
    log.archives = []
    let reading = log.read()
    #expect(reading.messages == (isSealed ? ["c"] : ["a", "b", "c"]))
    let cause: LogReader.Gap.Cause = isSealed ? .archivesNotHere(1...1) : .newestArchiveNotHere(1)
    #expect(reading.gaps.map(\.cause) == [cause])
  }

  @Test("the rings copy stands in for a corrupted frame", arguments: [true, false])
  func theRingsCopyStandsInForACorruptedFrame(isPublished: Bool) throws {
    writeOverlap(isPublished: isPublished)
    let frame = try ArchiveFileFrame.all(log.archives[0])[3]
    log.corruptArchive(at: frame.offset + frame.size - 12)
    let reading = log.read()
    #expect(reading.messages == ["a", "b", "c"])
    #expect(reading.corruption.map(\.offset) == [frame.offset])
  }

  @Test("the rings copy stands in for a corrupted header", arguments: [true, false])
  func theRingsCopyStandsInForACorruptedHeader(isPublished: Bool) throws {
    writeOverlap(isPublished: isPublished)
    log.corruptArchive(at: try ArchiveFileFrame.all(log.archives[0])[3].offset + 1)
    let reading = log.read()
    #expect(reading.messages == ["a", "b", "c"])
    #expect(reading.corruption.count == 1)
  }

  @Test("a torn frame is no corruption while the ring is there")
  func aTornFrameIsNoCorruptionWhileTheRingIsThere() {
    writeOverlap(isPublished: false)
    log.archives[0].removeLast(24)
    let reading = log.read()
    #expect(reading.messages == ["a", "b", "c"])
    #expect(reading.corruption.isEmpty)
  }

  @Test("a file given twice counts once") func aFileGivenTwiceCountsOnce() {
    writeOverlap(isPublished: true)
    let paths = log.save()
    #expect(Reading(paths + [log.folder.path] + paths).messages == ["a", "b", "c"])
  }

  /// The first block of an archive was overwritten with that of another archive.
  @Test("a file that says it is another archive is reported")
  func aFileThatSaysItIsAnotherArchiveIsReported() throws {
    let log = TestLog()
    for archive in 1...2 {
      for index in 0..<20 { log.write("record \(archive) \(index)", ticks: UInt64(index)) }
      log.archive()
      log.beginArchive()
    }
    log.archives.removeLast()
    log.archives[0].replaceSubrange(
      0..<FileHeaderLayout.size, with: log.archives[1].prefix(FileHeaderLayout.size))
    log.save()
    let reader = LogReader(paths: [log.folder.path])
    #expect(reader.unreadable.count == 1)
    #expect(reader.unreadable.first?.message.contains("archive 2 of session") == true)
  }

  /// The frames name their archive.
  @Test("an archive under a block of a ring is read")
  func anArchiveUnderABlockOfARingIsRead() throws {
    let log = TestLog()
    for index in 0..<3 {
      log.write("record \(index)", ticks: UInt64(index))
      log.archive()
    }
    let frames = try ArchiveFileFrame.all(log.archives[0])
    let block = max(RingLayout.fileHeaderSize, frames[1].offset)
    log.archives[0].replaceSubrange(0..<block, with: log.ring.prefix(block))
    let archive = log.folder.put("archive.mmlog", log.archives[0])
    let reading = Reading([archive])
    #expect(!reading.corruption.isEmpty)
    #expect(reading.messages.contains("record 2"))
  }

  /// Recovery finds no archive in this file, and readers must not find one either.
  @Test("a ring under a block of an archive is not taken for one")
  func aRingUnderABlockOfAnArchiveIsNotTakenForOne() throws {
    let log = TestLog()
    log.write("record", ticks: 1)
    log.archive()
    let block = log.archives[0].prefix(4096)
    var ring = TestLog(session: 2).ring
    ring.replaceSubrange(0..<block.count, with: block)
    let path = log.folder.put("test.ring", ring)
    let reader = LogReader(paths: [path])
    #expect(reader.unreadable.map(\.path) == [path])
    #expect(Reading([path]).messages.isEmpty)
  }

  @Test("a ring that says it is another is reported and the other is read")
  func aRingThatSaysItIsAnotherIsReportedAndTheOtherIsRead() throws {
    let (log, other) = (TestLog(), TestLog(session: 2))
    for log in [log, other] { log.write("record", ticks: 1) }
    other.write("later", ticks: 2, thread: 2)
    other.ring.replaceSubrange(0..<4096, with: log.ring.prefix(4096))
    log.save()
    let copy = log.folder.put("mutations.ring", other.ring)
    let reader = LogReader(paths: [log.folder.path])
    #expect(reader.unreadable.map(\.path) == [copy])
    #expect(reader.contains { if case .record = $0 { true } else { false } })
  }

  @Test("a copy of a file counts once") func aCopyOfAFileCountsOnce() {
    writeOverlap(isPublished: true)
    log.folder.put("copy.mmlog", log.archives[0])
    log.folder.put("copy.ring", log.ring)
    #expect(log.read().messages == ["a", "b", "c"])
  }

  @Test("sessions are merged by their times") func sessionsAreMergedByTheirTimes() {
    let other = TestLog(session: 2)
    log.write("a", ticks: 1)
    other.write("b", ticks: 2)
    log.write("c", ticks: 3)
    let paths = log.save() + other.save()
    #expect(Reading(paths).messages == ["a", "b", "c"])
  }

  #if !Encryption
    @Test("a build without libcrypto says so of what is encrypted, and nothing worse")
    func aBuildWithoutLibcryptoSaysSo() {
      let reading = Reading([log.folder.put("1.mmlog", TestLog.encrypted())])
      #expect(reading.unreadable.map(\.code) == [.encrypted])
      #expect(reading.unreadable.first?.message.contains("built without encryption") == true)
      #expect(reading.corruption == [])
    }
  #endif

  @Test("what is encrypted without a key slot is corrupted")
  func whatIsEncryptedWithoutAKeySlotIsCorrupted() {
    let reading = Reading([log.folder.put("1.mmlog", TestLog.encrypted(slot: nil))])
    #expect(reading.unreadable.isEmpty)
    #expect(reading.corruption.count { $0.what.contains("key slot is missing") } == 9)
  }
}
