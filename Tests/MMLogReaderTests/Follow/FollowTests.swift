import Glibc
import MMLogFormat
import MMLogSystem
import TestSupport
import Testing

@testable import MMLogReader

/// What a follower gives if it scans again and again while a log is written byte by byte.
@Suite struct FollowTests {
  private func trace(_ follower: LogFollower) -> [String] {
    follower.newItems().map { item in
      switch item {
      case .record(let record): record.message
      case .corruption: "!"
      case .gap: "_"
      case .unfinished: "?"
      case .losses: "$"
      case .crashed: "#"
      case .sessionStarted: "<"
      case .sessionEnded: ">"
      }
    }
  }

  /// An archive with one record, which the follower has given.
  private func followedArchive() -> (TestLog, LogFollower) {
    let log = TestLog()
    log.writesRing = false
    log.write("a", ticks: 1)
    log.archive()
    log.save()
    let follower = LogFollower(paths: [log.folder.path])
    #expect(trace(follower) == ["<", "a"])
    return (log, follower)
  }

  @Test("a file that is replaced is opened again") func aFileThatIsReplacedIsOpenedAgain() throws {
    let (log, _) = followedArchive()
    let other = TestLog(session: 2)
    other.writesRing = false
    other.write("of another session", ticks: 5)
    other.archive()
    let (first, second) = (log.save()[0], other.save()[0])
    let link = log.folder("current")
    #expect(symlink(first, link) == 0)
    let follower = LogFollower(paths: [link])
    #expect(trace(follower) == ["<", "a"])
    #expect(symlink(second, "\(link).new") == 0 && rename("\(link).new", link) == 0)
    #expect(trace(follower) == ["<", "of another session"] && trace(follower) == [])
  }

  @Test("a label whose entry comes after records that have its number passes a filter from then on")
  func lateLabel() {
    let log = TestLog()
    log.writesRing = false
    func write(_ text: String, ticks: UInt64) {
      log.write(
        TestRecord(
          ticks: ticks, site: log.textSite, label: 2, words: ValueWords.argument(.text(text))))
      log.archive()
      log.save()
    }
    write("a", ticks: 1)
    var filter = LogReader.Filter()
    filter.labels = ["late"]
    let follower = LogFollower(paths: [log.folder.path], filter: filter)
    #expect(trace(follower) == ["<"])
    #expect(log.label("late") == 2)
    write("b", ticks: 2)
    #expect(trace(follower) == ["b"])
  }

  @Test("an archive that grows is followed") func anArchiveThatGrowsIsFollowed() {
    let (log, follower) = followedArchive()
    #expect(trace(follower) == [])
    log.write("b", ticks: 2)
    log.archive()
    log.save()
    #expect(trace(follower) == ["b"])
    let whole = log.archives[0]
    log.write("c", ticks: 3)
    log.archive()
    let next = log.archives[0]
    // A frame that is not whole yet is not given.
    for count in stride(from: whole.count + 8, to: next.count, by: 56) {
      log.archives[0] = Array(next[..<count])
      log.save()
      #expect(trace(follower) == [], "\(count) of \(next.count) bytes")
    }
    log.archives[0] = next
    log.close()
    log.save()
    #expect(trace(follower) == ["c", ">"])
  }

  @Test("the corrupted end of an archive that was not closed is given when the next one begins")
  func corruptedEnd() {
    let (log, follower) = followedArchive()
    log.archives[0] += [UInt8](repeating: 0xA5, count: 64)
    log.save()
    #expect(trace(follower) == [])
    log.beginArchive()
    log.save()
    #expect(trace(follower) == ["!"])
    log.write("b", ticks: 2)
    log.archive()
    log.close()
    log.save()
    #expect(trace(follower) == ["b", ">"] && trace(follower) == [])
  }

  @Test("of an archive and a shorter copy of it, the one that goes further is read")
  func copyBesideTheArchive() {
    let (log, first) = followedArchive()
    log.folder.put("copy.mmlog", log.archives[0])
    #expect(trace(first) == [])
    let follower = LogFollower(paths: [log.folder.path])
    for (text, ticks) in [("b", 2), ("c", 3)] as [(String, UInt64)] {
      log.write(text, ticks: ticks)
      log.archive()
      log.save()
      #expect(trace(first) == [text])
      #expect(trace(follower) == (text == "b" ? ["<", "a"] : []) + [text])
    }
    log.close(nil)
    log.beginArchive()
    log.write("d", ticks: 4)
    log.archive()
    log.close()
    log.save()
    #expect(trace(first) == ["d", ">"] && trace(follower) == ["d", ">"])
    #expect(trace(first) == [] && first.sessions.isEmpty)
  }

