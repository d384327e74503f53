import Glibc
import MMLogAnalysis
import MMLogFormat
import MMLogReader
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

/// Noted heads of archives that are gone.
@Suite struct AnchorTests {
  /// The head of an archive of another session of the store, begun `begun` nanoseconds after those
  /// that are there.
  private func head(begun: Int64) throws -> ArchiveHead {
    let hash = String(repeating: "0", count: 64)
    let time = (TestLog.epoch + begun).nanosecondsSince1970
    let session = SessionID(words: (99, 0))
    return try #require(ArchiveHead("mmlog-head \(session) 1 2 \(hash) \(time) test"))
  }

  @Test("a head of a store whose name begins with a combining mark is read as it was written")
  func nameWithACombiningMark() throws {
    let text = "\(try head(begun: 0))"
    #expect(text.hasSuffix(" test"))
    #expect(ArchiveHead(text.dropLast(4) + "\u{301}t")?.store == "\u{301}t")
  }

  #if DEBUG
    @Test("archives are inspected once, however many heads are checked")
    func archivesAreInspectedOnce() throws {
      let log = TestLog.closed("one")
      log.save()
      let path = log.folder.path
      let files = LogFiles([.path(path)])
      let head = try head(begun: -5)
      var counts: [Int] = []
      for count in [1, 50] {
        ForcedFault.force(.openat, errno: EIO, onCall: .max, under: path)
        let reports = files.check(Array(repeating: head, count: count))
        counts.append(ForcedFault.passed(.openat, under: path))
        ForcedFault.clear(under: path)
        #expect(reports.map(\.verdict) == Array(repeating: .deleted, count: count))
      }
      withExtendedLifetime(log) {}
      #expect(counts[0] > 0 && counts[0] == counts[1], "\(counts)")
    }
  #endif

  @Test("what was begun after all that is there was not deleted by a limit")
  func whatIsNewerWasNotDeleted() throws {
    let log = TestLog.closed("one")
    log.save()
    let verdicts = try LogFiles([.path(log.folder.path)]).check([head(begun: -5), head(begun: 5)])
      .map(\.verdict)
    withExtendedLifetime(log) {}
    let gone = "the archive is gone, and no later one of the store is there"
    #expect(verdicts == [.deleted, .broken(gone)])
  }
}
