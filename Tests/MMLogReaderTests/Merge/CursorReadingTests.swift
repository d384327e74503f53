import Glibc
import MMLogReader
import TestSupport
import Testing

/// What a cursor says of archives that are not what they were.
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

  @Test("a frame that was undone, and is another one now, is read")
  func undoneFrame() {
    let first = read(TestLog.archived(["a", "b"]), after: LogReader.Cursor())
    #expect(first.messages == ["a", "b"])
    let second = read(TestLog.archived(["a", "another b", "c"]), after: first.cursor)
    #expect(second.messages == ["another b", "c"])
    #expect(read(TestLog.archived(["a", "another b", "c"]), after: second.cursor).messages == [])
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

  @Test("what is not there any more is waited for, and nothing is given twice")
  func shorterArchive() {
    let first = read(TestLog.archived(["a", "b", "c"]), after: LogReader.Cursor())
    let second = read(TestLog.archived(["a"]), after: first.cursor)
    #expect(second.messages == [] && second.cursor == first.cursor)
    #expect(read(TestLog.archived(["a", "b", "c", "d"]), after: second.cursor).messages == ["d"])
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