  @Test("rotation and new sessions are followed") func rotationAndNewSessionsAreFollowed() {
    let (log, follower) = followedArchive()
    log.close(nil)
    log.beginArchive()
    log.write("b", ticks: 2)
    log.archive()
    log.save()
    #expect(trace(follower) == ["b"])
    let other = TestLog(session: 2)
    other.write("c", ticks: 3)
    other.archive()
    log.folder.put(
      "other-20251121T090000Z-\(other.identity.session)-000001.mmlog", other.archives[0])
    #expect(trace(follower) == ["<", "c"])
  }

  @Test("nothing of a ring is given twice or lost when it is archived")
  func nothingOfARingIsGivenTwiceOrLostWhenItIsArchived() throws {
    for seed in 0..<12 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let log = TestLog(bootID: Host.bootID())
      var (written, given): ([String], [String]) = ([], [])
      let paths = log.save()
      // Locks the ring, as a living process does.
      let ring = try File.open(paths[0], [.read, .write])
      #expect(try ring.tryLock())
      let follower = LogFollower(paths: [log.folder.path])
      for step in 0..<30 {
        let name = "\(step)"
        switch Int.random(in: 0..<6, using: &generator) {
        case 0: log.archive()
        case 1, 2: log.seal(UInt32.random(in: 1...2, using: &generator))
        case 3:
          log.writeFragments(
            TestRecord(
              ticks: UInt64(step & ~1), site: log.textSite,
              words: ValueWords.argument(.text(name + String(repeating: ".", count: 400)))),
            thread: 1, partWords: 20)
          written.append(name)
        default:
          // Some records are equal.
          log.write(
            "\(step & ~1)", ticks: UInt64(step & ~1),
            thread: UInt32.random(in: 1...2, using: &generator))
          written.append("\(step & ~1)")
        }
        if Bool.random(using: &generator) { continue }
        log.save()
        given += trace(follower)
      }
      log.save()
      given += trace(follower)
      let messages = given.filter { !["<", ">"].contains($0) }.map {
        String($0.prefix { $0 != "." })
      }
      #expect(messages.sorted() == written.sorted(), "seed \(seed)")
    }
  }

  @Test(
    "zeros in a sealed segment of a running process are reported, and what is behind them is given",
    arguments: [false, true])
  func zerosInSealedSegment(wasRead: Bool) throws {
    let log = TestLog(bootID: Host.bootID())
    log.write("a", ticks: 1)
    let words = ValueWords.argument(.text("zeros"))
    let place = log.write(TestRecord(ticks: 2, site: log.textSite, words: words))
    log.put([UInt8](repeating: 0, count: place.count), at: place.lowerBound)
    // Locks the ring, as a living process does.
    let ring = try File.open(log.save()[0], [.read, .write])
    #expect(try ring.tryLock())
    let follower = LogFollower(paths: [log.folder.path])
    // Until the segment is sealed, the next record could still be written there.
    if wasRead { #expect(trace(follower) == ["<", "a"]) }
    log.write("c", ticks: 3)
    log.seal(1)
    log.save()
    #expect(trace(follower) == (wasRead ? [] : ["<", "a"]) + ["!", "c"])
    #expect(Reading([log.folder.path]).trace.prefix(4) == ["<", "a", "!", "c"])
    log.write("d", ticks: 4)
    log.archive()
    log.save()
    #expect(trace(follower) == ["d"])
  }

  @Test("a wrong bit in a segment's generation has nothing given twice", arguments: [0, 5, 63])
  func wrongGeneration(bit: Int) throws {
    let log = TestLog(bootID: Host.bootID())
    for text in ["a", "b"] { log.write(text, ticks: 1) }
    let generation = log.geometry.offset(ofSegment: 0) + SegmentLayout.generation
    log.ring[generation + bit / 8] ^= 1 << UInt8(bit % 8)
    // Locks the ring, as a living process does.
    let ring = try File.open(log.save()[0], [.read, .write])
    #expect(try ring.tryLock())
    let follower = LogFollower(paths: [log.folder.path])
    var messages: [String] = []
    // Does not read until nothing comes: with this fault, that might never happen.
    for _ in 0..<20 {
      if case .record(let record)? = follower.next() { messages.append(record.message) }
    }
    #expect(messages == ["a", "b"])
  }

  /// The ring's counter is ahead of this machine's counter, as after a machine was restored. The
  /// next scan gives what one scan has seen.
  @Test("nothing is held back for longer than one scan")
  func nothingIsHeldBackForLongerThanOneScan() throws {
    let log = TestLog(bootID: Host.bootID())
    let path = log.save()[0]
    // Locks the ring, as a living process does.
    let ring = try File.open(path, [.read, .write])
    #expect(try ring.tryLock())
    log.write("now", ticks: 1)
    log.write("later than now", ticks: 1 << 60, thread: 2)
    log.write("now, too", ticks: 2, thread: 3)
    log.save()
    let follower = LogFollower(paths: [log.folder.path])
    #expect(trace(follower) == ["<", "now", "now, too", "later than now"])
    log.write("much later", ticks: 1 << 60 | 1)
    log.archive()
    log.save()
    #expect(trace(follower) == ["much later"])
    try ring.unlockAndClose()
    // One scan finds that the process is gone. The next scan ends the session.
    #expect(trace(follower) == [] && trace(follower) == [">"])
  }

  @Test("a record whose ticks are before those of the one before it is given once")
  func ticksThatGoBack() throws {
    let log = TestLog(bootID: Host.bootID())
    let path = log.save()[0]
    // Locks the ring, as a living process does.
    let ring = try File.open(path, [.read, .write])
    #expect(try ring.tryLock())
    log.write("before", ticks: 100)
    log.write("after", ticks: 50)
    log.save()
    let follower = LogFollower(paths: [log.folder.path])
    #expect(trace(follower) == ["<", "before", "after"])
    log.write("new", ticks: 110)
    log.archive()
    log.save()
    #expect(trace(follower) == ["new"])
  }

  @Test("what appears and cannot be read is known, until it can be read or is gone")
  func unreadableFilesThatAppear() throws {
    let (log, follower) = followedArchive()
    let other = TestLog(session: 2)
    other.writesRing = false
    other.write("b", ticks: 2)
    other.archive()
    let name = "other-20251121T090000Z-\(other.identity.session)-000001.mmlog"
    let (noLog, noRing) = (log.folder.put(name, "no log"), log.folder.put("x.ring", "no ring"))
    // The files may still be under construction: only a file that has not changed for a while is no
    // log.
    var later = utimbuf(actime: time(nil) + 3600, modtime: time(nil) + 3600)
    #expect(utime(noLog, &later) == 0 && utime(noRing, &later) == 0)
    #expect(trace(follower) == [] && follower.unreadable.isEmpty)
    var longAgo = utimbuf(actime: 1, modtime: 1)
    #expect(utime(noLog, &longAgo) == 0 && utime(noRing, &longAgo) == 0)
    #expect(trace(follower) == [])
    #expect(follower.unreadable.map(\.path) == [noLog, noRing])
    #expect(unlink(noRing) == 0)
    log.folder.put(name, other.archives[0])
    #expect(trace(follower) == ["<", "b"] && follower.unreadable.isEmpty)
  }

  @Test("what is given by name and is neither a file nor a directory is known until it is replaced")
  func neitherFileNorDirectory() throws {
    let (folder, log) = (TemporaryDirectory(), TestLog())
    log.writesRing = false
    log.write("a", ticks: 1)
    log.archive()
    let fifo = folder("fifo")
    #expect(mkfifo(fifo, 0o600) == 0)
    for inputs in [[.path(fifo)], [.tree(fifo)]] as [[LogReader.Input]] {
      let follower = LogFollower(inputs)
      #expect(trace(follower) == [] && follower.unreadable.map(\.path) == [fifo])
      #expect(follower.unreadable.first?.message.contains("cannot be followed") == true)
    }
    // In a directory, it is passed over.
    #expect(mkfifo(folder("x.ring"), 0o600) == 0)
    let follower = LogFollower(paths: [folder.path, fifo])
    #expect(trace(follower) == [] && follower.unreadable.map(\.path) == [fifo])
    #expect(unlink(fifo) == 0)
    folder.put("fifo", log.archives[0])
    #expect(trace(follower) == ["<", "a"] && follower.unreadable.isEmpty)
  }

  #if DEBUG
    @Test("a directory that cannot be opened is known until it can be")
    func unreadableDirectory() {
      let log = TestLog()
      log.writesRing = false
      log.write("a", ticks: 1)
      log.archive()
      log.save()
      ForcedFault.force(.open, errno: EACCES, times: .max, under: log.folder.path)
      let follower = LogFollower(paths: [log.folder.path])
      #expect(trace(follower) == [])
      #expect(follower.unreadable.map(\.systemErrorNumber) == [EACCES])
      ForcedFault.clear(under: log.folder.path)
      #expect(trace(follower) == ["<", "a"] && follower.unreadable.isEmpty)
    }
  #endif

  @Test("a symbolic link is followed when what it names appears")
  func aSymbolicLinkIsFollowedWhenWhatItNamesAppears() {
    let (log, follower) = followedArchive()
    let other = TestLog(session: 2)
    other.writesRing = false
    other.write("b", ticks: 2)
    other.archive()
    let name = "other-20251121T090000Z-\(other.identity.session)-000001.mmlog"
    let folder = TemporaryDirectory()
    #expect(symlink(folder(name), log.folder(name)) == 0)
    #expect(trace(follower) == [])
    #expect(follower.unreadable.map(\.systemErrorNumber) == [ENOENT])
    folder.put(name, other.archives[0])
    #expect(trace(follower) == ["<", "b"] && follower.unreadable.isEmpty)
  }

  @Test("a session that went on in a file before that was deleted is followed")
  func sessionsOfADeletedFile() throws {
    let (log, follower) = followedArchive()
    let path = log.save()[0]
    log.close()
    let next = TestLog(session: 2)
    next.writesRing = false
    next.write("b", ticks: 2)
    next.archive()
    log.archives[0] += next.archives[0]
    log.save()
    #expect(unlink(path) == 0)
    #expect(trace(follower).sorted() == ["<", ">", "b"])
    #expect(trace(follower) == [])
    #expect(try openArchives(in: log.folder) == [])
  }

  @Test("a session that goes on in the file of another one is found, also if only it is wanted")
  func sessionBehindUnwantedOne() {
    let (log, _) = followedArchive()
    let next = TestLog(session: 2)
    next.writesRing = false
    next.write("b", ticks: 2)
    next.archive()
    var filter = LogReader.Filter()
    filter.sessions = ["\(next.identity.session)"]
    let follower = LogFollower(paths: [log.folder.path], filter: filter)
    #expect(trace(follower) == [])
    log.close()
    log.archives[0] += next.archives[0]
    log.save()
    #expect(trace(follower) == ["<", "b"])
  }

  @Test("archives that were deleted are closed, once they have been read")
  func deletedArchivesAreClosed() throws {
    let (log, follower) = followedArchive()
    log.close(nil)
    log.beginArchive()
    log.write("b", ticks: 2)
    log.archive()
    let paths = log.save()
    #expect(trace(follower) == ["b"])
    #expect(try openArchives(in: log.folder) == paths)
    // Records that are appended before the archive is deleted are given.
    log.write("c", ticks: 3)
    log.archive()
    log.save()
    for path in paths { #expect(unlink(path) == 0) }
    #expect(trace(follower) == ["c"] && trace(follower) == [])
    #expect(try openArchives(in: log.folder) == [])
    #expect(trace(follower) == [])
  }

  @Test("archives that are deleted before they are read are a gap")
  func deletedUnread() {
    let (log, follower) = followedArchive()
    for (text, ticks) in [("lost", 2), ("lost, too", 3), ("d", 4)] as [(String, UInt64)] {
      log.close(nil)
      log.beginArchive()
      log.write(text, ticks: ticks)
      log.archive()
    }
    for path in log.save()[1...2] { #expect(unlink(path) == 0) }
    #expect(trace(follower) == ["_", "d"] && trace(follower) == [])
  }

  @Test("the first archive of a session that began since is missed, if it is deleted")
  func deletedFirst() {
    let (log, follower) = followedArchive()
    let other = TestLog(session: 2)
    other.identity.startTime = .now
    for text in ["lost", "b"] {
      other.beginArchive()
      other.write(text, ticks: 1)
      other.archive()
      if text == "lost" { other.close(nil) }
    }
    log.folder.put(
      "other-20251121T090000Z-\(other.identity.session)-000002.mmlog", other.archives[1])
    #expect(trace(follower) == ["<", "_", "b"])
    // A follower that begins now misses nothing.
    #expect(trace(LogFollower(paths: [log.folder.path])).sorted() == ["<", "<", "a", "b"])
  }

  @Test("that the last archives are gone of a process that is gone, too, is found")
  func deletedLast() throws {
    let log = TestLog(bootID: Host.bootID())
    log.write("a", ticks: 1)
    log.archive()
    // Locks the ring, as a living process does.
    let ring = try File.open(log.save()[0], [.read, .write])
    #expect(try ring.tryLock())
    let follower = LogFollower(paths: [log.folder.path])
    #expect(trace(follower) == ["<", "a"])
    log.close(nil)
    log.beginArchive()
    log.write("lost", ticks: 2)
    log.archive()
    log.seal(1)
    log.free(segment: 0)
    for path in log.save() { #expect(unlink(path) == 0) }
    #expect(trace(follower) == [])
    try ring.unlockAndClose()
    #expect(trace(follower) + trace(follower) == ["_", ">"])
  }

  #if DEBUG
    @Test(
      "records whose archive cannot be opened at once are not given twice",
      arguments: [true, false])
    func openingFails(isFirst: Bool) throws {
      let log = TestLog(bootID: Host.bootID())
      log.write("a", ticks: 1)
      if !isFirst { log.archive() }
      // Locks the ring, as a living process does.
      let ring = try File.open(log.save()[0], [.read, .write])
      #expect(try ring.tryLock())
      let follower = LogFollower(paths: [log.folder.path])
      #expect(trace(follower) == ["<", "a"])
      log.write("b", ticks: 2)
      log.save()
      #expect(trace(follower) == ["b"])
      if !isFirst {
        log.close(nil)
        log.beginArchive()
      }
      log.archive()
      log.seal(1)
      log.free(segment: 0)
      log.write("c", ticks: 3)
      let path = log.save()[isFirst ? 1 : 2]
      ForcedFault.force(.open, errno: EMFILE, times: .max, under: path)
      defer { ForcedFault.clear(under: path) }
      #expect(trace(follower) == ["c"])
      #expect(follower.unreadable.map(\.path) == [path])
      ForcedFault.clear(under: path)
      #expect(trace(follower) == [] && follower.unreadable.isEmpty)
      log.write("d", ticks: 4)
      log.save()
      #expect(trace(follower) == ["d"])
    }

    @Test("a dead process's ring that cannot be copied is known, and read when it can be")
    func copyFails() throws {
      let log = TestLog(bootID: Host.bootID())
      log.write("a", ticks: 1)
      let path = log.save()[0]
      // Locks the ring, as a living process does.
      let ring = try File.open(path, [.read, .write])
      #expect(try ring.tryLock())
      let follower = LogFollower(paths: [log.folder.path])
      #expect(trace(follower) == ["<", "a"] && follower.unreadable.isEmpty)
      log.write("b", ticks: 2)
      log.save()
      try ring.unlockAndClose()
      ForcedFault.force(.pread, errno: EIO, times: .max, under: path)
      defer { ForcedFault.clear(under: path) }
      for _ in 0..<3 {
        #expect(trace(follower) == [])
        #expect(follower.unreadable.map(\.path) == [path])
      }
      ForcedFault.clear(under: path)
      #expect(trace(follower) == ["b", ">"] && follower.unreadable.isEmpty)
    }
  #endif

  @Test("that nobody here decrypts what is followed is known") func encrypted() {
    let folder = TemporaryDirectory()
    let follower = LogFollower(paths: [folder.path])
    #expect(trace(follower) == [] && follower.unreadable.isEmpty)
    let path = folder.put("1.mmlog", TestLog.encrypted())
    #expect(trace(follower) == ["<", ">"])
    #expect(follower.unreadable.map(\.code) == [.encrypted])
    #expect(follower.unreadable.map(\.path) == [path])
  }

  @Test("the last records come first") func theLastRecordsComeFirst() {
    let log = TestLog()
    log.writesRing = false
    for index in 0..<9 as Range<UInt64> {
      log.write("\(index)", ticks: index)
      if index % 3 == 2 { log.archive() }
    }
    log.save()
    #expect(trace(LogFollower(paths: [log.folder.path], last: 4)) == ["<", "5", "6", "7", "8"])
    #expect(trace(LogFollower(paths: [log.folder.path], last: 0)) == ["<"])
    var filter = LogReader.Filter()
    filter.text = [TextPattern(literal: "2"), TextPattern(literal: "7")]
    #expect(
      trace(LogFollower(paths: [log.folder.path], filter: filter, last: 2)) == ["<", "2", "7"])
  }

  @Test("a file is waited for") func aFileIsWaitedFor() {
    let log = TestLog()
    log.writesRing = false
    log.write("a", ticks: 1)
    log.archive()
    let path = log.folder("test-20251121T090000Z-\(log.identity.session)-000001.mmlog")
    let follower = LogFollower(paths: [path])
    #expect(follower.unreadable.map(\.systemErrorNumber) == [2])
    #expect(trace(follower) == [])
    log.save()
    #expect(trace(follower) == ["<", "a"])
  }

  @Test("following ends with its task") func followingEndsWithItsTask() async {
    let log = TestLog()
    log.write("a", ticks: 1)
    log.save()
    let path = log.folder.path
    let task = Task {
      var messages: [String] = []
      for await item in LogReader.follow([.path(path)]) {
        if case .record(let record) = item {
          messages.append(record.message)
          withUnsafeCurrentTask { $0?.cancel() }
        }
      }
      return messages
    }
    #expect(await task.value == ["a"])
  }

  @Test("a file that is replaced by a longer copy of itself is read on", arguments: [false, true])
  func longerCopy(isGivenByName: Bool) {
    let (log, _) = followedArchive()
    let path = log.save()[0]
    let follower = LogFollower(paths: [isGivenByName ? path : log.folder.path])
    #expect(trace(follower) == ["<", "a"])
    // Replaces the file as rsync does: another file gets its name.
    for (text, ticks) in [("b", 2), ("c", 3)] as [(String, UInt64)] {
      log.write(text, ticks: ticks)
      log.archive()
      log.folder.put("new", log.archives[0])
      #expect(rename(log.folder("new"), path) == 0)
      // One scan finds that the file is gone. The next scan finds the other file.
      #expect(trace(follower) + trace(follower) == [text])
    }
    // A shorter file has nothing new.
    log.folder.put("new", Array(log.archives[0].prefix(FileHeaderLayout.size)))
    #expect(rename(log.folder("new"), path) == 0)
    #expect(trace(follower) + trace(follower) == [])
    log.close()
    log.folder.put("new", log.archives[0])
    #expect(rename(log.folder("new"), path) == 0)
    #expect(trace(follower) + trace(follower) == [">"])
    #expect(trace(follower) == [])
  }

  @Test("what is logged after a clock was set back is given, though only the last records were")
  func clockSetBack() {
    let log = TestLog()
    log.writesRing = false
    for (text, ticks) in [("a", 1000), ("b", 2000)] as [(String, UInt64)] {
      log.write(text, ticks: ticks)
      log.archive()
    }
    log.save()
    let follower = LogFollower(paths: [log.folder.path], last: 1)
    #expect(trace(follower) == ["<", "b"])
    log.frameClock = TickClock(ticks: 0, wall: TestLog.epoch + -10_000, rate: 1 << 32)
    log.write("c", ticks: 2001)
    log.archive()
    log.save()
    #expect(trace(follower) == ["c"])
  }

  @Test("nothing comes between two scans, so that what is there can be shown")
  func nilBetweenScans() {
    let (log, follower) = followedArchive()
    for text in ["b", "c"] {
      log.write(text, ticks: 2)
      log.archive()
      log.save()
      var messages: [String?] = []
      for _ in 0..<2 {
        if case .record(let record)? = follower.next() {
          messages.append(record.message)
          // This record comes after the scan.
          log.write("later than \(text)", ticks: 3)
          log.archive()
          log.save()
        } else {
          messages.append(nil)
        }
      }
      #expect(messages == [text, nil])
      #expect(trace(follower) == ["later than \(text)"])
    }
  }

  @Test("symbolic links to directories are not followed, and links to devices are not opened")
  func linksInDirectories() {
    let other = TestLog(session: 2)
    other.writesRing = false
    other.write("elsewhere", ticks: 2)
    other.archive()
    other.save()
    let (log, _) = followedArchive()
    let folder = log.folder
    for (target, name) in [
      (other.folder.path, "away.ring"), (".", "a.mmlog"), (".", "b.mmlog"),
      (other.folder.path, "c"),
      ("/dev/null", "d.ring"),
    ] { #expect(symlink(target, folder(name)) == 0) }
    for input in [LogReader.Input.path(folder.path), .tree(folder.path)] {
      #if DEBUG
        let place = folder("d.ring")
        ForcedFault.force(.open, errno: EIO, times: .max, under: place)
        defer { ForcedFault.clear(under: place) }
      #endif
      let follower = LogFollower([input])
      #expect(trace(follower) == ["<", "a"] && trace(follower) == [])
      #expect(follower.unreadable.isEmpty)
    }
    #if DEBUG
      #expect(!ForcedFault.struckPaths.contains(folder("d.ring")))
    #endif
  }

  @Test("a tree of many directories is followed") func tree() throws {
    let folder = TemporaryDirectory()
    let log = TestLog()
    log.writesRing = false
    log.write("a", ticks: 1)
    log.archive()
    for index in 0..<2000 { #expect(mkdir(folder("\(index)"), 0o700) == 0) }
    let follower = LogFollower([.tree(folder.path)])
    #expect(trace(follower) == [])
    #expect(mkdir(folder("1000/below.mmlog"), 0o700) == 0)
    folder.put("1000/below.mmlog/a.mmlog", log.archives[0])
    #expect(trace(follower) == ["<", "a"])
  }

  @Test("what is remembered of archived segments does not grow with the number of segments used")
  func manySegments() throws {
    let geometry = RingGeometry(dictionarySize: 8192, segmentSize: 4096, segmentCount: 1000)
    let log = TestLog(bootID: Host.bootID(), geometry: geometry)
    // Locks the ring, as a living process does.
    let ring = try File.open(log.save()[0], [.read, .write])
    #expect(try ring.tryLock())
    let follower = LogFollower(paths: [log.folder.path])
    var given: [String] = []
    for number in 0..<geometry.segmentCount {
      log.write("\(number)", ticks: UInt64(number))
      log.seal(1)
      guard number % 100 == 99 else { continue }
      log.save()
      given += trace(follower)
      log.archive()
      for index in number - 99...number { log.free(segment: index) }
      log.save()
      given += trace(follower)
    }
    #expect(given == ["<"] + (0..<geometry.segmentCount).map { "\($0)" })
    let summary = try #require(follower.sessions.first?.reader?.summary)
    #expect(summary.coverage.generationCount < 700)
  }

  @Test("of segments that are in use anew, and of sessions that are over, nothing stays in memory")
  func memory() throws {
    let log = TestLog(bootID: Host.bootID(), archiveLevel: .info)
    var paths = log.save()
    // Locks the ring, as a living process does.
    let ring = try File.open(paths[0], [.read, .write])
    #expect(try ring.tryLock())
    let follower = LogFollower(paths: [log.folder.path])
    log.write("a", ticks: 1)
    log.write("evicted", ticks: 2, level: .debug)
    log.save()
    #expect(trace(follower) == ["<", "a", "evicted"])
    let session = try #require(follower.sessions.first)
    #expect(session.emitted.end(of: 1) != nil)
    log.archive()
    log.seal(1)
    log.free(segment: 0)
    log.write("b", ticks: 3)
    paths = log.save()
    #expect(trace(follower) == ["b"])
    #expect(session.emitted.end(of: 1) == nil && session.emitted.end(of: 2) != nil)
    log.archive()
    log.close()
    log.save()
    try ring.unlockAndClose()
    #expect(trace(follower) == [] && trace(follower) == [">"])
    // The ring may have records that a recovery will archive.
    #expect(trace(follower) == [] && follower.sessions.count == 1)
    #expect(unlink(paths[0]) == 0)
    #expect(trace(follower) == [] && trace(follower) == [] && follower.sessions.isEmpty)
    // This file is a copy of an archive that was read.
    log.folder.put("copy.mmlog", log.archives[0])
    #expect(trace(follower) == [] && follower.sessions.isEmpty)
    let later = TestLog()
    later.write("later", ticks: 5)
    later.archive()
    later.archives[0] = []
    later.beginArchive()
    later.write("archived later", ticks: 6)
    later.archive()
    later.close()
    log.folder.put("later.mmlog", later.archives[1])
    #expect(trace(follower) == ["<", "archived later"])
    #expect(trace(follower) == [] && follower.sessions.isEmpty)
  }
}
