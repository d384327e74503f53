import MMLogAnalysis
import MMLogFormat
import MMLogReader
import MMLogSystem
import TestSupport
import Testing

/// Records that are missing between others, by their numbers.
@Suite struct MissingRecordTests {
  let log = TestLog()

  private func missing(_ reading: Reading) -> [MissingRecords] {
    reading.gaps.compactMap {
      if case .recordsMissing(let records) = $0.cause { records } else { nil }
    }
  }

  /// Logs three records, archives them and begins the next archive, `count` times.
  private func writeArchives(_ count: Int) {
    for index in 0..<count {
      for record in 0..<3 { log.write("\(index) \(record)", ticks: UInt64(index * 100 + record)) }
      log.archive()
      log.close(nil)
      log.beginArchive()
    }
    log.archives.removeLast()
  }

  @Test("nothing is missing in a whole log") func nothingIsMissingInAWholeLog() {
    writeArchives(3)
    log.write("last", ticks: 1000)
    #expect(log.read().gaps.isEmpty)
  }

  @Test("what a thread lost is reported with its place in time")
  func whatAThreadLostIsReportedWithItsPlaceInTime() throws {
    log.write("a", ticks: 100)
    log.lose(12)
    log.write("b", ticks: 500)
    log.write("c", ticks: 700, thread: 2)
    let reading = log.read()
    #expect(reading.trace == ["<", "a", "b", "c", "_", ">"])
    let found = try #require(missing(reading).first)
    #expect(found.count == 12 && found.threads == [1] && reading.gaps[0].isLoss)
    #expect(found.times == TestLog.epoch + 100...TestLog.epoch + 500)
  }

  @Test("what overlaps in time is one gap") func whatOverlapsInTimeIsOneGap() throws {
    for thread in 1...3 as ClosedRange<UInt32> {
      log.write("a", ticks: UInt64(thread), thread: thread)
      log.lose(UInt64(thread), thread: thread)
      log.write("b", ticks: 50 + UInt64(thread), thread: thread)
    }
    log.write("later", ticks: 1000)
    log.lose(100)
    log.write("last", ticks: 2000)
    let found = missing(log.read())
    #expect(found.map(\.count) == [106] || found.map(\.count) == [6, 100])
    #expect(found.first?.threads == [1, 2, 3])
  }

  /// The ring has the record that came later.
  @Test("an archive cut behind its file header lacks what its ring does not have")
  func anArchiveCutBehindItsFileHeaderLacksWhatItsRingDoesNotHave() throws {
    for index in 0..<17 { log.write("\(index)", ticks: UInt64(index)) }
    log.seal(1)
    log.archive()
    log.write("later", ticks: 100)
    log.archives[0].removeSubrange(FileHeaderLayout.size...)
    let segment = log.geometry.offset(ofSegment: 0)
    log.put([UInt8](repeating: 0, count: log.geometry.segmentSize), at: segment)
    let found = missing(log.read())
    #expect(found.map(\.count) == [17])
  }

  /// In this copy, the archives are older than the ring.
  @Test(
    "a ring says of what was moved to an archive meanwhile that it is missing",
    arguments: [["c"], []])
  func copiedBeforeItsRing(later: [String]) throws {
    let log = TestLog(bootID: Host.bootID())
    log.write("a", ticks: 100)
    log.archive()
    let copied = log.archives
    for index in 0..<12 { log.write("b", ticks: 200 + UInt64(index)) }
    log.archive()
    log.store(1, at: RingLayout.newestFrames)
    for text in later { log.write(text, ticks: 900) }
    #expect(log.read().gaps.isEmpty)
    log.archives = copied
    let reading = log.read()
    #expect(reading.messages == ["a"] + later)
    let found = try #require(missing(reading).first)
    #expect(found.count == 12 && found.threads == [1] && missing(reading).count == 1)
    let last: Int64 = later.isEmpty ? 211 : 900
    #expect(found.times == TestLog.epoch + 100...TestLog.epoch + last)
  }

  @Test("what a deleted archive had is no loss, though the ring had it, too")
  func deletedButInTheRing() {
    let log = TestLog(bootID: Host.bootID())
    for index in 0..<4 {
      log.write("\(index)", ticks: UInt64(index * 100))
      log.archive()
      if index < 3 {
        log.close(nil)
        log.beginArchive()
      }
    }
    log.write("last", ticks: 1000)
    let paths = log.save()
    for archives in [[3, 4], [1, 4], [1, 3, 4], [4]] {
      let reading = Reading([paths[0]] + archives.map { paths[$0] })
      #expect(missing(reading).isEmpty && reading.messages.last == "last", "\(archives)")
    }
  }

  @Test("what a deleted archive had is no loss") func whatADeletedArchiveHadIsNoLoss() {
    writeArchives(5)
    log.writesRing = false
    let paths = log.save()
    let gone = Reading([paths[0], paths[1], paths[4]])
    #expect(gone.gaps.map(\.cause) == [.archivesNotHere(3...4)])
    #expect(gone.gaps.allSatisfy { !$0.isLoss })
    #expect(Reading([paths[2], paths[3]]).gaps.isEmpty)
  }

  @Test("the overview of a session has its gaps") func theOverviewOfASessionHasItsGaps() {
    writeArchives(3)
    log.write("a", ticks: 1000)
    log.lose(12)
    log.write("b", ticks: 1001)
    let paths = log.save()
    let overviews = LogFiles([paths[0], paths[1], paths[3]].map { .path($0) }).overview()
    #expect(overviews.map { $0.gaps.map(\.isLoss) } == [[false, true]])
    #expect(overviews[0].gaps.first?.cause == .archivesNotHere(2...2))
    #expect(overviews[0].gaps.allSatisfy { $0.session === overviews[0].session })
  }

  @Test("a filter of time passes over what is missing at other times")
  func aFilterOfTimePassesOverWhatIsMissingAtOtherTimes() {
    log.write("a", ticks: 100)
    log.lose(12)
    log.write("b", ticks: 500)
    log.seal(1)
    log.write("c", ticks: 900)
    var filter = LogReader.Filter()
    filter.since = TestLog.epoch + 501
    let reading = log.read(filter)
    #expect(reading.messages == ["c"] && reading.gaps.isEmpty)
  }
}
