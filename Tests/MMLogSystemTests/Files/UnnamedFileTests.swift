import Glibc
import MMLogSystem
import Testing
import TestSupport

@Suite("Files without a name")
struct UnnamedFileTests {
  let folder = TemporaryDirectory()

  @Test("a file gets its name when it is given one", .enabled(if: hasUnnamedFiles))
  func link() throws {
    let directory = try Directory.open(folder.path)
    let file = try directory.makeUnnamedFile(for: "a", mode: 0o640)
    try file.write(text: "whole")
    #expect(try directory.names().isEmpty)
    try directory.link(file, as: "a")
    #expect(try directory.names() == ["a"])
    #expect(folder.contents("a") == Array("whole".utf8))
    #expect(try directory.status(of: "a")?.permissions == 0o640)
    var code: CInt?
    do throws(SystemError) { try directory.link(file, as: "a") } catch { code = error.errno }
    #expect(code == EEXIST, "what has the name stays")
  }

  @Test("a file without a name goes away when it is closed", .enabled(if: hasUnnamedFiles))
  func goesAway() throws {
    let directory = try Directory.open(folder.path)
    let file = try directory.makeUnnamedFile(for: "a")
    try file.write(text: "gone")
    try file.close()
    #expect(try directory.names().isEmpty)
  }

  @Test("a file system that has no such files says so", .disabled(if: hasUnnamedFiles))
  func unknown() throws {
    let directory = try Directory.open(folder.path)
    let error = try #require(failure { try directory.makeUnnamedFile(for: "a").close() })
    #expect([EOPNOTSUPP, EISDIR].contains(error.errno))
  }
}
