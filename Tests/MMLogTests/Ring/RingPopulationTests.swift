import Foundation
import Glibc
import MMLog
import MMLogSystem
import TestSupport
import Testing

@Suite("Population of the ring") struct RingPopulationTests {
  /// How much of the file at a path this process has mapped, and has page table entries for, in
  /// KiB: proc(5), smaps.
  private func mapped(_ path: String) throws -> (size: Int, populated: Int) {
    // Finds the file by its inode number: it may have been mapped before it had a name.
    var status = stat()
    #expect(stat(path, &status) == 0)
    let handle = try #require(FileHandle(forReadingAtPath: "/proc/self/smaps"))
    let bytes = try #require(try handle.readToEnd())
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    let start = try #require(lines.firstIndex { $0.contains(" \(status.st_ino) ") })
    func number(_ field: String) throws -> Int {
      let line = try #require(lines[start...].first { $0.hasPrefix(field) })
      return try #require(line.split(separator: " ").dropFirst().first.flatMap { Int($0) })
    }
    return (try number("Size:"), try number("Rss:"))
  }

  @Test("a large ring is open before all of it is populated, and then all of it is")
  func largeRing() throws {
    let test = try TestStore { $0.ringSize = 64 << 20 }
    test.log.info("first")
    let path = test.folder(try #require(try test.folder.names(ending: ".ring").first))
    let deadline = Clock.monotonic() + 60_000_000_000
    var now = try mapped(path)
    // The dictionary has a MiB, and a hole to grow into.
    let hole = 7 << 10
    while now.populated < now.size - hole, Clock.monotonic() < deadline { now = try mapped(path) }
    #expect(now.size >= 64 << 10 && now.populated == now.size - hole)
    #expect(try test.closeAndRead().messages == ["first"])
  }
}
