import MMLogAnalysis
import MMLogFormat
import MMLogReader
import TestSupport
import Testing

@Suite struct RepairTests {
  /// The notes of the repair have a label of their own, whose number no lost label has.
  @Test("a record whose label is lost gets no other")
  func aRecordWhoseLabelIsLostGetsNoOther() throws {
    let log = TestLog()
    log.write(TestRecord(ticks: 1, site: log.textSite, label: 1, words: [1, 98]))
    log.save()
    #expect(labels(log.folder.path) == [""])
    let out = log.folder("out")
    _ = try LogRepair.write(LogFiles([.path(log.folder.path)]), to: out)
    #expect(labels(out) == [""])
  }

  /// The clock of a ring whose later readings are corrupted is older than those of the archives.
  @Test(
    "a record whose rest is in a ring with an older clock is whole, also behind a note of corruption",
    arguments: [false, true])
  func aRecordWhoseRestIsInARingWithAnOlderClockIsWhole(hasNote: Bool) throws {
    let log = TestLog()
    let text = String(repeating: "0123456789", count: 300)
    let record = TestRecord(
      ticks: 5, site: log.textSite, words: ValueWords.argument(.text(text)))
    log.writeFragments(record, partWords: 150, range: 0..<1)
    log.frameClock = TickClock(ticks: 100, wall: TestLog.epoch + 100, rate: 1 << 32)
    log.archive()
    log.writeFragments(record, partWords: 150, range: 1..<3)
    if hasNote {
      let reading = [UInt8](repeating: 7, count: ClockPairLayout.size)
      log.put(reading, at: log.areas.clocks.lowerBound + ClockPairLayout.size)
    }
    log.save()
    #expect(messages(log.folder.path) == [text])
    let out = log.folder("out")
    _ = try LogRepair.write(LogFiles([.path(log.folder.path)]), to: out)
    #expect(messages(out).filter { !$0.hasPrefix("corrupted: ") } == [text])
    #expect(messages(out).count == (hasNote ? 2 : 1))
  }

  /// What cannot be read stands between a record and a much later one of the same thread.
  @Test("a note of corruption changes no time of a record of another thread")
  func notesAreInTheOrderOfTime() throws {
    let log = TestLog()
    log.write("a", ticks: 1, thread: 1)
    let damaged = log.write(
      TestRecord(ticks: 2, site: log.textSite, words: ValueWords.argument(.text("b"))))
    log.write("other", ticks: 9, thread: 2)
    log.write("c", ticks: 21, thread: 1)
    log.ring[damaged.lowerBound + 9] ^= 0xFF
    let out = try repair(log)
    #expect(messages(out).contains { $0.hasPrefix("corrupted: ") })
    let words = ["a", "other", "c"]
    #expect(times(out).filter { words.contains($0.message) } == times(log.folder.path))
    #expect(times(out).map(\.time) == times(out).map(\.time).sorted())
    #expect(verified(out).isEmpty)
  }

  private struct Timed: Equatable {
    let time: Timestamp
    let message: String
  }

  private func times(_ path: String) -> [Timed] {
    LogReader(paths: [path]).compactMap { item in
      if case .record(let record) = item {
        Timed(time: record.time, message: record.message)
      } else {
        nil
      }
    }
  }

  // MARK: - Ids

  /// A sealed archive, with a frame for each text: a dictionary frame, and one of records.
  private func log(_ texts: [String]) -> TestLog {
    let log = TestLog.archived(texts)
    log.close()
    return log
  }

  private func repair(_ log: TestLog) throws -> String {
    log.save()
    let out = log.folder("out")
    _ = try LogRepair.write(LogFiles([.path(log.folder.path)]), to: out)
    return out
  }

  /// Records without the notes, and what else there is to say.
  private func read(
    _ path: String, after cursor: LogReader.Cursor = LogReader.Cursor(), count: Int = .max
  ) -> (ids: [String], corruption: [String], cursor: LogReader.Cursor) {
    let reader = LogReader(paths: [path], after: cursor)
    var (ids, corruption): ([String], [String]) = ([], [])
    while ids.count < count, let item = reader.next() {
      switch item {
      case .record(let record) where record.label != "mmlog.repair":
        ids.append("\(record.message) \(record.id.map { "\($0)" } ?? "-")")
      case .corruption(let found): corruption.append(found.what)
      default: continue
      }
    }
    return (ids, corruption, reader.cursor)
  }

  private func verified(_ path: String) -> [String] {
    LogFiles([.path(path)]).verify().flatMap(\.corruption).map(\.what)
  }

  @Test("what is whole is copied to the byte")
  func wholeArchive() throws {
    let log = log(["a", "b"])
    let out = try repair(log)
    let names = try Folder.names(out)
    #expect(try names.map { try Folder.read("\(out)/\($0)") } == log.archives)
  }

