import Glibc
import MMLogFormat
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

@testable import MMLogReader

/// What a follower with a cursor gives if archives are corrupted or deleted.
@Suite struct ArchiveFollowerTests {
  private let log = TestLog()

  init() { log.writesRing = false }

  private func trace(_ follower: ArchiveFollower) throws -> [String] {
    var trace: [String] = []
    while let item = try follower.next() {
      switch item {
      case .record(let record): trace.append(record.message)
      case .corruption: trace.append("!")
      case .gap: trace.append("_")
      case .sessionStarted: trace.append("<")
      case .losses: trace.append("$")
      case .crashed: trace.append("#")
      case .sessionEnded(_, .unknown, _): trace.append(">?")
      case .sessionEnded: trace.append(">")
      default: trace.append("?")
      }
    }
    return trace
  }

  /// Archives a record again because its frame cannot be read, as recovery does.
  ///
  /// - Parameter addMore: Adds more to the archive with that frame.
  private func archiveAgain(_ addMore: () -> Void = {}) throws {
    log.write("a", ticks: 1)
    log.archive(isPublished: false)
    let frame = try ArchiveFileFrame.all(log.archives[0])[1]
    addMore()
    log.close(nil)
    log.beginArchive()
    log.archive()
    log.close()
    log.corruptArchive(at: frame.offset + FrameLayout.size + FrameLayout.rangeSize + 6)
    log.save()
  }

  @Test("what was archived again because a frame could not be read is given")
  func archivedAgain() throws {
    try archiveAgain()
    let follower = ArchiveFollower(log.folder.path, after: LogReader.Cursor())
    #expect(try trace(follower) == ["<", "!", "a", ">"])
  }

  @Test("what was archived again is given also behind a cursor that is in the archive before")
  func archivedAgainBehindACursor() throws {
    try archiveAgain { log.addLong(8, site: log.textSite) }
    let first = ArchiveFollower(log.folder.path, after: LogReader.Cursor())
    while let item = try first.next() { if case .record = item { break } }
    #expect(try trace(ArchiveFollower(log.folder.path, after: first.cursor)) == ["a", ">"])
  }

  /// Leaves an archive unclosed, with bytes behind its last frame that are no frame.
  private func corruptEnd() {
    log.archives[log.archives.count - 1] += [UInt8](repeating: 0xA5, count: 64)
  }

  @Test("what is corrupted behind an archive's last record is given, once, before what follows")
  func corruptedEnd() throws {
    log.write("a", ticks: 1)
    log.archive()
    corruptEnd()
    log.save()
    let follower = ArchiveFollower(log.folder.path, after: LogReader.Cursor())
    #expect(try trace(follower) == ["<", "a"])
    log.beginArchive()
    log.save()
    #expect(try trace(follower) == ["!"])
    log.write("b", ticks: 2)
    log.archive()
    log.save()
    #expect(try trace(follower) == ["b"])
    log.write("c", ticks: 3)
    log.archive()
    let frame = try ArchiveFileFrame.all(log.archives[1])[3]
    log.close()
    log.corruptArchive(1, at: frame.offset + 8)
    log.save()
    #expect(try trace(follower) == ["!", ">"])
    #expect(try trace(follower) == [])
    #expect(try trace(ArchiveFollower(log.folder.path, after: follower.cursor)) == [])
  }

