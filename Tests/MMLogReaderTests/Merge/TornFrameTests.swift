import MMLogAnalysis
import MMLogFormat
import MMLogReader
import MMLogSystem
import TestSupport
import Testing

/// The end of an archive whose process died, and the ring, which should have the missing records.
@Suite struct TornFrameTests {
  let log = TestLog(bootID: Host.bootID())

  /// `a` is in a whole frame, `b` and `c` are in the last one, which is not published, and `d` is
  /// in the ring only.
  init() {
    log.write("a", ticks: 1)
    log.archive()
    log.seal(1)
    log.write("b", ticks: 2)
    log.write("c", ticks: 3)
    log.archive(isPublished: false)
    log.seal(1)
    log.write("d", ticks: 4)
  }

  /// Empties a segment, as if it had been used for something else.
  private func free(segment index: Int) {
    let start = log.geometry.offset(ofSegment: index)
    log.put([UInt8](repeating: 0, count: wordSize), at: log.geometry.use(ofSegment: index))
    log.put([UInt8](repeating: 0, count: log.geometry.segmentSize), at: start)
  }

  @Test("a torn frame whose records the ring has is no corruption", arguments: [24, 200])
  func aTornFrameWhoseRecordsTheRingHasIsNoCorruption(cut: Int) {
    log.archives[0].removeLast(cut)
    let reading = log.read()
    #expect(reading.messages == ["a", "b", "c", "d"] && reading.corruption.isEmpty)
  }

  @Test("what a torn frame was to hold and the ring lacks is reported")
  func whatATornFrameWasToHoldAndTheRingLacksIsReported() throws {
    let frame = try #require(try ArchiveFileFrame.all(log.archives[0]).last)
    log.archives[0].removeLast(24)
    free(segment: 1)
    let reading = log.read()
    #expect(reading.messages == ["a", "d"])
    #expect(reading.corruption.map(\.offset) == [frame.offset])
    #expect(reading.corruption.map(\.size) == [frame.size - 24])
    #expect(reading.corruption.first?.what.contains("2 rows") == true, "\(reading.corruption)")
    let verified = LogFiles([.path(log.folder.path)]).verify().flatMap(\.corruption)
    #expect(verified == reading.corruption)
  }

  @Test("a torn frame of call sites is called that")
  func aTornFrameOfCallSites() throws {
    let log = TestLog.archived(["a"])
    let frame = try #require(try ArchiveFileFrame.all(log.archives[0]).first)
    log.archives[0].removeSubrange((frame.offset + frame.size - 8)...)
    let found = log.read().corruption.map(\.what)
    #expect(found.count == 1)
    #expect(found[0].hasPrefix("the end: a frame of call sites was not written whole"), "\(found)")
  }

  /// The ring has lost the records of that frame, and has no later ones of their thread.
  @Test(
    "frames that the ring knows of and are cut off are reported",
    arguments: [0, SessionStateLayout.mayBeSealed])
  func framesThatTheRingKnowsOfAndAreCutOffAreReported(sealing: UInt32) throws {
    log.store(1, at: RingLayout.newestArchive)
    log.store(UInt32(log.frameCount) | sealing, at: RingLayout.newestFrames)
    #expect(log.read().corruption.isEmpty)
    let frame = try #require(try ArchiveFileFrame.all(log.archives[0]).last)
    log.archives[0].removeSubrange(frame.offset...)
    free(segment: 1)
    let reading = log.read()
    #expect(reading.messages == ["a", "d"])
    #expect(reading.corruption.map(\.offset) == [frame.offset])
    #expect(reading.corruption.map(\.what) == ["frame \(log.frameCount - 1) is missing"])
  }

  /// An archive gets its trailer before the next archive is begun.
  @Test("an archive that is cut and has a successor is reported")
  func anArchiveThatIsCutAndHasASuccessorIsReported() throws {
    log.store(2, at: RingLayout.newestArchive)
    log.store(SessionStateLayout.allFrames, at: RingLayout.newestFrames)
    let frame = try #require(try ArchiveFileFrame.all(log.archives[0]).last)
    log.archives[0].removeSubrange(frame.offset...)
    let what = "the end is missing, though the session has a later archive"
    #expect(log.read().corruption.map(\.what) == [what])
  }

