import Foundation
import MMLogAnalysis
import MMLogFormat
import MMLogReader
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

@Suite struct RinglessArchivesTests {
  private let log = TestLog()

  private func seal(
    store: String? = "test", problem: (LogError) -> Void = { Issue.record($0) }
  ) throws -> [String] {
    let directory = try Directory.open(log.folder.path)
    var sealed: [String] = []
    RinglessArchives.seal(
      of: store, in: directory, rings: directory, .usual,
      sealed: { sealed.append($0.fileName) }, problem: problem)
    return sealed
  }

  /// Ten records in an archive that is not sealed, and ten in the ring.
  private func write(savesRing: Bool) throws -> String {
    for index in 0..<20 {
      log.write("record \(index)", ticks: UInt64(index))
      if index == 9 { log.archive() }
    }
    log.writesRing = savesRing
    return try #require(log.save().last).splitAtLastSlash.name
  }

  private func archives() throws -> [ArchiveInfo] {
    try Catalog(of: log.folder.path, store: nil).scan()
  }

  private func result() -> ReadResult { readHere([log.folder.path]) }

  @Test("an archive whose ring is gone is sealed once, and nothing in it changes")
  func anArchiveWhoseRingIsGoneIsSealedOnce() throws {
    let name = try write(savesRing: false)
    let before = result()
    #expect(try seal() == [name])
    #expect(try archives().map(\.isSealed) == [true])
    #expect(result().records == before.records && !result().hasTrouble)
    #expect(before.records.count == 10)
    #expect(try readInPython([log.folder.path]) == result())
    #expect(try seal() == [])
  }

