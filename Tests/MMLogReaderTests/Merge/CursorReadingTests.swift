import Glibc
import MMLogFormat
import MMLogReader
import MMLogSystem
import TestSupport
import Testing

/// What a reader with a cursor gives if archives are no longer as they were.
@Suite struct CursorReadingTests {
  private func read(
    _ log: TestLog, after cursor: LogReader.Cursor
  ) -> (messages: [String], cursor: LogReader.Cursor) {
    log.save()
    let reader = LogReader(paths: [log.folder.path], after: cursor)
    var messages: [String] = []
    while let item = reader.next() {
      if case .record(let record) = item { messages.append(record.message) }
    }
    return (messages, reader.cursor)
  }

  /// Reads the same log with a follower.
  private func follow(
    _ log: TestLog, after cursor: LogReader.Cursor
  ) throws -> (messages: [String], cursor: LogReader.Cursor) {
    log.save()
    let follower = ArchiveFollower(log.folder.path, after: cursor)
    var messages: [String] = []
    while let item = try follower.next() {
      if case .record(let record) = item { messages.append(record.message) }
    }
    return (messages, follower.cursor)
  }

  @Test(
    "an archive of which a power cut has undone what was read is read again",
    arguments: [
      (["a", "another b"], false), (["a", "another b"], true),
      (["a", "other b", "other c"], false),
      (["a", "other b", "other c", "d"], true), (["a"], true), ([], true),
    ])
  func undoneFrames(texts: [String], isClosed: Bool) throws {
    func now() -> TestLog {
      let log = TestLog.archived(texts)
      if isClosed { log.close() }
      return log
    }
    let first = read(TestLog.archived(["a", "b", "c"]), after: LogReader.Cursor())
    #expect(first.messages == ["a", "b", "c"])
    // As long as records may still come in place of the undone ones, the reader waits.
    let isWaiting = texts.count < 3 && !isClosed
    for read in [read, follow] {
      let second = try read(now(), first.cursor)
      #expect(second.messages == (isWaiting ? [] : texts))
      #expect(try read(now(), second.cursor).messages == [])
      #expect(LogReader.Cursor("\(second.cursor)") == second.cursor)
    }
  }

  @Test(
    "what is missing at a cursor is reported once, by who reads what is behind it",
    arguments: [false, true])
  func missingAtCursor(hasRing: Bool) {
    let log = TestLog(session: 7)
    log.writesRing = hasRing
    var cursor = LogReader.Cursor()
    /// Reads at most this many items behind the cursor.
    func read(_ count: Int = .max) -> [LogReader.Gap.Cause] {
      log.save()
      let reader = LogReader(paths: [log.folder.path], after: cursor)
      var causes: [LogReader.Gap.Cause] = []
      for _ in 0..<count {
        guard let item = reader.next() else { break }
        if case .gap(let gap) = item { causes.append(gap.cause) }
      }
      cursor = reader.cursor
      return causes
    }
    func counts(_ causes: [LogReader.Gap.Cause]) -> [UInt64] {
      causes.compactMap { if case .recordsMissing(let records) = $0 { records.count } else { nil } }
    }
    log.write("a", ticks: 100)
    log.archive()
    log.close(nil)
    log.lose(3)
    log.write("b", ticks: 200)
    log.write("c", ticks: 201)
    // The ring has the records that follow.
    #expect(counts(read()) == [])
    log.beginArchive()
    log.archive()
    // The first two items are the gap and the record behind it.
    #expect(counts(read(2)) == [3])
    #expect(counts(read()) == [])
    log.lose(4)
    log.write("d", ticks: 300)
    log.archive()
    log.lose(5, thread: 2)
    log.write("e", ticks: 9000, thread: 2)
    log.archive()
    #expect(counts(read()).sorted() == [4, 5])
    #expect(counts(read()) == [])
    #expect(counts(log.read().gaps.map(\.cause)).reduce(0, +) == 12)
  }

  @Test("a newest archive that was read and deleted is no gap, though a dead session's ring has it")
  func newestIsDeleted() throws {
    let log = TestLog(session: 7)
    log.write("a", ticks: 1)
    log.archive()
    log.close(nil)
    let first = read(log, after: LogReader.Cursor())
    #expect(first.messages == ["a"])
    #expect(unlink(log.save()[1]) == 0)
    let reader = LogReader(paths: [log.folder.path], after: first.cursor)
    #expect(reader.contains { if case .gap = $0 { true } else { false } } == false)
    #expect(reader.cursor == first.cursor)
  }