  @Test("a follower goes on behind each item that was given, corruption too")
  func goesOnBehindCorruption() throws {
    for text in ["a", "lost", "c"] {
      log.write(text, ticks: 1)
      log.archive()
    }
    log.corruptArchive(at: try ArchiveFileFrame.all(log.archives[0])[3].offset + 8)
    corruptEnd()
    log.beginArchive()
    for text in ["d", "lost", "f", "lost"] {
      log.write(text, ticks: 2)
      log.archive()
    }
    let frames = try ArchiveFileFrame.all(log.archives[1])
    log.close()
    log.corruptArchive(1, at: frames[3].offset + frames[3].size - 12)
    log.corruptArchive(1, at: frames[7].offset + 8)
    log.save()
    let follower = ArchiveFollower(log.folder.path, after: LogReader.Cursor())
    let all = ["<", "a", "!", "c", "!", "d", "!", "f", "!", ">"]
    var cursors: [LogReader.Cursor] = []
    while try follower.next() != nil { cursors.append(follower.cursor) }
    #expect(try trace(ArchiveFollower(log.folder.path, after: LogReader.Cursor())) == all)
    for (index, cursor) in cursors.enumerated().dropFirst() {
      // Writes the cursor as text and reads it, as a program does that keeps it between two runs.
      let kept = try #require(LogReader.Cursor("\(cursor)"))
      let rest = try trace(ArchiveFollower(log.folder.path, after: kept))
      #expect(rest == Array(all[(index + 1)...]), "behind \(index): \(cursor)")
    }
  }

  @Test("a last archive that is deleted before it is read is a gap, and the cursor is behind it")
  func lastArchiveIsDeleted() throws {
    log.write("a", ticks: 1)
    log.archive()
    log.close(nil)
    log.beginArchive()
    log.write("b", ticks: 2)
    log.archive()
    log.close()
    let paths = log.save()
    let follower = ArchiveFollower(log.folder.path, after: LogReader.Cursor())
    var first: [String] = []
    for _ in 0..<2 {
      if case .record(let record)? = try follower.next() { first.append(record.message) }
    }
    #expect(first == ["a"])
    #expect(unlink(paths[1]) == 0)
    #expect(try trace(follower) == ["_", ">?"])
    log.folder.put("back.mmlog", log.archives[1])
    #expect(try trace(ArchiveFollower(log.folder.path, after: follower.cursor)) == [])
  }

  @Test("an archive that is replaced by a longer copy of itself is read on")
  func longerCopy() throws {
    log.write("a", ticks: 1)
    log.archive()
    let path = log.save()[0]
    let follower = ArchiveFollower(log.folder.path, after: LogReader.Cursor())
    #expect(try trace(follower) == ["<", "a"])
    // Replaces the file as rsync does: another file gets its name.
    for (text, ticks) in [("b", 2), ("c", 3)] as [(String, UInt64)] {
      log.write(text, ticks: ticks)
      log.archive()
      log.folder.put("new", log.archives[0])
      #expect(rename(log.folder("new"), path) == 0)
      #expect(try trace(follower) == [text])
    }
    log.close()
    log.folder.put("new", log.archives[0])
    #expect(rename(log.folder("new"), path) == 0)
    #expect(try trace(follower) == [">"])
    #expect(try openArchives(in: log.folder) == [])
  }

  @Test("an archive that is replaced by a shorter one, or another session's, is waited for")
  func shorterCopy() throws {
    for text in ["a", "b", "c"] {
      log.write(text, ticks: 1)
      log.archive()
    }
    let (path, whole) = (log.save()[0], log.archives[0])
    let frames = try ArchiveFileFrame.all(whole)
    let other = TestLog(session: 2)
    other.writesRing = false
    other.write("of another session", ticks: 5)
    other.archive()
    let end = frames[1].offset + frames[1].size
    for content in [
      Array(whole[..<end]), other.archives[0], Array(whole[..<FileHeaderLayout.size]),
    ] {
      let follower = ArchiveFollower(log.folder.path, after: LogReader.Cursor())
      #expect(try follower.next() != nil && follower.next() != nil)
      log.folder.put("new", content)
      #expect(rename(log.folder("new"), path) == 0)
      let read = try trace(follower)
      #expect(read.filter { $0 != "of another session" && $0 != "<" && $0 != "_" } == ["b", "c"])
      log.folder.put("new", whole)
      #expect(rename(log.folder("new"), path) == 0)
      #expect(try trace(follower) == [])
    }
  }

