import Foundation
import MMLog
import MMLogFormat
import MMLogReader
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

/// Stores that go on with the last archive of their directory.
@Suite struct ResumptionTests {
  private let folder = TemporaryDirectory()

  private func open(
    _ change: (inout LogStore.Configuration) -> Void = { _ in }
  ) throws -> LogStore {
    var configuration = LogStore.Configuration()
    configuration.ringSize = 256 << 10
    configuration.segmentSize = 4 << 10
    configuration.dictionarySize = 4 << 10
    configuration.retention = .unlimited
    configuration.resumeLastArchive = true
    change(&configuration)
    return try LogStore(directory: folder.path, name: "test", configuration: configuration)
  }

  /// Opens a store, logs one message, and closes the store.
  @discardableResult
  private func live(
    _ message: String, _ change: (inout LogStore.Configuration) -> Void = { _ in }
  ) throws -> LogStore {
    let store = try open(change)
    store.logger(label: message).info("\(message)")
    try store.close()
    return store
  }

  private var archives: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [])
      .filter { $0.hasSuffix(".mmlog") }.sorted()
  }

  private func messages() -> [String] { readHere([folder.path]).records.map(\.message) }

  private func bytes(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(fileURLWithPath: folder(name))))
  }

  @Test("sessions share a file") func sessionsShareAFile() throws {
    var store = try live("a")
    store = try live("b")
    store = try live("c")
    #expect(archives.count == 1 && messages() == ["a", "b", "c"])
    let info = try #require(try store.archives().first)
    #expect(info.isSealed && info.contents?.count == 3 && info.contents?.ending == .closed)
    #expect(try info.size == bytes(archives[0]).count)
    let here = readHere([folder.path])
    #expect(!here.hasTrouble && Set(here.records.map(\.session)).count == 3)
    #expect(try readInPython([folder.path]) == here)
    #expect(
      try ArchiveFile.all(in: File.open(info.path, .read)).map(\.isClosed) == [true, true, true])
  }

  @Test("without the setting each session has a file of its own")
  func withoutTheSettingEachSessionHasAFileOfItsOwn() throws {
    for message in ["a", "b"] { try live(message) { $0.resumeLastArchive = false } }
    #expect(archives.count == 2)
  }

  @Test(
    "a new one is begun where",
    arguments: ["age", "hook", "uploaded", "pinned", "leased", "writing"])
  func aNewOneIsBegunWhere(reason: String) throws {
    let store = try live("a")
    let archive = try #require(try store.archives().first)
    var other: LogStore?
    switch reason {
    case "uploaded": try store.markUploaded(archive)
    case "pinned": try store.pin(archive)
    case "leased": _ = try store.acquireLease(on: archive, by: "u", for: .seconds(600))
    case "age":
      // Changes the archive as if it had been begun yesterday. An archive's name counts for its
      // order, and its file header for its age.
      var changed = try bytes(archive.fileName)
      let fileHeader = try changed.withUnsafeBytes { try ArchiveHeader($0) }
      let old = ArchiveHeader(
        identity: fileHeader.identity, number: 1, created: fileHeader.created - .seconds(86400))
      changed.replaceSubrange(0..<512, with: old.encoded(pageSize: 4096))
      folder.put(archive.fileName, changed)
    case "writing":
      other = try open()
      other?.logger(label: "l").info("of another that goes on with it")
      try other?.flush(.archive)
    default: break
    }
    try live("b") { if reason == "hook" { $0.shouldSeal = { $0.contents?.count == 1 } } }
    #expect(archives.count == 2)
    #expect(messages().filter { $0.count == 1 } == ["a", "b"])
    try other?.close()
  }

  @Test("an archive without a trailer, whose ring is gone, is sealed and gone on with")
  func anUnsealedOneIsSealed() throws {
    try live("a")
    folder.put(archives[0], try bytes(archives[0]).dropLast(64))
    try live("b")
    #expect(archives.count == 1 && messages() == ["a", "b"])
    let here = readHere([folder.path])
    #expect(!here.hasTrouble)
    #expect(try readInPython([folder.path]) == here)
    #expect(try ArchiveFile.all(in: File.open(folder(archives[0]), .read)).allSatisfy(\.isClosed))
  }

  @Test("an archive of a newer version is not gone on with, nor deleted, and stays as it is")
  func aNewerVersionIsLeftAlone() throws {
    try live("a")
    let name = archives[0]
    var newer = try bytes(name)
    newer[8] = 9
    folder.put(name, newer)
    for message in ["b", "c"] { try live(message) { $0.retention.count = 1 } }
    #expect(archives.contains(name))
    #expect(try bytes(name) == newer)
    #expect(messages() == ["b", "c"])
  }

  /// Corrupts the file header of the session in the middle, or adds bytes behind the last trailer.
  @Test("nothing is put behind bytes that cannot be read", arguments: [true, false])
  func nothingIsPutBehindBytesThatCannotBeRead(isFileHeader: Bool) throws {
    try live("a")
    let start = try bytes(archives[0]).count
    try live("b")
    let name = archives[0]
    var corrupted = try bytes(name)
    if isFileHeader {
      for offset in 40..<48 { corrupted[start + offset] ^= 0xFF }
    } else {
      corrupted += [UInt8](repeating: 0x77, count: 600)
    }
    folder.put(name, corrupted)

    try live("c")

    #expect(archives.count == 2 && Set(messages()) == ["a", "b", "c"])
    #expect(try bytes(name) == corrupted)
  }

  @Test("size and age count from the files beginning")
  func sizeAndAgeCountFromTheFilesBeginning() throws {
    // A file is closed, and a new one begun, when all sessions in it together have its size.
    for index in 0..<20 { try live("session \(index)") { $0.rotation.size = 16 << 10 } }
    #expect((2...8).contains(archives.count), "\(archives.count)")
    #expect(messages() == (0..<20).map { "session \($0)" })
    for name in archives { #expect(try bytes(name).count < 24 << 10) }
  }

  @Test("what is gone on with is not taken for sent")
  func whatIsGoneOnWithIsNotTakenForSent() throws {
    let store = try live("a")
    let archive = try #require(try store.archives().first)
    let next = try open()
    next.logger(label: "l").info("b")
    try next.flush(.archive)
    // An uploader that had no lease on what it sent.
    let error = #expect(throws: LogError.self) { try next.markUploaded(archive) }
    #expect(error?.code == .changedArchive)
    #expect(try next.acquireLease(on: archive, by: "u", for: .seconds(60)) == nil)
    try next.close()
    #expect(throws: LogError.self) { try next.markUploaded(archive) }
    let now = try #require(try next.archives().first)
    try next.markUploaded(now)
    #expect(try next.archives().first?.state.isUploaded == true)
  }

  @Test("a dead session is recovered into the file that it had gone on with")
  func aDeadSessionIsRecoveredIntoTheFileThatItHadGoneOnWith() throws {
    try live("a")
    let alive = try open()
    let log = alive.logger(label: "l")
    log.info("b")
    try alive.flush(.archive)
    log.info("c")
    // A copy of the directory is like the directory of a process that died.
    let copy = TemporaryDirectory()
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
      copy.put(name, try bytes(name))
    }
    try alive.close()
    let directory = try Directory.open(copy.path)
    let sessions = Recovery.recoverAll(
      of: "test", ringDirectory: directory, archiveDirectory: directory,
      ArchiveSeries.Settings(rotationSize: nil, compressionLevel: 1)
    ) { Issue.record($0) }
    #expect(sessions.map(\.recordCount) == [1])
    let result = readHere([copy.path])
    #expect(result.records.map(\.message) == ["a", "b", "c"] && !result.hasTrouble)
    #expect(try directory.names().filter { $0.hasSuffix(".mmlog") } == archives)
    let info = try Catalog(of: copy.path, store: nil).scan()
    #expect(info.map(\.isSealed) == [true] && info.first?.contents?.ending == .killed)
  }

  @Test("a recovery counts the archive that is in anothers file")
  func aRecoveryCountsTheArchiveThatIsInAnothersFile() throws {
    try live("a")
    let alive = try open { ($0.drainInterval, $0.ringSize) = (.seconds(3600), 8 << 20) }
    let log = alive.logger(label: "l")
    log.info("b")
    try alive.flush(.archive)
    for index in 0..<200 { log.info("\(index) \(String(repeating: "x", count: index))") }
    let copy = TemporaryDirectory()
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
      copy.put(name, try bytes(name))
    }
    try alive.close()
    let directory = try Directory.open(copy.path)
    // A small size, so that the recovery closes that archive, and begins others.
    _ = Recovery.recoverAll(
      of: "test", ringDirectory: directory, archiveDirectory: directory,
      ArchiveSeries.Settings(rotationSize: 4096, compressionLevel: 0)
    ) { Issue.record($0) }
    #expect(readHere([copy.path]).records.count == 202)
    let numbers = try directory.names().compactMap { FileNames.Archive(fileName: $0)?.number }
    #expect(numbers.count > 1 && numbers.filter { $0 == 1 }.count == 1, "\(numbers)")
  }

  @Test("a file header that was torn leaves the file readable", arguments: [1, 100, 511])
  func aFileHeaderThatWasTornLeavesTheFileReadable(count: Int)
    throws
  {
    try live("a")
    let name = archives[0]
    let whole = try bytes(name)
    folder.put(name, whole + whole.prefix(count))
    let result = readHere([folder.path])
    #expect(result.records.map(\.message) == ["a"] && !result.hasTrouble)
    #expect(try readInPython([folder.path]) == result)
    try live("b")
    #expect(messages() == ["a", "b"])
  }

  @Test(
    "a file header that was torn, and that no ring tells of, is cut off",
    arguments: [1, 200, 511], [true, false])
  func aTornFileHeaderWithoutARing(count: Int, isZeros: Bool) throws {
    try live("a")
    let name = archives[0]
    let whole = try bytes(name)
    let torn = isZeros ? [UInt8](repeating: 0, count: count) : Array(whole.prefix(count))
    folder.put(name, whole + torn)
    let directory = try Directory.open(folder.path)
    var sealed: [String] = []
    for _ in 0..<2 {
      RinglessArchives.seal(
        of: "test", in: directory, rings: directory, .usual,
        sealed: { sealed.append($0.fileName) }, problem: { Issue.record($0) })
    }
    #expect(try sealed == [name] && bytes(name) == whole)
  }

  @Test("a recovery cuts off a file header that its process was writing")
  func aRecoveryCutsOffAFileHeaderThatItsProcessWasWriting() throws {
    let store = try live("a")
    let archive = try #require(try store.archives().first)
    let before = try bytes(archive.fileName)
    folder.put(archive.fileName, before + before.prefix(200))
    let log = TestLog(bootID: Host.bootID())
    log.write("b", ticks: 1)
    let target = ArchiveID(session: archive.session, number: archive.number)
    log.put(target.encoded, at: RingLayout.resumed)
    log.save()
    for name in try Directory.open(log.folder.path).names() {
      folder.put(
        name, FileManager.default.contents(atPath: log.folder(name)).map { Array($0) } ?? [])
    }
    let directory = try Directory.open(folder.path)
    let sessions = Recovery.recoverAll(
      of: "test", ringDirectory: directory, archiveDirectory: directory,
      ArchiveSeries.Settings(rotationSize: nil, compressionLevel: 1)
    ) { Issue.record($0) }
    #expect(sessions.count == 1 && messages().sorted() == ["a", "b"])
    #expect(try bytes(archive.fileName) == before && archives.count == 2)
  }

  #if DEBUG
    @Test("what cannot be appended is cut off again")
    func whatCannotBeAppendedIsCutOffAgain() throws {
      try live("a")
      let before = try bytes(archives[0])
      let store = try open()
      // A disk that takes a part of the file header, then nothing for a while.
      ForcedFault.forceShort(.pwrite, count: 100, under: folder(archives[0]))
      ForcedFault.force(.pwrite, errno: ENOSPC, onCall: 2, under: folder(archives[0]))
      store.logger(label: "l").info("b")
      #expect(throws: LogError.self) { try store.flush(.archive) }
      #expect(try bytes(archives[0]) == before)
      try store.close()
      #expect(messages() == ["a", "b"] && archives.count == 1)
    }
  #endif

  @Test("records behind a corrupted end are still those of their own session")
  func recordsBehindACorruptedEndAreStillThoseOfTheirOwnSession() throws {
    try live("a")
    let end = try bytes(archives[0]).count
    try live("b")
    let whole = readHere([folder.path])
    // Corrupts the first archive's trailer, and its last frame.
    for place in [end - 10, end - 70] {
      var corrupted = try bytes(archives[0])
      corrupted[place] ^= 0x55
      let copy = TemporaryDirectory()
      copy.put("corrupted.mmlog", corrupted)
      let result = readHere([copy.path])
      #expect(result.records == whole.records, "\(place)")
    }
  }

  @Test("a follower goes on behind an archive that was closed")
  func aFollowerGoesOnBehindAnArchiveThatWasClosed() throws {
    try live("a")
    let follower = LogFollower(paths: [folder.path])
    var found: [String] = []
    func take() { found += follower.newMessages() }
    take()
    // This session ends before the follower checks again, so its ring was never seen.
    try live("b")
    take()
    try live("c")
    take()
    #expect(found == ["a", "b", "c"])
  }
}