  @Test("an archive without a file header, whose process died, is removed by lock and age")
  func unfinishedArchives() throws {
    func name(_ session: UInt64, store: String = "test") -> String {
      "\(store)-20251121T090000Z-\(SessionID(words: (session, 5)))-000001.mmlog.new"
    }
    let (dead, alive, young) = (name(1), name(2), name(3))
    let others = [name(4, store: "other"), "test.new", "test-notes.mmlog.new"]
    for name in [dead, alive, young] + others {
      log.folder.put(name, [1, 2, 3])
      // A file that has just been made may not be locked yet.
      if name == young { continue }
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: 1)], ofItemAtPath: log.folder(name))
    }
    let holder = try File.open(log.folder(alive), [.read, .write])
    #expect(try holder.tryLock())
    #expect(try seal() == [])
    #expect(try Set(log.folder.names()) == Set([alive, young] + others))
    _ = try holder.status()
  }

  @Test("no end is claimed of a session whose ring is gone")
  func noEndIsClaimed() throws {
    _ = try write(savesRing: false)
    _ = try seal()
    let endings = LogReader(paths: [log.folder.path]).compactMap { item -> String? in
      if case .sessionEnded(_, let ending, _) = item { "\(ending)" } else { nil }
    }
    #expect(endings == ["unknown"])
  }

  @Test("an archive stays open that has a ring, another writer, or another store")
  func anArchiveStaysOpenThatHasARing() throws {
    let name = try write(savesRing: true)
    #expect(try seal() == [])
    let ring = try #require(try Directory.open(log.folder.path).names().first { $0 != name })
    try FileManager.default.removeItem(atPath: log.folder(ring))
    #expect(try seal(store: "other") == [])
    do {
      let lock = try LockedFile.open(name, in: Directory.open(log.folder.path))
      #expect(try seal() == [])
      let isLocked = lock != nil
      #expect(isLocked)
    }
    #expect(try seal() == [name])
  }

  @Test("what a ring has that is elsewhere comes behind an archive that was sealed without it")
  func aRingElsewhereIsRecoveredLater() throws {
    let name = try write(savesRing: true)
    let rings = TemporaryDirectory()
    let ring = try #require(try Directory.open(log.folder.path).names().first { $0 != name })
    rings.put(ring, try log.folder.bytes(ring))
    try FileManager.default.removeItem(atPath: log.folder(ring))
    #expect(try seal() == [name])
    let sessions = Recovery.recoverAll(
      of: "test", ringDirectory: try Directory.open(rings.path),
      archiveDirectory: try Directory.open(log.folder.path), .usual
    ) { Issue.record($0) }
    #expect(sessions.map(\.recordCount) == [10])
    #expect(sessions.first?.losses.isEmpty == true)
    #expect(result().records.map(\.message) == (0..<20).map { "record \($0)" })
    #expect(!result().hasTrouble)
  }

  @Test("a frame that was not written whole counts as one corrupted record, behind earlier losses")
  func aTornFrameIsCounted() throws {
    let name = try write(savesRing: false)
    let path = log.folder(name)
    let whole = try log.folder.bytes(name)
    let file = try #require(try ArchiveFile.all(in: File.open(path, .read)).last)
    var losses = LossLedger()
    losses[.ringFull, .info] = 3
    var end = 0
    if let lock = try LockedFile({ () throws(SystemError) in
      try File.open(path, [.read, .write])
    }) {
      let writer = try ArchiveWriter(resuming: file, lock, compressionLevel: 1)
      try writer.append(losses)
      end = writer.end
    }
    let torn = whole[file.frames[0].offset...].prefix(20)
    log.folder.put(name, try Array(log.folder.bytes(name)[..<end]) + torn)
    #expect(result().hasTrouble)
    #expect(try seal() == [name])
    losses[.corrupted, .critical] = 1
    let said = LogReader(paths: [log.folder.path]).compactMap { item -> LossLedger? in
      if case .losses(_, let ledger) = item { ledger } else { nil }
    }
    #expect(said == [losses])
    #expect(result().records.count == 10)
    #expect(try archives().map(\.isSealed) == [true])
    #expect(try seal() == [])
  }

  @Test(
    "a frame counts of which only zeros behind its payload are missing", arguments: [false, true])
  func missingZeros(hasRing: Bool) throws {
    var counts: Set<Int> = []
    for length in 0..<8 {
      let log = TestLog()
      log.writesRing = hasRing
      log.write(String(repeating: "x", count: length), ticks: 1)
      log.archive()
      if hasRing { log.write("in the ring", ticks: 2) }
      let path = try #require(log.save().last)
      let bytes = try Data(contentsOf: URL(filePath: path))
      let frame = try #require(try ArchiveFile.all(in: File.open(path, .read)).last?.frames.last)
      let zeros = frame.header.frameSize - frame.header.headerSize - frame.header.payloadSize
      counts.insert(zeros)
      let whole = readHere([log.folder.path])
      try #require(whole.records.count == (hasRing ? 2 : 1) && !whole.hasTrouble)
      try Data(bytes.dropLast(zeros)).write(to: URL(filePath: path))
      #expect(readHere([log.folder.path]).records == whole.records, "\(zeros)")
      let directory = try Directory.open(log.folder.path)
      _ = Recovery.recoverAll(
        of: "test", ringDirectory: directory, archiveDirectory: directory, .usual
      ) { Issue.record($0) }
      RinglessArchives.seal(
        of: "test", in: directory, rings: directory, .usual, sealed: { _ in },
        problem: { Issue.record($0) })
      #expect(readHere([log.folder.path]).records == whole.records, "\(zeros)")
      #expect(!readHere([log.folder.path]).hasTrouble)
      #expect(try Catalog(of: log.folder.path, store: nil).scan().map(\.isSealed) == [true])
      if hasRing { continue }
      // One byte less, and the payload is not whole.
      try Data(bytes.dropLast(zeros + 1)).write(to: URL(filePath: path))
      #expect(readHere([log.folder.path]).records.isEmpty)
    }
    #expect(counts.count > 1, "the sizes vary")
  }

  @Test("what is no record is not counted as one")
  func tornSessionEnd() throws {
    log.write("a", ticks: 1)
    log.archive()
    log.writesRing = false
    let path = log.save()[0]
    let size = try log.folder.bytes(path.splitAtLastSlash.name).count
    log.close()
    log.save()
    let name = path.splitAtLastSlash.name
    log.folder.put(name, Array(try log.folder.bytes(name).prefix(size + 170)))
    #expect(try seal() == [name])
    #expect(result().records.count == 1 && !result().hasTrouble)
  }

  @Test("a corrupted archive stays as it is, for a repair")
  func aCorruptedArchiveStays() throws {
    let name = try write(savesRing: false)
    let path = log.folder(name)
    let frame = try #require(try ArchiveFile.all(in: File.open(path, .read)).last?.frames.first)
    var bytes = try log.folder.bytes(name)
    bytes[frame.offset + 8] ^= 5
    log.folder.put(name, bytes)
    #expect(try seal() == [])
    #expect(try log.folder.bytes(name) == bytes)
  }

  #if DEBUG
    @Test(
      "an archive is not sealed before it is on the disk, nor if its seal is not",
      arguments: [1, 2])
    func anArchiveIsNotSealedBeforeItIsOnTheDisk(failing: Int) throws {
      let name = try write(savesRing: false)
      let bytes = try log.folder.bytes(name)
      ForcedFault.force(.fdatasync, errno: EIO, onCall: failing, under: log.folder.path)
      var problems: [LogError] = []
      #expect(try seal { problems.append($0) } == [])
      #expect(problems.map(\.systemErrorNumber) == [EIO])
      #expect(try log.folder.bytes(name) == bytes)
      // The fault reaches the next start only if that writes what is there.
      ForcedFault.force(.pwrite, errno: EIO, under: log.folder.path)
      #expect(try seal { problems.append($0) } == [])
      #expect(problems.count == 2)
      ForcedFault.clear(under: log.folder.path)
      #expect(try seal() == [name])
      #expect(result().records.count == 10 && !result().hasTrouble)
    }

    /// Each of the calls that a seal makes for that archive may fail: what is there is written
    /// again, then the losses, then the end.
    @Test("what was not written whole is counted by the next try, too", arguments: [1, 2, 3])
    func aTornFrameIsCountedByTheNextTry(failing: Int) throws {
      let name = try write(savesRing: false)
      log.folder.put(name, try log.folder.bytes(name).dropLast(24))
      ForcedFault.force(.pwrite, errno: ENOSPC, onCall: failing, under: log.folder.path)
      var problems: [LogError] = []
      #expect(try seal { problems.append($0) } == [])
      #expect(problems.map(\.systemErrorNumber) == [ENOSPC])
      #expect(try seal() == [name])
      let losses = LogReader(paths: [log.folder.path]).compactMap { item -> UInt64? in
        if case .losses(_, let ledger) = item { ledger[.corrupted, .info] } else { nil }
      }
      #expect(losses == [10])
    }

    @Test("a file that takes the name of an archive that cannot be sealed stays as it is")
    func aFileThatTakesTheName() async {
      await #expect(processExitsWith: .success) {
        let test = RinglessArchivesTests()
        let name = try test.write(savesRing: false)
        let (path, other) = (test.log.folder(name), test.log.folder("other"))
        let bytes = try test.log.folder.bytes(name) + [UInt8](repeating: 0, count: 4096)
        test.log.folder.put("other", bytes)
        // The archive's seal is not safe, and then it is cut off.
        ForcedFault.force(.fdatasync, errno: EIO, onCall: 2, under: path)
        TestPoint.handler = { if $0 == .archiveTrailerWritten { rename(other, path) } }
        var problems: [LogError] = []
        let sealed = try test.seal { problems.append($0) }
        require(sealed.isEmpty && problems.count == 1, "\(sealed) \(problems)")
        let left = try test.log.folder.bytes(name)
        require(left == bytes, "\(left.count) of \(bytes.count) bytes")
      }
    }
  #endif
}
