import MMLogReader
import TestSupport
import Testing

/// What a cursor says of archives that are not what they were.
@Suite struct CursorReadingTests {
  /// A log of one session, with these records in a frame each.
  private func log(_ frames: [String]) -> TestLog {
    let log = TestLog(session: 7)
    log.writesRing = false
    for (index, text) in frames.enumerated() {
      log.write(text, ticks: UInt64(100 * index + 100))
      log.archive()
    }
    return log
  }

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
    let first = read(log(["a", "b"]), after: LogReader.Cursor())
    #expect(first.messages == ["a", "b"])
    let second = read(log(["a", "another b", "c"]), after: first.cursor)
    #expect(second.messages == ["another b", "c"])
    #expect(read(log(["a", "another b", "c"]), after: second.cursor).messages == [])
  }

  @Test("what is not there any more is waited for, and nothing is given twice")
  func shorterArchive() {
    let first = read(log(["a", "b", "c"]), after: LogReader.Cursor())
    let second = read(log(["a"]), after: first.cursor)
    #expect(second.messages == [] && second.cursor == first.cursor)
    #expect(read(log(["a", "b", "c", "d"]), after: second.cursor).messages == ["d"])
  }

  @Test("records of other sessions are given by the time of each")
  func twoSessions() {
    let folder = log(["a", "c"])
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