  /// Of each frame, and of all bytes of one, wherever that is: its header is lost with it.
  @Test("a hole changes no other record's id", arguments: 0..<8, [false, true])
  func hole(frame: Int, isHeaderLost: Bool) throws {
    let log = log(["a", "b", "c", "d"])
    let frames = try ArchiveFrames.offsets(log.archives[0])
    let place = frames[frame] + (isHeaderLost ? 16 : log.headerSize(at: frames[frame]) + 3)
    log.archives[0][place] ^= 0xFF
    let out = try repair(log)
    let (before, after) = (read(log.folder.path), read(out))
    #expect(before.ids.count == (frame % 2 == 0 ? 4 : 3) && !before.corruption.isEmpty)
    #expect(after.ids == before.ids && after.corruption.isEmpty && verified(out).isEmpty)
    let notes = messages(out).filter { $0.hasPrefix("corrupted: ") }
    #expect(notes.count == before.corruption.count)
  }

  @Test("a cursor of the damaged archive goes on in the repaired one", arguments: 0...2)
  func cursor(count: Int) throws {
    let log = log(["a", "b", "c", "d"])
    let frames = try ArchiveFrames.offsets(log.archives[0])
    log.archives[0][frames[3] + 16] ^= 0xFF
    log.archives[0][frames[5] + log.headerSize(at: frames[5]) + 3] ^= 0xFF
    let out = try repair(log)
    let all = read(log.folder.path)
    #expect(all.ids.count == 2)
    let first = read(log.folder.path, count: count)
    let rest = read(out, after: first.cursor)
    #expect(first.ids + rest.ids == all.ids)
    #expect(read(out, after: rest.cursor).ids.isEmpty)
  }

  @Test("a record that cannot be shown leaves the rows of the others as they are")
  func partOfAFrame() throws {
    let log = TestLog(session: 7)
    log.writesRing = false
    log.write("a", ticks: 100)
    log.write(TestRecord(ticks: 200, site: 99, words: []))
    log.write("c", ticks: 300)
    log.archive()
    log.close()
    let out = try repair(log)
    let rows = { (ids: [String]) in ids.map { $0.split(separator: ".").last.map(String.init) } }
    let (before, after) = (read(log.folder.path), read(out))
    #expect(rows(before.ids) == ["0", "2"] && rows(after.ids) == ["0", "2"])
    #expect(after.corruption.isEmpty && verified(out).isEmpty)
    #expect(messages(out).count == 3)
  }

  /// Its ordinal is that of the frame before it.
  @Test("losses and the session's end are there after a repair, though others have their ordinals")
  func displacedFrames() throws {
    let log = TestLog.archived(["a", "b"])
    var ledger = LossLedger()
    ledger[.ringFull, .info] = 3
    let losses = log.addFrame(.losses, ledger.encoded)
    let end = log.addFrame(.sessionEnd, SessionEnd(.exited, time: TestLog.epoch + 9).encoded)
    var archive = log.archives[0]
    for place in [losses.lowerBound, end.lowerBound] {
      archive.withUnsafeMutableBytes { $0.store(UInt64(3), place + FrameLayout.ordinal) }
    }
    log.archives[0] = ChecksumFix.archive(archive)
    let out = try repair(log)
    #expect(said(log.folder.path) == ["exited", "losses 3"] && said(out) == said(log.folder.path))
    #expect(read(out).corruption.isEmpty && verified(out).isEmpty)
  }

  /// How the session ended, and what it lost.
  private func said(_ path: String) -> [String] {
    LogReader(paths: [path]).compactMap { item in
      switch item {
      case .losses(_, let ledger): "losses \(ledger[.ringFull, .info])"
      case .sessionEnded(_, .ended(let end), _): "\(end.how)"
      default: nil
      }
    }.sorted()
  }

  @Test("records of a ring get into a further archive, and those of the archives keep their ids")
  func ringBehindArchives() throws {
    let log = TestLog(session: 7)
    log.write("a", ticks: 100)
    log.archive()
    log.write("b", ticks: 200)
    let out = try repair(log)
    let (before, after) = (read(log.folder.path), read(out))
    // What is in a ring has no id, and a cursor waits for it.
    #expect(before.ids.count == 1 && after.ids.count == 2 && after.ids.first == before.ids.first)
    #expect(messages(out) == ["a", "b"] && after.corruption.isEmpty && verified(out).isEmpty)
    #expect(try Folder.names(out).count == 2)
  }

  private func messages(_ path: String) -> [String] {
    LogReader(paths: [path]).compactMap { item in
      if case .record(let record) = item { record.message } else { nil }
    }
  }

  private func labels(_ path: String) -> [String] {
    LogReader(paths: [path]).compactMap { item in
      if case .record(let record) = item { record.label } else { nil }
    }
  }
}

extension TestLog {
  /// How large the header of the frame is that stands at an offset of the first archive.
  fileprivate func headerSize(at offset: Int) -> Int {
    archives[0].withUnsafeBytes { Int($0.load(offset + FrameLayout.headerSize, as: UInt32.self)) }
  }
}
