import Foundation
import MMLogAnalysis
import MMLogFormat
import MMLogReader
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

@Suite struct RecoveryTests {
  private let log = TestLog(bootID: Host.bootID())

  private var ringName: String { "test.\(log.identity.session).ring" }

  private struct Outcome {
    let sessions: [RecoveredSession]
    let problems: [LogError]
  }

  /// What a start of a store does first.
  private func recover(
    store: String? = "test", in folder: TemporaryDirectory? = nil,
    _ settings: ArchiveSeries.Settings = .init(rotationSize: nil, compressionLevel: 1)
  ) throws -> Outcome {
    let directory = try Directory.open((folder ?? log.folder).path)
    var problems: [LogError] = []
    let sessions = Recovery.recoverAll(
      of: store, ringDirectory: directory, archiveDirectory: directory, settings
    ) { problems.append($0) }
    return Outcome(sessions: sessions, problems: problems)
  }

  private var names: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: log.folder.path)) ?? []).sorted()
  }

  private func contents(_ name: String) -> [UInt8] {
    FileManager.default.contents(atPath: log.folder(name)).map { Array($0) } ?? []
  }

  private func messages() -> [String] { readHere([log.folder.path]).records.map(\.message) }

  private func endings() -> [SessionEnding] {
    LogReader(paths: [log.folder.path]).compactMap {
      if case .sessionEnded(_, let ending, _) = $0 { ending } else { nil }
    }
  }

  /// 40 records of three threads, 10 archived and published, 10 archived only.
  private func writeOverlap() {
    for index in 0..<40 {
      log.write("record \(index)", ticks: UInt64(index), thread: UInt32(index % 3 + 1))
      if index == 9 { log.archive() }
      if index == 19 { log.archive(isPublished: false) }
    }
    log.save()
  }

  @Test("what is in the ring goes to an archive once")
  func whatIsInTheRingGoesToAnArchiveOnce() throws {
    writeOverlap()
    let before = readHere([log.folder.path])
    let outcome = try recover()
    #expect(outcome.problems.isEmpty)
    #expect(outcome.sessions.map(\.recordCount) == [20])
    #expect(outcome.sessions.map(\.identity) == [log.identity])
    #expect(outcome.sessions[0].corruption.isEmpty)
    #expect(names.count == 1 && names[0].hasSuffix(".mmlog"))
    #expect(messages() == (0..<40).map { "record \($0)" })
    #expect(readHere([log.folder.path]).records == before.records)
    guard case .ended(let end) = endings().first else { return #expect(Bool(false)) }
    #expect(end.how.isCrash && end.recovered != nil)
  }

  @Test("a second recovery finds nothing") func aSecondRecoveryFindsNothing() throws {
    writeOverlap()
    _ = try recover()
    let files = Dictionary(uniqueKeysWithValues: names.map { ($0, contents($0)) })
    let outcome = try recover()
    #expect(outcome.sessions.isEmpty && outcome.problems.isEmpty)
    #expect(Dictionary(uniqueKeysWithValues: names.map { ($0, contents($0)) }) == files)
  }

  @Test("a ring that is back again gives nothing twice")
  func aRingThatIsBackAgainGivesNothingTwice() throws {
    writeOverlap()
    let ring = contents(ringName)
    _ = try recover()
    // As if the process had died before it removed the ring.
    log.folder.put(ringName, ring)
    #expect(try recover().sessions.map(\.recordCount) == [0])
    #expect(messages() == (0..<40).map { "record \($0)" })
    #expect(names.count == 1)
  }

  @Test("what comes behind the end of a session is in an archive that is sealed, too")
  func whatComesBehindTheEndIsSealed() throws {
    writeOverlap()
    _ = try recover()
    let closed = names.map { ($0, contents($0)) }
    // As if a log call had returned when the store was closed, and the process died before it
    // removed the ring.
    log.write("record 40", ticks: 40, thread: 1)
    log.save()
    for (name, bytes) in closed { log.folder.put(name, bytes) }
    #expect(try recover().sessions.map(\.recordCount) == [1])
    #expect(messages() == (0...40).map { "record \($0)" })
    let archives = try Catalog(of: log.folder.path, store: nil).scan()
    #expect(archives.count == 2 && archives.allSatisfy(\.isSealed))
    #expect(try recover().sessions.isEmpty)
  }

  private func losses(in folder: TemporaryDirectory) -> [LossLedger] {
    LogReader(paths: [folder.path]).compactMap {
      if case .losses(_, let ledger) = $0 { ledger } else { nil }
    }
  }

  @Test("what is corrupted in a ring is counted as lost, for whoever reads the archives then")
  func corruptedRecordsAreCounted() throws {
    let log = TestLog.killed(records: 100, corrupted: 15)
    let ring = try #require(FileManager.default.contents(atPath: log.folder(ringName)))
    // As if the process had died before it removed the ring, the second time.
    for expected in [99, 0] {
      log.folder.put(ringName, Array(ring))
      let session = try #require(try recover(in: log.folder).sessions.first)
      #expect(session.recordCount == expected)
      #expect(session.losses.total(.corrupted) == 1)
      #expect(losses(in: log.folder).map { $0.total(.corrupted) } == [1])
    }
  }

  /// The last state would make the last frame with the dictionary too large to be read.
  @Test("a full dictionary of the largest size is archived without the last state")
  func aFullDictionaryIsArchivedWithoutTheLastState() async {
    await #expect(processExitsWith: .success) {
      let log = TestLog(
        bootID: Host.bootID(),
        geometry: RingGeometry(
          dictionarySize: RingLayout.largestDictionary, segmentSize: 4096, segmentCount: 1))
      log.write("record", ticks: 1)
      log.putState()
      let left = RingLayout.largestDictionary - log.dictionarySize
      _ = log.label(String(repeating: "x", count: left - 3 * 8))
      require(log.dictionarySize == RingLayout.largestDictionary)
      log.save()
      let recovered = try LogRecovery.recover(log.folder.path) { _ in }
      require(recovered.map(\.recordCount) == [1])
      let read = readHere([log.folder.path])
      require(read.records.map(\.message) == ["record"] && !read.hasTrouble)
      require(LogFiles([.path(log.folder.path)]).verify().allSatisfy { $0.corruption.isEmpty })
    }
  }

  @Test("a segment whose header is lost is counted as lost")
  func lostSegmentsAreCounted() throws {
    let log = TestLog(bootID: Host.bootID())
    log.write("record 0", ticks: 1)
    log.write("record 1", ticks: 2, thread: 2)
    log.put([UInt8](repeating: 0xA5, count: 64), at: log.geometry.offset(ofSegment: 1))
    log.save()
    let session = try #require(try recover(in: log.folder).sessions.first)
    #expect(session.recordCount == 1 && session.losses.total(.corrupted) == 1)
    #expect(session.corruptionSentence?.hasPrefix("The ring of the session ") == true)
    #expect(losses(in: log.folder).map { $0.total(.corrupted) } == [1])
  }

  @Test("a corrupted table of areas is reported and every record recovered")
  func aCorruptedTableOfAreasIsReportedAndEveryRecordRecovered() throws {
    writeOverlap()
    log.put([UInt8](repeating: 0xA5, count: 512), at: FileHeaderLayout.size)
    log.save()
    #expect(try readInPython([log.folder.path]).hasTrouble)
    let sessions = try recover().sessions
    #expect(sessions.map(\.recordCount) == [20])
    let corruption = sessions.flatMap(\.corruption)
    #expect(corruption.count == 1 && corruption[0].contains("area table"), "\(corruption)")
    #expect(sessions.map(\.losses.isEmpty) == [true])
    #expect(messages() == (0..<40).map { "record \($0)" })
  }

  /// If the machine did not go down, a zero word is where the records end, except in blocks that
  /// were overwritten.
  @Test("what readers find behind overwritten bytes is recovered")
  func whatReadersFindBehindOverwrittenBytesIsRecovered() throws {
    let log = TestLog(bootID: Host.bootID())
    log.write("a", ticks: 1)
    let place = log.write(TestRecord(ticks: 2, site: log.textSite, words: [1, 98]))
    log.write("c", ticks: 3)
    log.put([UInt8](repeating: 0, count: place.count), at: place.lowerBound)
    log.save()
    let before = readHere([log.folder.path])
    #expect(before.records.map(\.message) == ["a", "c"])
    #expect(try recover(in: log.folder).sessions.map(\.recordCount) == [2])
    #expect(readHere([log.folder.path]).records == before.records)
  }

  /// The archive stands behind another session's, and the ring no longer has the file's name.
  @Test("records are not archived twice if the ring names another file")
  func recordsAreNotArchivedTwiceIfTheRingNamesAnotherFile() throws {
    writeOverlap()
    let other = TestLog(session: 2)
    other.write("other", ticks: 1)
    other.archive()
    other.close()
    log.store(1, at: RingLayout.newestArchive)
    log.put([UInt8](repeating: 0xA5, count: ArchiveIDLayout.size), at: RingLayout.resumed)
    let archive = log.archives.removeFirst()
    for name in names { try Directory.open(log.folder.path).remove(name) }
    log.save()
    log.folder.put(
      "test-20251121T090000Z-\(other.identity.session)-000001.mmlog", other.archives[0] + archive)
    #expect(try recover().sessions.map(\.recordCount) == [20])
    #expect(messages().sorted() == (["other"] + (0..<40).map { "record \($0)" }).sorted())
  }

  @Test("after a power cut archives are found in a file that the ring does not name")
  func afterAPowerCutArchivesAreFoundInAFileThatTheRingDoesNotName() throws {
    let down = downBehindAnother(isPublished: false)
    let before = readHere([down.folder.path])

    let sessions = try recover(in: down.folder).sessions

    #expect(sessions.map(\.recordCount) == [10])
    let after = readHere([down.folder.path])
    #expect(after.records == before.records && after.records.count == 21 && !after.hasTrouble)
  }

  /// The first recovery has begun an archive and noted it in the ring.
  @Test("after a power cut during the recovery, too")
  func afterAPowerCutDuringTheRecoveryToo() throws {
    let down = downBehindAnother(isPublished: true)
    let before = readHere([down.folder.path])
    _ = try recover(in: down.folder, .init(rotationSize: 1, compressionLevel: 1))
    down.store(2, at: RingLayout.newestArchive)
    down.save()

    let sessions = try recover(in: down.folder).sessions

    #expect(sessions.map(\.recordCount) == [0])
    let after = readHere([down.folder.path])
    #expect(after.records == before.records && !after.hasTrouble)
  }

  /// A session of 20 records whose machine went down. Ten are in its archive, which stands behind
  /// another session's. The ring's page that names the file is older than the archive.
  ///
  /// - Parameter isPublished: Whether the page with the records is not older.
  private func downBehindAnother(isPublished: Bool) -> TestLog {
    let down = TestLog(bootID: [UInt8](repeating: 9, count: 16))
    for index in 0..<20 {
      down.write("record \(index)", ticks: UInt64(index))
      if index == 9 { down.archive(isPublished: isPublished) }
    }
    let archive = down.archives.removeFirst()
    down.save()
    let other = TestLog(session: 2)
    other.write("other", ticks: 1)
    other.archive()
    other.close()
    down.folder.put(
      "test-20251121T090000Z-\(other.identity.session)-000001.mmlog", other.archives[0] + archive)
    return down
  }

  @Test(
    "the ring's records of a lost archive are recovered, and the loss stays said",
    arguments: [true, false])
  func theRingStandsInForALostArchive(isEmptied: Bool) throws {
    writeOverlap()
    let name = try #require(names.first { $0.hasSuffix(".mmlog") })
    if isEmptied {
      log.folder.put(name, [])
    } else {
      try FileManager.default.removeItem(atPath: log.folder(name))
    }
    let before = readHere([log.folder.path])
    #expect(before.records.map(\.message) == (0..<40).map { "record \($0)" } && before.hasTrouble)
    #expect(try readInPython([log.folder.path]).difference(from: before) == nil)

    let session = try #require(try recover().sessions.first)

    #expect(session.recordCount == 40 && session.losses.total(.corrupted) == 1)
    #expect(session.corruption == ["archive 1, which was being written: it cannot be read"])
    #expect(readHere([log.folder.path]).records == before.records)
    #expect(losses(in: log.folder).map { $0.total(.corrupted) } == [1])
  }

  @Test("records of a ring that has lost its clock are recovered as they are read")
  func recordsOfARingThatHasLostItsClockAreRecoveredAsTheyAreRead() throws {
    log.frameClock = TickClock(ticks: 0, wall: TestLog.epoch, rate: 2 << 32)
    log.write("a", ticks: 1000)
    log.archive()
    log.write("b", ticks: 2000)
    log.put([UInt8](repeating: 0, count: log.areas.clocks.count), at: log.areas.clocks.lowerBound)
    log.save()
    let before = readHere([log.folder.path]).records

    let session = try #require(try recover().sessions.first)

    #expect(session.corruption.count == 1 && session.corruption[0].hasPrefix("all clock readings"))
    #expect(readHere([log.folder.path]).records == before)
    #expect(try readInPython([log.folder.path]).records == before)
  }

  @Test("the newest archive is noted where the table of areas says")
  func theNewestArchiveIsNotedWhereTheTableOfAreasSays() throws {
    var areas = RingAreas.usual
    areas.sessionState = 1360..<1424
    let log = TestLog(bootID: Host.bootID(), areas: areas)
    log.write("record 0", ticks: 1)
    log.store(3, at: areas.sessionState.lowerBound + SessionStateLayout.newestArchive)
    log.save()
    _ = try recover(in: log.folder)
    let names = try Directory.open(log.folder.path).names()
    #expect(names.map { FileNames.Archive(fileName: $0)?.number } == [4])
  }

  @Test("what a power cut took of the ring's dictionary, the next archive has from those before it")
  func theDictionaryIsMadeWholeFromArchives() throws {
    let down = TestLog(bootID: [UInt8](repeating: 9, count: 16))
    for index in 0..<40 {
      down.write("record \(index)", ticks: UInt64(index), thread: UInt32(index % 3 + 1))
      if index == 19 { down.archive() }
    }
    let area = down.geometry.dictionaryOffset..<down.geometry.dictionaryOffset + down.dictionarySize
    down.put(repeatElement(0, count: area.count), at: area.lowerBound)
    down.save()
    _ = try recover(in: down.folder)
    let names = try Directory.open(down.folder.path).names().filter { $0.hasSuffix(".mmlog") }
    // Each archive is read alone.
    let reports = names.flatMap { LogFiles([.path(down.folder($0))]).verify() }
    #expect(reports.flatMap(\.corruption).isEmpty)
    #expect(
      readHere([down.folder.path]).records.map(\.message) == (0..<40).map { "record \($0)" })
  }

  /// A log of this boot by default, with records at `debug` as flight records.
  private func flightLog(bootID: [UInt8] = Host.bootID()) -> TestLog {
    let geometry = RingGeometry(dictionarySize: 8192, segmentSize: 4096, segmentCount: 16)
    return TestLog(bootID: bootID, geometry: geometry, archiveLevel: .info)
  }

  /// Writes thirty records at `debug` and thirty at `info`. The first twenty of each are archived
  /// or captured.
  private func writeCaptured(in log: TestLog) -> [String] {
    for index in 0..<30 {
      let thread = UInt32(index % 3 + 1)
      log.write("debug \(index)", ticks: UInt64(2 * index), thread: thread, level: .debug)
      log.write("info \(index)", ticks: UInt64(2 * index + 1), thread: thread)
      if index == 19 {
        log.archive()
        log.archive(areFlight: true)
      }
    }
    return (0..<30).flatMap { ["debug \($0)", "info \($0)"] }
  }

  @Test("what was captured is not archived again when its archive is gone")
  func whatWasCapturedIsNotArchivedAgainWhenItsArchiveIsGone() throws {
    let log = flightLog()
    let all = writeCaptured(in: log)
    // Only what is sealed is deleted.
    log.close(nil)
    log.archives = []
    log.save()
    let before = readHere([log.folder.path])
    #expect(before.records.map(\.message) == Array(all.suffix(20)))
    #expect(try readInPython([log.folder.path]).records == before.records)
    let outcome = try recover(in: log.folder)
    #expect(outcome.sessions.map(\.recordCount) == [20])
    #expect(outcome.sessions.map(\.flightRecordCount) == [10])
    #expect(readHere([log.folder.path]).records == before.records)
  }

  /// A record that is not known to be in an archive is shown, and recovered.
  @Test(
    "the rings word for what was captured is not taken blindly",
    arguments: ["another boot", "a wrong word", "a wrong frame"])
  func theRingsWordForWhatWasCapturedIsNotTakenBlindly(reason: String) throws {
    let log = flightLog(
      bootID: reason == "another boot" ? [UInt8](repeating: 9, count: 16) : Host.bootID())
    let all = writeCaptured(in: log)
    if reason == "a wrong word" { for place in log.geometry.uses { log.ring[place] ^= 1 } }
    if reason == "a wrong frame" {
      log.corruptArchive(at: log.archives[0].count - 20)
    } else {
      log.close(nil)
      log.archives = []
    }
    log.save()
    let result = readHere([log.folder.path])
    let infos = all.enumerated().filter { $0.offset % 2 == 1 && $0.offset < 40 }.map(\.element)
    let isTrusted = reason == "a wrong word"
    // With a wrong word, readers still believe the ring that the records at `info` are in an
    // archive.
    let expected = isTrusted ? all.filter { !infos.contains($0) } : all
    #expect(result.records.map(\.message) == expected)
    #expect(try readInPython([log.folder.path]).records == result.records)
  }

  @Test("an archives number is never used again") func anArchivesNumberIsNeverUsedAgain() throws {
    log.write("record 0", ticks: 1)
    log.put([3, 0, 0, 0], at: RingLayout.newestArchive)
    log.save()
    let ring = contents(ringName)
    // All three were handed on, and deleted.
    _ = try recover()
    #expect(names.map { FileNames.Archive(fileName: $0)?.number } == [4])
    // A recovery that died before it came to its end has used its number, too.
    try FileManager.default.removeItem(atPath: log.folder(names[0]))
    log.folder.put(ringName, ring)
    let notes = try File.open(log.folder(ringName), [.read, .write])
    try notes.write(all: [4, 0, 0, 0], at: RingLayout.newestArchive)
    _ = try recover()
    #expect(names.map { FileNames.Archive(fileName: $0)?.number } == [5])
  }

  #if DEBUG
    @Test(
      "what a recovery archived is not archived again when its archive is gone",
      arguments: [Level.info, .debug])
    func whatARecoveryArchivedIsNotArchivedAgainWhenItsArchiveIsGone(level: Level) throws {
      let log = flightLog()
      for index in 0..<100 { log.write("record \(index)", ticks: UInt64(index), level: level) }
      log.save()
      let names = { try FileManager.default.contentsOfDirectory(atPath: log.folder.path).sorted() }
      let settings = ArchiveSeries.Settings(rotationSize: 4096, compressionLevel: 0)
      func recover() throws -> [RecoveredSession] {
        try self.recover(in: log.folder, settings).sessions
      }
      // The first archive has its size after one frame. The second, for the session's end, cannot
      // be made.
      ForcedFault.force(
        .openat, errno: ENOSPC, onCall: 2, under: log.folder("test-"))
      #expect(try recover().isEmpty)
      let first = try #require(names().first { $0.hasSuffix(".mmlog") })
      #expect(readHere([log.folder(first)]).records.count == 100)
      #expect(try names().contains(ringName))
      // A limit deletes what is closed.
      try FileManager.default.removeItem(atPath: log.folder(first))
      #expect(try recover().map(\.recordCount) == [0])
      #expect(readHere([log.folder.path]).records.isEmpty)
      #expect(try names().map { FileNames.Archive(fileName: $0)?.number } == [2])
    }

    /// The first archive was cut by somebody, so that records go into a second one.
    @Test("recoveries that fail again and again go on with one archive")
    func recoveriesThatFail() throws {
      writeOverlap()
      log.store(1, at: RingLayout.newestArchive)
      log.store(UInt32(log.frameCount), at: RingLayout.newestFrames)
      log.save()
      let cut = try #require(names.first { $0.hasSuffix(".mmlog") })
      let archive = try #require(try ArchiveFile.all(in: File.open(log.folder(cut), .read)).last)
      let frame = try #require(archive.frames.last)
      log.folder.put(cut, Array(contents(cut).prefix(frame.offset)))
      for _ in 0..<3 {
        // Two archives are written again, or one, and a second one is begun. Its frames fail.
        ForcedFault.force(
          .pwrite, errno: ENOSPC, onCall: 3, times: .max, under: log.folder("test-"))
        #expect(try recover().problems.map(\.systemErrorNumber) == [ENOSPC])
        ForcedFault.clear(under: log.folder("test-"))
      }
      #expect(try recover().sessions.map(\.recordCount) == [30])
      #expect(names.count == 2 && messages() == (0..<40).map { "record \($0)" })
      let second = try ArchiveFile.all(in: File.open(log.folder(names[1]), .read))
      #expect(second.map(\.isClosed) == [true] && second.map(\.fileHeader.number) == [2])
    }

    @Test("the loss of a frame that was not written whole is counted by the next try, too")
    func aTornFrameIsCountedByTheNextTry() throws {
      let log = TestLog(bootID: Host.bootID())
      log.write("record 0", ticks: 0)
      log.archive()
      log.seal(1)
      log.free(segment: 0)
      log.write("record 1", ticks: 1)
      // The process notes a frame once it is written whole.
      log.store(UInt32(log.frameCount) - 1, at: RingLayout.newestFrames)
      let name = try #require(log.save().last).splitAtLastSlash.name
      log.folder.put(name, try log.folder.bytes(name).dropLast(24))
      // What is there is written again, and then the losses are to be.
      ForcedFault.force(.pwrite, errno: ENOSPC, onCall: 2, under: log.folder("test-"))
      #expect(try recover(in: log.folder).problems.map(\.systemErrorNumber) == [ENOSPC])
      let sessions = try recover(in: log.folder).sessions
      #expect(
        sessions.map { $0.losses.total(.corrupted) } == [1], "\(sessions.map(\.corruption))")
      #expect(losses(in: log.folder).map { $0.total(.corrupted) } == [1])
    }

    @Test("what is corrupted is counted once by a recovery that goes on behind another")
    func corruptedRecordsAreCountedOnce() throws {
      let log = TestLog.killed(records: 100, corrupted: 15)
      let settings = ArchiveSeries.Settings(rotationSize: 2048, compressionLevel: 0)
      func recover() throws -> [RecoveredSession] {
        try self.recover(in: log.folder, settings).sessions
      }
      // Its first archive has the records. The second, for the session's end, cannot be made.
      ForcedFault.force(.openat, errno: ENOSPC, onCall: 2, under: log.folder("test-"))
      #expect(try recover().isEmpty)
      #expect(readHere([log.folder.path]).records.count == 99)
      let sessions = try recover()
      #expect(sessions.map(\.recordCount) == [0])
      #expect(sessions.map { $0.losses.total(.corrupted) } == [1])
      #expect(losses(in: log.folder).map { $0.total(.corrupted) } == [1])
    }

    /// This holds whether the ring as it stands proves what is archived, or only frames do, after
    /// the machine went down; and with flight records behind the others, or without.
    @Test(
      "what one recovery has counted and what the next one finds are both counted",
      arguments: [true, false], [Level.trace, .info])
    func corruptedRecordsOfTwoRecoveries(isOfThisBoot: Bool, archiveLevel: Level) throws {
      let bootID = isOfThisBoot ? Host.bootID() : [UInt8](repeating: 7, count: 16)
      // More records than one frame has.
      let count = 2 * RowBuilder.targetSize / 4096
      let log = TestLog(
        bootID: bootID,
        geometry: RingGeometry(dictionarySize: 8192, segmentSize: 65536, segmentCount: 40),
        archiveLevel: archiveLevel)
      let text = String(repeating: "x", count: 4096)
      for number in 0..<count {
        let record = TestRecord(
          ticks: UInt64(number), site: log.textSite, level: .info,
          words: ValueWords.argument(.text(text)))
        let place = log.write(record)
        if number == 7 || number == count - 7 {
          log.put([UInt8](repeating: 0xA5, count: place.count), at: place.lowerBound)
        }
      }
      log.save()
      let settings = ArchiveSeries.Settings(rotationSize: 2048, compressionLevel: 0)
      // The first archive has the first frame. The second cannot be made.
      ForcedFault.force(.openat, errno: ENOSPC, onCall: 2, under: log.folder("test-"))
      #expect(try recover(in: log.folder, settings).sessions.isEmpty)
      let sessions = try recover(in: log.folder, settings).sessions
      #expect(sessions.allSatisfy { (1..<count - 2).contains($0.recordCount) })
      #expect(sessions.map { $0.losses.total(.corrupted) } == [2])
      #expect(losses(in: log.folder).map { $0.total(.corrupted) } == [2])
    }

    @Test("an archive that another process looks at meanwhile is waited for")
    func anArchiveThatAnotherLooksAtIsWaitedFor() throws {
      writeOverlap()
      let name = try #require(names.first { $0.hasSuffix(".mmlog") })
      ForcedFault.force(.fcntlLock, errno: EAGAIN, times: 3, under: log.folder(name))
      #expect(try recover().problems.isEmpty)
      #expect(names == [name])
      #expect(messages() == (0..<40).map { "record \($0)" })
    }

    @Test("an archive that is deleted meanwhile is no reason to stop")
    func anArchiveThatIsDeletedMeanwhileIsNoReasonToStop() throws {
      writeOverlap()
      let name = try #require(names.first { $0.hasSuffix(".mmlog") })
      ForcedFault.force(.fstatat, errno: ENOENT, times: 2, under: log.folder(name))
      ForcedFault.force(.openat, errno: ENOENT, under: log.folder(name))
      #expect(try recover().problems.isEmpty)
    }
  #endif

  @Test("an archive with a torn frame goes on") func anArchiveWithATornFrameGoesOn() throws {
    writeOverlap()
    let name = try #require(names.first { $0.hasSuffix(".mmlog") })
    log.folder.put(name, contents(name).dropLast(24))
    #expect(try recover().sessions.map(\.recordCount) == [30])
    #expect(names == [name])
    #expect(messages() == (0..<40).map { "record \($0)" })
    #expect(!readHere([log.folder.path]).hasTrouble)
  }

  @Test("a corrupted frames records are taken from the ring")
  func aCorruptedFramesRecordsAreTakenFromTheRing() throws {
    writeOverlap()
    let name = try #require(names.first { $0.hasSuffix(".mmlog") })
    var bytes = contents(name)
    let archives = try ArchiveFile.all(in: File.open(log.folder(name), .read))
    let frame = try #require(archives.first).frames[1]
    bytes[frame.offset + 40] ^= 3
    log.folder.put(name, bytes)
    #expect(try recover().sessions.map(\.recordCount) == [30])
    #expect(messages() == (0..<40).map { "record \($0)" })
  }

  @Test("a corrupted payloads records are taken from the ring")
  func aCorruptedPayloadsRecordsAreTakenFromTheRing() throws {
    writeOverlap()
    let name = try #require(names.first { $0.hasSuffix(".mmlog") })
    var bytes = contents(name)
    let archives = try ArchiveFile.all(in: File.open(log.folder(name), .read))
    let frame = archives[0].frames[1]
    bytes[frame.offset + frame.header.headerSize + 5] ^= 3
    log.folder.put(name, bytes)
    #expect(try recover().sessions.map(\.recordCount) == [30])
    #expect(messages() == (0..<40).map { "record \($0)" })
  }

  @Test("there is an archive after the one with the greatest number")
  func thereIsAnArchiveAfterTheOneWithTheGreatestNumber() throws {
    log.write("a", ticks: 1)
    log.save()
    let last = "test-20251121T090000Z-\(log.identity.session)-4294967295.mmlog"
    log.folder.put(last, [])
    #expect(try recover().sessions.map(\.recordCount) == [1])
    #expect(names.count == 2 && names.contains(last))
    #expect(messages() == ["a"])
  }

  @Test("there is an archive after one that says the greatest number, whatever its name says")
  func thereIsAnArchiveAfterOneThatSaysTheGreatestNumber() throws {
    log.write("a", ticks: 1)
    log.save()
    let writer = try ArchiveWriter(
      in: Directory.open(log.folder.path),
      ArchiveHeader(
        identity: log.identity, number: .max,
        created: 0), compressionLevel: 0)
    try writer.append(LossLedger())
    try writer.close(dictionary: UnsafeRawBufferPointer(start: nil, count: 0))
    rename(log.folder(writer.fileName), log.folder("other.mmlog"))
    #expect(try recover().sessions.map(\.recordCount) == [1])
    #expect(names.count == 2 && messages() == ["a"])
  }

  @Test("records that cannot be read are reported")
  func recordsThatCannotBeReadAreReported() throws {
    log.write("a", ticks: 1)
    let place = log.write(TestRecord(ticks: 2, site: log.textSite, words: [1, 98]))
    log.write("c", ticks: 3)
    log.corruptRing(at: place.lowerBound + 25)
    log.save()
    let session = try #require(try recover().sessions.first)
    #expect(session.recordCount == 2)
    #expect(
      session.corruption == ["records in segment 0 at \(place.lowerBound), \(place.count) bytes"])
  }

  @Test("the ring stands in for an archive that cannot be read")
  func theRingStandsInForAnArchiveThatCannotBeRead() throws {
    writeOverlap()
    let name = try #require(names.first { $0.hasSuffix(".mmlog") })
    var bytes = contents(name)
    // Corrupts the file header, and the headers of all frames.
    for place in stride(from: 100, to: bytes.count, by: 96) { bytes[place] ^= 3 }
    log.folder.put(name, bytes)
    #expect(try recover().sessions.map(\.recordCount) == [40])
    #expect(contents(name) == bytes && names.count == 2)
    #expect(messages() == (0..<40).map { "record \($0)" })
  }

  @Test("the ring stands in for the end of an archive that has a successor")
  func theRingStandsInForTheEndOfAnArchiveThatHasASuccessor() throws {
    log.writeArchiveWithoutEnd()
    log.save()
    #expect(try recover().sessions.map(\.recordCount) == [1])
    #expect(messages() == ["a", "b", "c"])
  }

  @Test("fragments are moved one by one") func fragmentsAreMovedOneByOne() throws {
    let text = String(repeating: "0123456789", count: 300)
    let record = TestRecord(ticks: 5, site: log.textSite, words: ValueWords.argument(.text(text)))
    log.writeFragments(record, partWords: 150, range: 0..<1)
    log.archive()
    log.writeFragments(record, partWords: 150, range: 1..<3)
    log.save()
    // The record counts where its first fragment is.
    #expect(try recover().sessions.map(\.recordCount) == [0])
    #expect(messages() == [text])
  }

  @Test("a record in fragments is recovered as one") func fragmentsAreRecoveredAsOneRecord() throws
  {
    let text = String(repeating: "0123456789", count: 300)
    let record = TestRecord(ticks: 5, site: log.textSite, words: ValueWords.argument(.text(text)))
    log.writeFragments(record, partWords: 150)
    log.save()
    let session = try #require(try recover().sessions.first)
    #expect(session.recordCount == 1)
    #expect(session.archives.map { $0.contents?.count } == [1])
    #expect(messages() == [text])
  }

  @Test(
    "what root recovers for a service belongs to the service's user",
    .enabled(if: CurrentProcess.effectiveUserID == 0))
  func recoveredByRoot() throws {
    for index in 0..<40 { log.write("record \(index)", ticks: UInt64(index)) }
    log.save()
    let user: UInt32 = 65_534
    for path in [log.folder.path, log.folder(ringName)] { chown(path, user, user) }
    chmod(log.folder(ringName), 0o640)
    #expect(try LogRecovery.recover(log.folder.path) { Issue.record("\($0)") }.count == 1)
    let made = try names.map { try File.status(ofPath: log.folder($0)) }
    #expect(made.map(\.owner) == [user] && made.map(\.group) == [user])
    #expect(made.map { $0.permissions & 0o777 } == [0o640])
    #expect(messages() == (0..<40).map { "record \($0)" })
    // Files that are made beside the archive belong to the user, too.
    let catalog = Catalog(of: log.folder.path, store: nil)
    let archive = try #require(try catalog.scan().first)
    try catalog.change(archive.fileName) { $0.pinned = nil }
    try Directory.openForItsUser(log.folder.path).makeDirectory("made")
    #expect(names.count == 3)
    for name in names { #expect(try File.status(ofPath: log.folder(name)).owner == user) }
  }

  @Test("in a directory of rings that stores share, rings of unknown stores are left")
  func sharedRings() throws {
    let (rings, archives) = (TemporaryDirectory(), TemporaryDirectory())
    var names: [String: String] = [:]
    for (index, store) in ["orders", "billing", "a"].enumerated() {
      let log = TestLog(session: UInt64(index), bootID: Host.bootID())
      log.write("record of \(store)", ticks: 1)
      let name = "\(store).\(log.identity.session).ring"
      names[store] = rings.put(name, log.ring)
    }
    func recover(to folder: TemporaryDirectory) throws -> (count: Int, left: [String]) {
      var problems: [LogError] = []
      let sessions = try LogRecovery.recover(rings.path, archiveDirectory: folder.path) {
        problems.append($0)
      }
      return (sessions.count, problems.map(\.path).sorted())
    }
    var outcome = try recover(to: archives)
    #expect(outcome.count == 0 && outcome.left == names.values.sorted())
    archives.put("orders.settings")
    archives.put(TestLog.sealedName(session: 9, store: "billing"), TestLog.sealed(session: 9))
    outcome = try recover(to: archives)
    #expect(outcome.count == 2 && outcome.left == [names["a"]])
    #expect(try archives.names(ending: ".mmlog").count == 3)
    // A store whose archives are all deleted has its settings left.
    let emptied = TemporaryDirectory()
    emptied.put("orders.settings")
    outcome = try recover(to: emptied)
    #expect(outcome.count == 0 && outcome.left == [names["a"]])
    // A ring that is alone, and an empty directory: nobody else is there whose ring it may be. Only
    // who recovers can know that.
    let empty = TemporaryDirectory()
    let sessions = try LogRecovery.recoverKnown(
      rings.path, archiveDirectory: empty.path,
      left: { #expect($0.path == names["a"]) }, problem: { Issue.record("\($0)") })
    #expect(sessions.isEmpty)
    outcome = try recover(to: TemporaryDirectory())
    #expect(outcome.count == 1 && outcome.left.isEmpty)
    #expect(try rings.names().isEmpty)
  }

  @Test("beside archives, rings of all stores are recovered, whatever path the directory has")
  func oneDirectoryOfSeveralPaths() throws {
    let folder = TemporaryDirectory()
    folder.put(TestLog.sealedName(session: 9, store: "orders"), TestLog.sealed(session: 9))
    log.write("record", ticks: 1)
    folder.put(ringName, log.ring)
    let link = TemporaryDirectory()
    try FileManager.default.createSymbolicLink(
      atPath: link("logs"), withDestinationPath: folder.path)
    let sessions = try LogRecovery.recover(link("logs"), archiveDirectory: folder.path) {
      Issue.record("\($0)")
    }
    #expect(sessions.count == 1)
    #expect(try folder.names(ending: ".ring").isEmpty)
  }

  @Test("a ring of a newer version is left alone") func aRingOfANewerVersionIsLeftAlone() throws {
    writeOverlap()
    log.ring[FileHeaderLayout.version] = 9
    log.save()
    let other = TestLog(session: 2, bootID: Host.bootID())
    other.write("other", ticks: 1)
    log.folder.put("test.\(other.identity.session).ring", other.ring)
    let outcome = try recover()
    #expect(outcome.sessions.map(\.identity) == [other.identity], "the other one is recovered")
    #expect(outcome.problems.map(\.code) == [.newerFormat])
    #expect(outcome.problems[0].path == log.folder(ringName))
    #expect(outcome.problems[0].message.contains("newer version of mmlog"))
    #expect(contents(ringName) == log.ring)
  }

  @Test("a ring that is none is left alone") func aRingThatIsNoneIsLeftAlone() throws {
    let garbage = Array("garbage".utf8)
    log.folder.put(ringName, garbage)
    for _ in 0..<2 {
      let outcome = try recover()
      #expect(outcome.sessions.isEmpty && outcome.problems.map(\.code) == [.foreignFile])
      #expect(contents(ringName) == garbage && names == [ringName])
    }
  }

  /// The machine may go down before a ring's first page is on the disk.
  @Test("a ring without a file header is reported once and put aside")
  func aRingWithoutAFileHeaderIsReportedOnceAndPutAside() throws {
    writeOverlap()
    let zeros = [UInt8](repeating: 0, count: FileHeaderLayout.size)
    var corrupted = log.ring
    corrupted[FileHeaderLayout.size - 20] ^= 3
    for ring in [
      [], zeros, zeros + log.ring.dropFirst(zeros.count), Array(log.ring.prefix(300)), corrupted,
    ] {
      for name in names { unlink(log.folder(name)) }
      log.folder.put(ringName, ring)
      let outcome = try recover()
      let newName = ringName + FileNames.unreadableSuffix
      #expect(outcome.sessions.isEmpty && outcome.problems.map(\.code) == [.corruptedFile])
      #expect(outcome.problems.first?.path == log.folder(newName))
      #expect(outcome.problems.first?.message.contains(log.folder(ringName)) == true)
      #expect(contents(newName) == ring && names == [newName])
      let next = try recover()
      #expect(next.problems.isEmpty && names == [newName])
      // The ring never replaces a file that is there.
      log.folder.put(ringName, zeros)
      #expect(try recover().problems.map(\.systemErrorNumber) == [EEXIST])
      #expect(contents(newName) == ring && contents(ringName) == zeros)
    }
  }

  @Test("the ring of a live process is untouched") func theRingOfALiveProcessIsUntouched() throws {
    writeOverlap()
    let holder = try File.open(log.folder(ringName), [.read, .write])
    #expect(try holder.tryLock())
    let before = names.map(contents)
    let outcome = try recover()
    #expect(outcome.sessions.isEmpty && outcome.problems.isEmpty)
    #expect(names.map(contents) == before)
    try holder.unlock()
    #expect(try recover().sessions.count == 1)
  }

  @Test("only rings of the store are recovered") func onlyRingsOfTheStoreAreRecovered() throws {
    writeOverlap()
    #expect(try recover(store: "tes").sessions.isEmpty)
    #expect(try recover(store: nil).sessions.count == 1)
  }

  @Test("unfinished rings of dead processes are swept")
  func unfinishedRingsOfDeadProcessesAreSwept() throws {
    let session = log.identity.session
    let (dead, alive) = ("test.\(session).ring.new", "test.\(SessionID(words: (5, 5))).ring.new")
    let others = ["other.\(session).ring.new", "test.new", "notes.ring.new", "test.\(session).new"]
    let young = "test.\(SessionID(words: (6, 6))).ring.new"
    for name in [dead, alive, young] + others {
      log.folder.put(name, [1, 2, 3])
      if name == young { continue }
      // A ring that has just been made may not be locked yet.
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: 1)], ofItemAtPath: log.folder(name))
    }
    let holder = try File.open(log.folder(alive), [.read, .write])
    #expect(try holder.tryLock())
    // A time from a wrong clock: in nanoseconds, 64 bits cannot hold it.
    let future = "test.\(SessionID(words: (7, 7))).ring.new"
    log.folder.put(future, [1, 2, 3])
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 9_800_000_000)],
      ofItemAtPath: log.folder(future))
    let outcome = try recover()
    #expect(outcome.problems.isEmpty && outcome.sessions.isEmpty)
    #expect(names == ([alive, young, future] + others).sorted())
    _ = try holder.status()
  }

  @Test("losses are taken along") func lossesAreTakenAlong() throws {
    var losses = LossLedger()
    losses[.ringFull, .warning] = 4
    log.write("a", ticks: 1)
    log.put(losses.encoded, at: RingLayout.ledger)
    log.save()
    #expect(try recover().sessions.map(\.losses) == [losses])
    let found = LogReader(paths: [log.folder.path]).compactMap {
      if case .losses(_, let ledger) = $0 { ledger } else { nil }
    }
    #expect(found == [losses])
  }

  @Test("a ring that was closed is of a closed session")
  func aRingThatWasClosedIsOfAClosedSession() throws {
    log.write("a", ticks: 1)
    log.put([UInt8(RingLayout.stateClosed)], at: RingLayout.state)
    log.save()
    #expect(try recover().sessions.count == 1)
    guard case .ended(let end) = endings().first else { return #expect(Bool(false)) }
    #expect(end.how == .closed)
  }

  @Test("after a power cut records behind a lost page are found")
  func afterAPowerCutRecordsBehindALostPageAreFound() throws {
    let down = TestLog(bootID: [UInt8](repeating: 9, count: 16))
    down.write("first", ticks: 1)
    let lost = down.write(TestRecord(ticks: 2, site: down.textSite, words: [1, 98]))
    down.write("last", ticks: 3)
    down.put([UInt8](repeating: 0, count: lost.count), at: lost.lowerBound)
    down.save()
    let outcome = try recover(in: down.folder)
    #expect(outcome.sessions.map(\.recordCount) == [2])
    #expect(readHere([down.folder.path]).records.map(\.message) == ["first", "last"])
  }

  /// As after a disk has lost the end of a file: the records that the ring still has are not given
  /// up.
  @Test("what the ring says is archived and is not is moved again")
  func whatTheRingSaysIsArchivedAndIsNotIsMovedAgain() throws {
    for index in 0..<30 {
      log.write("record \(index)", ticks: UInt64(index), thread: UInt32(index % 3 + 1))
      if index == 9 || index == 19 { log.archive() }
    }
    let frames = try ArchiveFile.all(in: File.open(log.save().last ?? "", .read))[0].frames
    let second = frames.filter { $0.header.type == .records }[1]
    log.archives[0].removeSubrange(second.offset...)
    log.save()
    let before = messages()
    #expect(before == (0..<30).map { "record \($0)" })
    #expect(try recover().sessions.map(\.recordCount) == [20])
    #expect(messages() == before)
  }

  @Test("an archive that is there twice is not gone on with")
  func anArchiveThatIsThereTwiceIsNotGoneOnWith() throws {
    writeOverlap()
    log.save()
    let end = try #require(
      ArchiveFile.all(in: File.open(log.save().last ?? "", .read))[0].frames.last?.offset)
    // Sorted before and behind the whole one.
    for name in ["aaa.mmlog", "zzz.mmlog"] {
      log.folder.put(name, Array(log.archives[0].prefix(end)))
    }
    #expect(try recover().sessions.map(\.recordCount) == [20])
    #expect(messages() == (0..<40).map { "record \($0)" })
  }

  /// The archive has another archive's name, and no file header.
  @Test("an archive is known by its frames if its file header is lost")
  func anArchiveIsKnownByItsFramesIfItsFileHeaderIsLost() throws {
    writeOverlap()
    let mine = log.save().filter { $0.hasSuffix(".mmlog") }
    log.archives[0].replaceSubrange(0..<512, with: [UInt8](repeating: 0, count: 512))
    log.folder.put("other.mmlog", log.archives[0])
    try FileManager.default.removeItem(atPath: mine[0])
    #expect(try recover().sessions.map(\.recordCount) == [20])
    #expect(messages().sorted() == (0..<40).map { "record \($0)" }.sorted())
  }

  /// Somebody has given two archives each other's names, or one of them any name.
  @Test("archives are known by what is in them", arguments: [true, false])
  func archivesAreKnownByWhatIsInThem(areSwapped: Bool) throws {
    writeOverlap()
    let other = TestLog(session: 2)
    other.writesRing = false
    other.write("other", ticks: 1)
    other.archive()
    let mine = log.save().filter { $0.hasSuffix(".mmlog") }
    let (name, otherName) = ((mine[0] as NSString).lastPathComponent, "other.mmlog")
    let othersName = name.replacing("\(log.identity.session)", with: "\(other.identity.session)")
    log.folder.put(areSwapped ? othersName : otherName, log.archives[0])
    log.folder.put(areSwapped ? name : othersName, other.archives[0])
    if !areSwapped { try FileManager.default.removeItem(atPath: mine[0]) }

    #expect(try recover().sessions.map(\.recordCount) == [20])
    let expected = (0..<40).map { "record \($0)" } + ["other"]
    #expect(messages().sorted() == expected.sorted())
  }

  @Test("recovery rotates by its size") func recoveryRotatesByItsSize() throws {
    let text = String(repeating: "x", count: 2000)
    for index in 0..<16 { log.write(text, ticks: UInt64(index), thread: UInt32(index)) }
    log.save()
    let directory = try Directory.open(log.folder.path)
    let session = try Recovery.recover(
      ringName, directory, directory, .init(rotationSize: 1, compressionLevel: 0))
    #expect(session?.recordCount == 16)
    #expect(names.count == 2, "one for the records and one for the session's end")
    #expect(messages() == Array(repeating: text, count: 16))
    let result = readHere([log.folder.path])
    let difference = try readInPython([log.folder.path]).difference(from: result)
    #expect(difference == nil)
  }

  /// A ring with two records of 30 kB in each segment. Some of them are flight records.
  private func largeRing(segments: Int) -> TestLog {
    let log = TestLog(
      bootID: Host.bootID(),
      geometry: RingGeometry(dictionarySize: 8192, segmentSize: 1 << 16, segmentCount: segments),
      archiveLevel: .info)
    let text = String(repeating: "x", count: 30_000)
    for index in 0..<2 * segments {
      log.write(
        "\(index) \(text)", ticks: UInt64(index), level: index % 100 == 99 ? .debug : .info)
    }
    return log
  }

  @Test("the records of a large ring come in order of time, those of a slow thread, too")
  func theRecordsOfALargeRingComeInOrderOfTime() throws {
    let log = TestLog(
      bootID: Host.bootID(),
      geometry: RingGeometry(dictionarySize: 8192, segmentSize: 1 << 16, segmentCount: 512))
    let text = String(repeating: "x", count: 30_000)
    for ticks in 0..<900 as Range<UInt64> {
      log.write(text, ticks: ticks, thread: ticks % 10 == 0 ? 2 : 1)
      // The slow thread's one segment is among the first.
      if ticks % 3 == 0 { log.write("slow", ticks: ticks, thread: 3) }
    }
    // Its fragments are in many segments, and another writer of the thread has an older one.
    log.writeFragments(
      TestRecord(
        ticks: 900, site: log.textSite,
        words: ValueWords.argument(.text(String(repeating: "y", count: 200_000)))),
      partWords: 4000)
    log.write("end", ticks: 901, thread: 3)
    log.save()
    let session = try #require(try recover(in: log.folder).sessions.first)
    #expect(session.recordCount == 900 + 300 + 2)
    let archives = try log.folder.names(ending: ".mmlog").sorted().flatMap {
      try ArchiveFile.all(in: File.open(log.folder($0), .read))
    }
    let ticks = try archives.flatMap { try $0.ticks() }.flatMap { $0 }
    #expect(ticks == ticks.sorted() && ticks.count > 1200)
  }

  @Test("holes of an archive are not filled")
  func holesOfAnArchiveAreNotFilled() throws {
    writeOverlap()
    let path = log.folder(try #require(names.first { $0.hasSuffix(".mmlog") }))
    let file = try File.open(path, [.read, .write])
    let archive = try #require(try ArchiveFile.all(in: File.open(path, .read)).last)
    let frame = try #require(archive.frames.last)
    // A frame of a recovery that has died is far behind the others, as a hostile file may have it.
    let bytes = try file.bytes(at: frame.offset, count: archive.end - frame.offset)
    try file.write(all: bytes, at: 1 << 40)
    try file.writeAgain(0..<(1 << 40) + bytes.count)
    #expect(try file.status().allocatedBytes < 1 << 20)
    #expect(try file.bytes(at: 1 << 40, count: bytes.count) == bytes)
  }

  #if DEBUG
    @Test("a large ring that is recovered in several tries gives everything once")
    func aLargeRingThatIsRecoveredInSeveralTriesGivesEverythingOnce() throws {
      let log = largeRing(segments: 320)
      // The first records of two segments.
      for segment in [3, 200] {
        log.corruptRing(at: log.geometry.offset(ofSegment: segment) + SegmentLayout.size + 1000)
      }
      log.save()
      for call in [5, 60, 150] {
        ForcedFault.force(.pwrite, errno: EIO, onCall: call, under: log.folder.path)
        let outcome = try recover(in: log.folder)
        ForcedFault.clear(under: log.folder.path)
        #expect(outcome.problems.map(\.systemErrorNumber) == [EIO], "\(call)")
      }
      let session = try #require(try recover(in: log.folder).sessions.first)
      #expect(session.losses.total(.corrupted) == 2 && session.flightRecordCount == 6)
      #expect(losses(in: log.folder).map { $0.total(.corrupted) } == [2])
      let found = readHere([log.folder.path]).records.map { $0.message.prefix { $0 != " " } }
      #expect(found == (0..<640).filter { $0 != 6 && $0 != 400 }.map { "\($0)" })
    }

    @Test("a recovery has only a part of a large ring in memory", .enabled(if: !isSanitized))
    func aRecoveryHasOnlyAPartOfALargeRingInMemory() async {
      await #expect(processExitsWith: .success) {
        let test = RecoveryTests()
        let log = test.largeRing(segments: 512)
        log.save()
        let (before, peak) = (privateMemory(), LockedValue(0))
        TestPoint.handler = { point in
          guard point == .recoveryBeforeFrame else { return }
          let now = privateMemory()
          peak.withLock { $0 = max($0, now) }
        }
        let sessions = try test.recover(in: log.folder).sessions
        require(sessions.map(\.recordCount) == [1024])
        let taken = peak.withLock { $0 } - before
        require(taken > 0 && taken < 20 << 20, "\(taken) bytes of a ring of \(log.ring.count)")
      }
    }

    @Test(
      "a failure leaves everything for the next start",
      arguments: [SystemCall.pwrite, .openat, .fdatasync, .fsync, .unlinkat, .pread])
    func aFailureLeavesEverythingForTheNextStart(call: SystemCall) throws {
      writeOverlap()
      var failures = 0
      // Without its first read, a ring is recovered as if it were the oldest.
      for onCall in call == .pread ? 2...50 : 1...8 {
        ForcedFault.force(call, errno: 5, onCall: onCall, under: log.folder.path)
        let outcome = try recover()
        ForcedFault.clear(under: log.folder.path)
        #expect(outcome.problems.allSatisfy { $0.systemErrorNumber == 5 }, "\(call) \(onCall)")
        #expect(messages() == (0..<40).map { "record \($0)" }, "\(call) \(onCall)")
        if outcome.problems.isEmpty { continue }
        failures += 1
        #expect(names.contains(ringName), "\(call) \(onCall)")
      }
      #expect(failures > 0, "\(call)")
      _ = try recover()
      #expect(messages() == (0..<40).map { "record \($0)" })
      #expect(!names.contains(ringName))
    }

    /// After a power cut, recovery also reads payloads, to see whether they reached the disk. If it
    /// cannot read one, that does not show that it did not.
    @Test("a failure after a power cut leaves everything for the next start")
    func aFailureAfterAPowerCutLeavesEverythingForTheNextStart() throws {
      let down = TestLog(bootID: [UInt8](repeating: 9, count: 16))
      for index in 0..<40 {
        down.write("record \(index)", ticks: UInt64(index), thread: UInt32(index % 3 + 1))
        if index == 19 { down.archive(isPublished: false) }
      }
      down.save()
      var failures = 0
      for onCall in 2...40 {
        ForcedFault.force(.pread, errno: EIO, onCall: onCall, under: down.folder.path)
        let outcome = try recover(in: down.folder)
        ForcedFault.clear(under: down.folder.path)
        #expect(outcome.problems.allSatisfy { $0.systemErrorNumber == EIO }, "\(onCall)")
        if outcome.problems.isEmpty { continue }
        failures += 1
        #expect(try down.folder.names(ending: ".ring").count == 1, "\(onCall)")
      }
      #expect(failures > 0)
      _ = try recover(in: down.folder)
      #expect(
        readHere([down.folder.path]).records.map(\.message) == (0..<40).map { "record \($0)" })
    }

    @Test("a file that is gone is no ring that is gone")
    func aFileThatIsGoneIsNoRingThatIsGone() throws {
      writeOverlap()
      for onCall in 1...3 {
        ForcedFault.force(.readdir, errno: ENOENT, onCall: onCall, under: log.folder.path)
        let outcome = try recover()
        ForcedFault.clear(under: log.folder.path)
        #expect(outcome.problems.map(\.systemErrorNumber) == [ENOENT], "\(onCall)")
      }
      // An archive that was listed before and can be opened is not taken as gone, either.
      ForcedFault.force(.fstatat, errno: ENOENT, onCall: 6, under: log.folder.path)
      let outcome = try recover()
      ForcedFault.clear(under: log.folder.path)
      #expect(outcome.sessions.map(\.recordCount) == [20])
      #expect(messages() == (0..<40).map { "record \($0)" })
    }

    /// What a killed process or a killed recovery wrote may still be on its way to the disk.
    @Test(
      "a ring is not removed before what stands in for it is on the disk",
      arguments: [SystemCall.fdatasync, .fsync])
    func aRingIsNotRemovedBeforeWhatStandsInForItIsOnTheDisk(call: SystemCall) throws {
      writeOverlap()
      let ring = contents(ringName)
      for _ in 0..<2 {
        // First in an archive that goes on; then in one that is closed and has everything.
        ForcedFault.force(call, errno: 5, under: log.folder.path)
        let outcome = try recover()
        ForcedFault.clear(under: log.folder.path)
        #expect(outcome.problems.map(\.systemErrorNumber) == [5])
        #expect(names.contains(ringName))
        #expect(try recover().problems.isEmpty)
        #expect(!names.contains(ringName))
        log.folder.put(ringName, ring)
      }
    }

    @Test(
      "a file that takes an archive's name while it is recovered stays as it is",
      arguments: [3, 5])
    func aFileThatTakesAnArchivesNameStaysAsItIs(opening: Int) async {
      await #expect(processExitsWith: .success) { [opening] in
        let test = RecoveryTests()
        test.writeOverlap()
        let name = try #require(test.names.first { $0.hasSuffix(".mmlog") })
        let (path, other) = (test.log.folder(name), test.log.folder("other"))
        let bytes = test.contents(name) + [UInt8](repeating: 120, count: 5000)
        test.log.folder.put("other", bytes)
        // The archive's beginning is read, and then all of it. Recovery opens it to write it again,
        // reads it once more, and opens it to go on with it.
        RecoveryTests.whenOpened(opening, path) { rename(other, path) }
        let problems = try test.recover().problems
        CallObserver.observe(nil)
        require(problems.count == 1 && test.contents(name) == bytes, "\(problems)")
        require(try test.recover().problems.isEmpty && test.contents(name) == bytes)
        require(test.messages() == (0..<40).map { "record \($0)" })
      }
    }

    /// Runs `body` right before a file is opened the n-th time.
    private static func whenOpened(
      _ opening: Int, _ path: String, _ body: @escaping @Sendable () -> Void
    ) {
      let opened = LockedValue(0)
      CallObserver.observe { call, about, phase in
        guard call == .openat, about == path, phase == .begins else { return }
        opened.withLock { $0 += 1 }
        if opened.withLock({ $0 }) == opening { body() }
      }
    }

    @Test("what a sync failed for is written again by the next recovery")
    func whatASyncFailedForIsWrittenAgainByTheNextRecovery() throws {
      writeOverlap()
      let ring = contents(ringName)
      let path = log.folder(try #require(names.first { $0.hasSuffix(".mmlog") }))
      // First in an archive that is gone on with and sealed; then in one that has everything.
      for failing in [2, 1] {
        ForcedFault.force(.fdatasync, errno: EIO, onCall: failing, under: path)
        #expect(try recover().problems.map(\.systemErrorNumber) == [EIO])
        // The fault reaches the second recovery only if that writes.
        ForcedFault.force(.pwrite, errno: EIO, under: path)
        #expect(try recover().problems.map(\.systemErrorNumber) == [EIO])
        #expect(names.contains(ringName))
        ForcedFault.clear(under: path)
        #expect(try recover().problems.isEmpty)
        #expect(!names.contains(ringName))
        log.folder.put(ringName, ring)
      }
      #expect(messages() == (0..<40).map { "record \($0)" })
    }

    @Test("each archive that stands in for a part of the ring is written again")
    func anArchiveThatStandsInForAPartOfTheRingIsWrittenAgain() throws {
      writeOverlap()
      let ring = contents(ringName)
      // Each archive of the recovery is closed when it has a frame.
      let settings = ArchiveSeries.Settings(rotationSize: 1, compressionLevel: 1)
      #expect(try recover(settings).problems.isEmpty)
      log.folder.put(ringName, ring)
      let archives = names.filter { $0.hasSuffix(".mmlog") }.map { log.folder($0) }
      #expect(archives.count > 1)
      for path in archives { ForcedFault.force(.pwrite, errno: EIO, onCall: .max, under: path) }
      #expect(try recover(settings).problems.isEmpty)
      #expect(archives.allSatisfy { ForcedFault.passed(.pwrite, under: $0) > 0 })
      for path in archives { ForcedFault.clear(under: path) }
      #expect(messages() == (0..<40).map { "record \($0)" })
    }

    /// After a failed sync, the kernel may drop a page from memory at any time.
    @Test("a recovery goes by what it has written again, not by what it read before")
    func aRecoveryGoesByWhatItHasWrittenAgain() async {
      await #expect(processExitsWith: .success) {
        let test = RecoveryTests()
        test.writeOverlap()
        let name = try #require(test.names.first { $0.hasSuffix(".mmlog") })
        let (path, size) = (test.log.folder(name), test.contents(name).count)
        let archive = try #require(try ArchiveFile.all(in: File.open(path, .read)).last)
        let lost = try #require(archive.frames.last).offset
        RecoveryTests.whenOpened(3, path) {
          let file = open(path, O_WRONLY)
          _ = pwrite(file, [UInt8](repeating: 0, count: size - lost), size - lost, off_t(lost))
          close(file)
        }
        let problems = try test.recover().problems
        CallObserver.observe(nil)
        require(problems.isEmpty && !test.names.contains(test.ringName), "\(problems)")
        require(test.messages() == (0..<40).map { "record \($0)" }, "\(test.messages())")
      }
    }

    @Test("a recovery does not ask for the status of other sessions' archives")
    func otherArchivesAreLeftAlone() throws {
      writeOverlap()
      let other = TestLog(session: 2)
      other.write("other", ticks: 1)
      other.archive()
      other.close()
      let prefix = "test-20251121T090000Z-\(other.identity.session)"
      for number in 1...9 { log.folder.put("\(prefix)-00000\(number).mmlog", other.archives[0]) }
      let path = log.folder(prefix)
      ForcedFault.force(.fstatat, errno: EIO, onCall: .max, under: path)
      defer { ForcedFault.clear(under: path) }
      let outcome = try recover()
      #expect(outcome.problems.isEmpty && outcome.sessions.map(\.recordCount) == [20])
      #expect(ForcedFault.passed(.fstatat, under: path) == 0)
    }

    @Test("a ring that was just made is not locked to find out whether it is left over")
    func aRingThatWasJustMadeIsNotLocked() throws {
      let young = log.folder.put("test.\(log.identity.session).ring.new", [1, 2, 3])
      ForcedFault.force(.fcntlLock, errno: EIO, onCall: .max, under: young)
      _ = try recover()
      #expect(ForcedFault.passed(.fcntlLock, under: young) == 0)
      ForcedFault.clear(under: young)
    }

    /// The child has the ring open, and shares its lock.
    @Test(
      "a child of fork keeps nobody from recovering later",
      arguments: [TestPoint.recoveryLocked, .recoveryCutOff])
    func aChildOfForkKeepsNobodyFromRecoveringLater(point: TestPoint) async {
      await #expect(processExitsWith: .success) { [point = point.rawValue as UInt8] in
        let test = RecoveryTests()
        test.writeOverlap()
        TestPoint.handler = { [path = test.log.folder.path] in
          guard $0.rawValue == point, bystander < 0 else { return }
          bystander = fork()
          // The child stays, and does nothing: no child goes on with what another thread of its
          // parent was doing.
          if bystander == 0 { while true { pause() } }
          let call = $0 == .recoveryLocked ? SystemCall.pread : .fsync
          ForcedFault.force(call, errno: EIO, times: .max, under: path)
        }
        let problems = try test.recover().problems.map(\.systemErrorNumber)
        defer { kill(bystander, SIGKILL) }
        ForcedFault.clear(under: test.log.folder.path)
        #expect(problems == [EIO])
        #expect(test.names.contains(test.ringName))
        #expect(try test.recover().sessions.count == 1)
        #expect(!test.names.contains(test.ringName))
      }
    }
  #endif
}

/// How much memory the process has that is no file's, in bytes.
private func privateMemory() -> Int {
  let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
  let line = status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") } ?? ""
  return (line.split(separator: " ").compactMap { Int($0) }.first ?? 0) * 1024
}

#if DEBUG
  /// A process that was forked in the middle of a recovery; -1 before.
  nonisolated(unsafe) private var bystander: pid_t = -1
#endif