  @Test("of an archive that is replaced by one that ends before what was read, all is read again")
  func shorterEnd() throws {
    for text in ["a", "b"] {
      log.write(text, ticks: 1)
      log.archive()
    }
    let path = log.save()[0]
    let follower = ArchiveFollower(log.folder.path, after: LogReader.Cursor())
    #expect(try trace(follower) == ["<", "a", "b"])
    let short = TestLog()
    short.write("a", ticks: 1)
    short.archive()
    short.close()
    log.folder.put("new", short.archives[0])
    #expect(rename(log.folder("new"), path) == 0)
    #expect(try trace(follower) == ["a", ">"])
  }

  @Test(
    "how a session ended is given after all records, whoever has read these",
    arguments: [false, true], [false, true])
  func endBehindRecords(isInArchiveOfItsOwn: Bool, isReadByAnother: Bool) throws {
    log.write("a", ticks: 1)
    log.archive()
    if isInArchiveOfItsOwn { log.close(nil) }
    log.save()
    var follower = ArchiveFollower(log.folder.path, after: LogReader.Cursor())
    #expect(try trace(follower) == ["<", "a"])
    if isInArchiveOfItsOwn { log.beginArchive() }
    log.close()
    log.save()
    if isReadByAnother { follower = ArchiveFollower(log.folder.path, after: follower.cursor) }
    #expect(try trace(follower) == [">"] && trace(follower) == [])
    #expect(try trace(ArchiveFollower(log.folder.path, after: follower.cursor)) == [])
  }

  @Test("what a session has lost and what it died of is given at its end")
  func lossesAndCrash() throws {
    var losses = LossLedger()
    losses[.overwritten, .info] = 3
    log.write("a", ticks: 1)
    log.archive()
    log.addFrame(.losses, losses.encoded)
    log.close(nil)
    log.beginArchive()
    log.addFrame(.crash, CrashReport.bytes(frames: [0x1010], registers: 0, module: "/bin/app"))
    log.close(.crashed)
    log.save()
    let follower = ArchiveFollower(log.folder.path, after: LogReader.Cursor())
    #expect(try trace(follower) == ["<", "a", "#", "$", ">"])
    #expect(try trace(ArchiveFollower(log.folder.path, after: follower.cursor)) == [])
  }

