import Glibc
import MMLogSystem
import TestSupport
import Testing

@testable import MMLogReader

/// When the names in a directory are listed again.
@Suite struct DirectoryChangesTests {
  private static let second: Int64 = 1_000_000_000

  @Test("names are listed every few seconds, though their directory says that nothing changed")
  func coarseTimes() throws {
    let folder = TemporaryDirectory()
    var longAgo = utimbuf(actime: 1, modtime: 1)
    #expect(utime(folder.path, &longAgo) == 0)
    let status = try Directory.open(folder.path).status()
    var changes = DirectoryChanges()
    let listed = [0, 1, 2, 4, 5].map { changes.note(status, at: $0 * Self.second) }
    #expect(listed == [true, false, false, true, false])
  }

  @Test("what was changed just now is listed again") func changedJustNow() throws {
    let folder = TemporaryDirectory()
    var later = utimbuf(actime: time(nil) + 3600, modtime: time(nil) + 3600)
    #expect(utime(folder.path, &later) == 0)
    let status = try Directory.open(folder.path).status()
    var changes = DirectoryChanges()
    let areListed = [changes.note(status, at: 0), changes.note(status, at: 1)]
    #expect(areListed == [true, true])
  }
}