  /// What the ring says is archived may be nowhere else.
  @Test("the ring is read in place of the end of an archive that has a successor")
  func theRingIsReadInPlaceOfTheEndOfAnArchiveThatHasASuccessor() {
    let log = TestLog(bootID: Host.bootID())
    log.writeArchiveWithoutEnd()
    let reading = log.read()
    #expect(reading.messages == ["a", "b", "c"])
    #expect(reading.corruption.map(\.what).allSatisfy { $0.contains("the end") })
    #expect(reading.corruption.count == 1, "\(reading.corruption)")
  }

  @Test("the newest archive of a dead session is missed")
  func theNewestArchiveOfADeadSessionIsMissed() {
    log.store(2, at: RingLayout.newestArchive)
    let reading = log.read()
    #expect(reading.messages == ["a", "b", "c", "d"])
    #expect(reading.gaps.map(\.cause) == [.newestArchiveNotHere(2)] && reading.gaps[0].isLoss)
  }

  /// The archive was being written, so archived records of the ring may be nowhere else.
  @Test(
    "the only archive of a dead session is missed, and the ring read instead",
    arguments: [false, true])
  func theOnlyArchiveOfADeadSessionIsMissed(isEmptied: Bool) {
    log.archives = isEmptied ? [[]] : []
    let reading = log.read()
    #expect(reading.gaps.map(\.cause) == [.newestArchiveNotHere(1)])
    #expect(reading.messages == ["a", "b", "c", "d"])
  }

  /// A limit may have deleted the archive while the process lived.
  @Test("a sealed archive that is not here is reported and no loss")
  func aSealedArchiveThatIsNotHereIsReportedAndNoLoss() {
    log.close(nil)
    log.archives = []
    let reading = log.read()
    #expect(reading.gaps.map(\.cause) == [.archivesNotHere(1...1)])
    #expect(reading.gaps.allSatisfy { !$0.isLoss } && reading.messages == ["b", "c", "d"])
  }

  /// No limit has deleted the archive, so archived records of the ring may be nowhere else.
  @Test(
    "an archive of which nothing can be read is there, and the ring read instead",
    arguments: [false, true])
  func anArchiveOfWhichNothingCanBeRead(isBehindAnothers: Bool) throws {
    log.close(nil)
    log.archives = isBehindAnothers ? [] : [[]]
    if isBehindAnothers {
      let other = ArchiveID(session: SessionID(words: (9, 0)), number: 3)
      log.put(other.encoded, at: RingLayout.resumed)
      log.folder.put("test-20251121T080000Z-\(other.session)-000003.mmlog", [])
    }
    #expect(log.read().messages == ["a", "b", "c", "d"])
    let repaired = TemporaryDirectory()
    _ = try LogRepair.write(LogFiles([.path(log.folder.path)]), to: repaired.path)
    #expect(Reading([repaired.path]).messages.suffix(4) == ["a", "b", "c", "d"])
  }

  /// A recovery had begun the second archive, and was interrupted.
  @Test("an archive without a whole frame does not hold back the records of its session")
  func anArchiveWithoutAWholeFrameDoesNotHoldBackItsSession() {
    let log = TestLog()
    log.write("a", ticks: 300)
    log.archive()
    log.close(nil)
    log.beginArchive()
    log.write("lost", ticks: 500)
    log.archive()
    let begun = ArchiveHeader(
      identity: log.identity, number: 2, created: TestLog.epoch + 10_000)
    let frame = log.archives[1][FileHeaderLayout.size...].prefix(200)
    log.archives[1] = begun.encoded(pageSize: 4096) + frame
    log.writesRing = false
    log.save()
    let other = TestLog(session: 2)
    other.write("b", ticks: 400)
    other.save()

    let reading = Reading([log.folder.path, other.folder.path])

    #expect(reading.messages == ["a", "b"] && reading.corruption.count == 1)
  }

  @Test("an archive that is cut before a later one is reported")
  func anArchiveThatIsCutBeforeALaterOneIsReported() throws {
    let log = TestLog()
    log.write("a", ticks: 1)
    log.archive()
    let end = log.archives[0].count
    log.beginArchive()
    log.write("b", ticks: 2)
    log.archive()
    let reading = log.read()
    #expect(reading.messages == ["a", "b"])
    #expect(reading.corruption.map(\.offset) == [end] && reading.corruption.map(\.size) == [0])
  }

  @Test("an archive that is there is not missed") func anArchiveThatIsThereIsNotMissed() {
    log.store(1, at: RingLayout.newestArchive)
    let reading = log.read()
    #expect(reading.corruption.isEmpty && reading.gaps.isEmpty)
  }
}