  @Test("an archive that is cut before it is read keeps nothing else waiting", arguments: [1, 2])
  func cutArchive(readFrames: Int) throws {
    let other = TestLog(session: 2)
    other.writesRing = false
    for number in 1...3 as ClosedRange<UInt64> {
      log.write("\(number)", ticks: 10 * number)
      log.archive()
      other.write("other \(number)", ticks: 100 * number)
      other.archive()
    }
    let end = try ArchiveFileFrame.all(log.archives[0])[3].offset
    log.close()
    let path = log.save()[0]
    log.folder.put("other.mmlog", other.archives[0])
    let follower = ArchiveFollower(log.folder.path, after: LogReader.Cursor())
    for _ in 0..<1 + readFrames { #expect(try follower.next() != nil) }
    #expect(truncate(path, end) == 0)
    var rest: [String] = []
    for _ in 0..<3 { rest += try trace(follower) }
    #expect(rest.filter { $0.hasPrefix("other") } == ["other 1", "other 2", "other 3"])
  }

  @Test("of an archive and a shorter copy of it, the one that goes further is read")
  func copyBesideTheArchive() throws {
    log.write("a", ticks: 1)
    log.archive()
    let copy = log.folder.put("copy.mmlog", log.archives[0])
    log.write("b", ticks: 2)
    log.archive()
    log.save()
    let follower = ArchiveFollower(log.folder.path, after: LogReader.Cursor())
    #expect(try trace(follower) == ["<", "a", "b"])
    log.folder.put("copy.mmlog", log.archives[0])
    log.write("c", ticks: 3)
    log.archive()
    log.save()
    #expect(try trace(follower) == ["c"])
    #expect(unlink(copy) == 0)
    log.close()
    log.save()
    #expect(try trace(follower) == [">"])
  }

  @Test("when a copy is deleted while it is read, the archive itself is read on")
  func copyIsDeleted() throws {
    for text in ["a", "b"] {
      log.write(text, ticks: 1)
      log.archive()
    }
    log.save()
    let copy = log.folder.put("copy.mmlog", log.archives[0])
    let follower = ArchiveFollower(log.folder.path, after: LogReader.Cursor())
    #expect(try follower.next() != nil && follower.next() != nil)
    #expect(unlink(copy) == 0)
    #expect(try trace(follower) == ["b"])
    log.write("c", ticks: 2)
    log.archive()
    log.save()
    #expect(try trace(follower) == ["c"])
  }

  @Test("archives of sessions that are not wanted are closed") func unwantedSessions() throws {
    log.write("a", ticks: 1)
    log.archive()
    log.close()
    log.save()
    var filter = LogReader.Filter()
    filter.processes = [NamePattern("another")]
    let follower = ArchiveFollower(log.folder.path, filter: filter, after: LogReader.Cursor())
    #expect(try trace(follower) == [])
    #expect(try openArchives(in: log.folder) == [])
  }

  @Test("an archive with a number that no other can follow is passed over", arguments: [1, 2])
  func greatestNumber(count: Int) throws {
    log.firstArchive = .max - UInt32(count - 1)
    for number in 1...count {
      log.write("a", ticks: UInt64(number))
      log.beginArchive()
      log.archive()
      if number < count { log.close(nil) }
    }
    log.close()
    let paths = log.save()
    let follower = ArchiveFollower(log.folder.path, after: LogReader.Cursor())
    #expect(try trace(follower) == (count == 1 ? [] : ["<", "_", "a"]))
    #expect(unlink(try #require(paths.last)) == 0)
    #expect(try trace(follower) == [])
  }

  @Test("a session that is over is forgotten with its last file, and is not given again")
  func forgottenSession() throws {
    log.write("a", ticks: 1)
    log.archive()
    log.close()
    let path = log.save()[0]
    let follower = ArchiveFollower(log.folder.path, after: LogReader.Cursor())
    #expect(try trace(follower) == ["<", "a", ">"])
    #expect(follower.queue.sessions.count == 1)
    let cursor = follower.cursor
    #expect(unlink(path) == 0)
    #expect(try trace(follower) == [])
    #expect(follower.queue.sessions.isEmpty && follower.cursor == cursor)
    log.save()
    #expect(try trace(follower) == [] && follower.cursor == cursor)
  }

  @Test("archives that are deleted once they are read are forgotten, and are no gap")
  func forgottenArchives() throws {
    let follower = ArchiveFollower(log.folder.path, after: LogReader.Cursor())
    for (index, text) in ["a", "b", "c"].enumerated() {
      log.beginArchive()
      log.write(text, ticks: UInt64(index))
      log.archive()
      log.close(nil)
      for path in log.save().dropLast() { #expect(unlink(path) == 0) }
      // No archive says how the session ended, so it may go on.
      #expect(try trace(follower) == (index == 0 ? ["<", text] : [text]))
    }
    #expect(follower.queue.sessions.values.map(\.archives.count) == [1])
    log.beginArchive()
    log.close()
    log.save()
    #expect(try trace(follower) == [">"])
  }

  @Test("what nobody here decrypts is an error that says no more than that")
  func encrypted() throws {
    log.folder.put("1.mmlog", TestLog.encrypted())
    for identities in [nil, LogIdentities()] as [LogIdentities?] {
      let follower =
        if let identities {
          ArchiveFollower(log.folder.path, after: LogReader.Cursor(), identities: identities)
        } else {
          ArchiveFollower(log.folder.path, after: LogReader.Cursor())
        }
      #expect(try follower.next() != nil)
      #expect {
        try follower.next()
      } throws: { error in
        let error = error as? LogError
        return error?.code == .encrypted && error?.message.contains("mmlog-ship") == false
      }
    }
  }

  #if DEBUG
    @Test("what is no archive is not searched for one again until it is changed")
    func foreignFile() throws {
      let path = log.folder.put("a.mmlog", "no log")
      var longAgo = utimbuf(actime: 1, modtime: 1)
      #expect(utime(path, &longAgo) == 0)
      let queue = ArchiveQueue(of: log.folder.path, filter: .init(), after: .init())
      try queue.scan()
      #expect(queue.unreadable["a.mmlog"]?.code == .foreignFile)
      ForcedFault.force(.open, errno: EIO, times: .max, under: path)
      defer { ForcedFault.clear(under: path) }
      try queue.scan(everything: true)
      #expect(queue.unreadable["a.mmlog"]?.code == .foreignFile)
      ForcedFault.clear(under: path)
      log.write("a", ticks: 1)
      log.archive()
      log.folder.put("a.mmlog", log.archives[0])
      try queue.scan(everything: true)
      #expect(queue.unreadable.isEmpty && queue.sessions.count == 1)
    }

    @Test("while an archive of one session cannot be read, those of others are given")
    func readingFailsOfOneSession() throws {
      let other = TestLog(session: 2)
      for number in 1...3 as ClosedRange<UInt64> {
        log.write("\(number)", ticks: 10 * number)
        log.archive()
        other.write("other \(number)", ticks: 10 * number + 5)
        other.archive()
      }
      log.close()
      let path = log.save()[0]
      log.folder.put("other.mmlog", other.archives[0])
      let follower = ArchiveFollower(log.folder.path, after: LogReader.Cursor())
      #expect(try follower.next() != nil && follower.next() != nil)
      ForcedFault.force(.pread, errno: EIO, times: .max, under: path)
      defer { ForcedFault.clear(under: path) }
      var (given, failures) = ([String](), 0)
      for _ in 0..<10 {
        do {
          if case .record(let record)? = try follower.next() { given.append(record.message) }
        } catch {
          failures += 1
        }
      }
      #expect(given == ["other 1", "other 2", "other 3"] && failures == 6)
      ForcedFault.clear(under: path)
      #expect(try trace(follower) == ["2", "3", ">"])
    }

    @Test("what cannot be read now is an error, and is given when it can be")
    func readingFails() throws {
      for failing in 1...8 {
        let log = TestLog.archived(["a", "b", "c"])
        let path = log.save()[0]
        let follower = ArchiveFollower(log.folder.path, after: LogReader.Cursor())
        var given = [try #require(try follower.next())]
        ForcedFault.force(.pread, errno: EIO, onCall: failing, under: path)
        defer { ForcedFault.clear(under: path) }
        var failures = 0
        for _ in 0..<20 {
          do { if let item = try follower.next() { given.append(item) } } catch { failures += 1 }
        }
        let messages = given.compactMap {
          if case .record(let record) = $0 { record.message } else { nil }
        }
        #expect(given.count == 4 && messages == ["a", "b", "c"], "call \(failing): \(given)")
        #expect(failures <= 1)
        if failing == 1 { #expect(failures == 1) }
      }
    }

    @Test("an archive that is deleted after reading it failed is a gap")
    func deletedAfterFailure() throws {
      for text in ["a", "b"] {
        log.write(text, ticks: 1)
        log.archive()
      }
      let path = log.save()[0]
      let follower = ArchiveFollower(log.folder.path, after: LogReader.Cursor())
      #expect(try follower.next() != nil && follower.next() != nil)
      ForcedFault.force(.pread, errno: EIO, under: path)
      defer { ForcedFault.clear(under: path) }
      #expect(throws: LogError.self) { try follower.next() }
      #expect(unlink(path) == 0)
      #expect(try trace(follower) == ["_"])
    }
  #endif
}
