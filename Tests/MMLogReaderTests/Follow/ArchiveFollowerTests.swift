import Glibc
import MMLogFormat
import MMLogReader
import TestSupport
import Testing

/// What reading on behind a cursor gives where archives are corrupted or deleted.
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
      case .sessionEnded: trace.append(">")
      default: trace.append("?")
      }
    }
    return trace
  }

  /// Archives a record again whose frame cannot be read, as recovery does.
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
    #expect(try trace(follower) == ["_", ">"])
    log.folder.put("back.mmlog", log.archives[1])
    #expect(try trace(ArchiveFollower(log.folder.path, after: follower.cursor)) == [])
  }
}