  #if DEBUG
    @Test("what cannot be read now is not passed over")
    func readingFails() throws {
      let log = TestLog.archived(["a", "b", "c"])
      let path = log.save()[0]
      for failing in 1...5 {
        let reader = LogReader(paths: [path], after: LogReader.Cursor())
        ForcedFault.force(.pread, errno: EIO, onCall: failing, under: path)
        defer { ForcedFault.clear(under: path) }
        var (messages, failures) = ([String](), 0)
        while let item = reader.next() {
          if case .record(let record) = item { messages.append(record.message) }
          if case .corruption = item { failures += 1 }
        }
        ForcedFault.clear(under: path)
        let rest = read(log, after: reader.cursor)
        #expect(failures == 1 && messages.count < 3, "call \(failing)")
        #expect(messages + rest.messages == ["a", "b", "c"], "call \(failing)")
      }
    }

    @Test("an archive that cannot be opened now is said, and is not passed over")
    func openingFails() throws {
      let log = threeArchives()
      let path = log.save()[1]
      ForcedFault.force(.openat, errno: EACCES, times: .max, under: path)
      defer { ForcedFault.clear(under: path) }
      let reader = LogReader(paths: [log.folder.path], after: LogReader.Cursor())
      var failures: [LogReader.Corruption] = []
      while let item = reader.next() {
        if case .record(let record) = item { Issue.record("\(record.message)") }
        if case .corruption(let corruption) = item { failures.append(corruption) }
      }
      #expect(failures.map(\.path) == [path] && reader.unreadable.map(\.path) == [path])
      let follower = ArchiveFollower(log.folder.path, after: LogReader.Cursor())
      #expect(throws: LogError.self) {
        while let item = try follower.next() {
          if case .record(let record) = item { Issue.record("\(record.message)") }
        }
      }
      ForcedFault.clear(under: path)
      #expect(read(log, after: reader.cursor).messages == ["a", "b", "c"])
      #expect(try follow(log, after: follower.cursor).messages == ["a", "b", "c"])
    }

    @Test("an archive that was read may fail to be opened")
    func openingOfAnArchiveThatWasReadFails() throws {
      let log = threeArchives()
      let cursor = read(log, after: LogReader.Cursor()).cursor
      log.beginArchive()
      log.write("d", ticks: 400)
      log.archive()
      let path = log.save()[1]
      ForcedFault.force(.openat, errno: EACCES, times: .max, under: path)
      defer { ForcedFault.clear(under: path) }
      for read in [read, follow] {
        #expect(try read(log, cursor).messages == ["d"])
      }
    }

    /// The log of a session that goes on, with three complete archives.
    private func threeArchives() -> TestLog {
      let log = TestLog(session: 7)
      log.writesRing = false
      for (index, text) in ["a", "b", "c"].enumerated() {
        if index > 0 { log.beginArchive() }
        log.write(text, ticks: UInt64(100 * index + 100))
        log.archive()
        log.close(nil)
      }
      return log
    }
  #endif

  @Test("what no key is given for is not passed over, and is read once there is one")
  func noKey() throws {
    let sealed = TestLog.encrypted()
    let secret = archivePlaces(in: sealed).dropLast(2).filter {
      sealed[$0 + FrameLayout.flags] & FrameLayout.encryptedFlag != 0
    }
    // The archive as a reader with its key sees it: its frames are in clear, and there is no key
    // slot.
    var opened = sealed
    for place in secret { opened[place + FrameLayout.flags] &= ~FrameLayout.encryptedFlag }
    opened[FileHeaderLayout.size + FrameLayout.type] = 99
    opened = ChecksumFix.archive(opened)
    func read(_ bytes: [UInt8], after cursor: LogReader.Cursor) -> (
      messages: [String], ends: Int, cursor: LogReader.Cursor
    ) {
      let reader = LogReader(paths: [folder.put("1.mmlog", bytes)], after: cursor)
      var (messages, ends) = ([String](), 0)
      while let item = reader.next() {
        if case .record(let record) = item { messages.append(record.message) }
        if case .sessionEnded = item { ends += 1 }
      }
      return (messages, ends, reader.cursor)
    }
    let folder = TemporaryDirectory()
    var found = read(sealed, after: LogReader.Cursor())
    #expect(found.messages == [] && found.ends == 0)
    let stopped = found.cursor
    found = read(sealed, after: stopped)
    #expect(found.messages == [] && found.ends == 0 && found.cursor == stopped)
    found = read(opened, after: stopped)
    #expect(found.messages == ["frame 0", "frame 1", "frame 2", "frame 3"] && found.ends == 1)
  }

  @Test("what is not there any more is waited for, and nothing is given twice")
  func shorterArchive() {
    let first = read(TestLog.archived(["a", "b", "c"]), after: LogReader.Cursor())
    let second = read(TestLog.archived(["a"]), after: first.cursor)
    #expect(second.messages == [] && second.cursor == first.cursor)
    #expect(read(TestLog.archived(["a", "b", "c", "d"]), after: second.cursor).messages == ["d"])
  }

  @Test(
    "flight records that are captured between the fragments of a record do not end it",
    arguments: [false, true])
  func captureBetweenFragments(isFlightFragmented: Bool) throws {
    let log = TestLog.capturedBetweenFragments(isFlightFragmented: isFlightFragmented)
    #expect(log.read().messages.map(\.utf8.count) == [40, 400])
    for read in [read, follow] {
      #expect(try read(log, LogReader.Cursor()).messages.map(\.utf8.count) == [40, 400])
    }
    // Each reader goes on where the one before it stopped.
    var (cursor, lengths) = (LogReader.Cursor(), [Int]())
    for _ in 0..<3 {
      let follower = ArchiveFollower(log.folder.path, after: cursor)
      while let item = try follower.next() {
        if case .unfinished = item { Issue.record("unfinished") }
        guard case .record(let record) = item else { continue }
        lengths.append(record.message.utf8.count)
        break
      }
      cursor = try #require(LogReader.Cursor("\(follower.cursor)"))
    }
    #expect(lengths == [40, 400])
  }

  @Test("a flight record whose rest is never captured holds up no cursor")
  func captureOfABeginning() throws {
    let log = TestLog(session: 7, archiveLevel: .info)
    log.writesRing = false
    let text = String(repeating: ".", count: 400)
    let flight = TestRecord(
      ticks: 1, site: log.textSite, level: .debug, words: ValueWords.argument(.text(text)))
    log.writeFragments(flight, partWords: 20, range: 0..<1)
    log.archive()
    log.archive(areFlight: true)
    log.write("after it", ticks: 2)
    log.archive()
    for read in [read, follow] {
      let (messages, cursor) = try read(log, LogReader.Cursor())
      #expect(messages == ["after it"])
      let progress = try #require(cursor.sessions[log.identity.session])
      #expect(progress.start == progress.next)
    }
  }

  @Test("corruption at the end of an archive that goes on is given once, by whichever reader")
  func corruptedEnd() {
    let log = TestLog(session: 7)
    log.writesRing = false
    var cursor = LogReader.Cursor()
    func read() -> [String] {
      log.save()
      let reader = LogReader(paths: [log.folder.path], after: cursor)
      let trace = reader.compactMap { item in
        switch item {
        case .record(let record): record.message
        case .corruption: "!"
        default: nil
        }
      }
      cursor = reader.cursor
      return trace
    }
    let garbage = [UInt8](repeating: 0xA5, count: 64)
    log.write("a", ticks: 1)
    log.archive()
    log.archives[0] += garbage
    #expect(read() == ["a"])
    log.addFrame(.losses, LossLedger().encoded)
    #expect(read() == [])
    log.write("b", ticks: 2)
    log.archive()
    #expect(read() == ["!", "b"] && read() == [])
    log.archives[0] += garbage
    #expect(read() == [])
    log.beginArchive()
    #expect(read() == ["!"] && read() == [])
  }

  @Test("records of other sessions are given by the time of each")
  func twoSessions() {
    let folder = TestLog.archived(["a", "c"])
    let other = TestLog(session: 8)
    other.writesRing = false
    other.write("b", ticks: 150)
    other.archive()
    for (index, archive) in other.archives.enumerated() {
      folder.folder.put("other-\(index).mmlog", archive)
    }
    let first = read(folder, after: LogReader.Cursor())
    #expect(first.messages == ["a", "b", "c"])
    #expect(read(folder, after: first.cursor).messages == [])
  }
}
