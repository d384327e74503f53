import Glibc
import MMLogSystem
import Testing
import TestSupport

@Suite("Directories")
struct DirectoryTests {
  let folder = TemporaryDirectory()

  @Test(
    "a directory is made with the ones above it, once and again", arguments: ["a/b/c", "a//b/"])
  func create(path: String) throws {
    try Directory.create(folder(path), mode: 0o700)
    try Directory.create(folder(path), mode: 0o700)
    let status = try #require(try Directory.open(folder.path).status(of: path))
    #expect(status.isDirectory)
    #expect(status.permissions == 0o700)
  }

  #if DEBUG
    @Test("a directory that is made is synced in the one above it, where there is such a thing")
    func createSyncs() throws {
      ForcedFault.force(.fsync, errno: EIO, times: .max, under: folder.path)
      let error = failure { try Directory.create(folder("a")) }
      #expect(error == SystemError(call: .fsync, errno: EIO, path: folder.path))
      ForcedFault.clear(under: folder.path)
      ForcedFault.force(.fsync, errno: EINVAL, times: .max, under: folder.path)
      defer { ForcedFault.clear(under: folder.path) }
      try Directory.create(folder("b/c"))
    }
  #endif

  @Test("a file where the directory should be is reported as such")
  func createOverFile() throws {
    folder.put("file")
    #expect(failure { try Directory.create(folder("file")) }?.errno == ENOTDIR)
    #expect(failure { try Directory.create(folder("file/below")) }?.errno == ENOTDIR)
    #expect(failure { try Directory.open(folder.path).makeDirectory("file") }?.errno == ENOTDIR)
    #expect(failure { _ = try Directory.open(folder("file")) }?.errno == ENOTDIR)
    #expect(failure { try Directory.create("") }?.errno == ENOENT)
  }

  @Test(
    "what root makes for a directory's user belongs to that user, and what is there stays as it is",
    .enabled(if: CurrentProcess.effectiveUserID == 0))
  func openForItsUser() throws {
    let user: UInt32 = 65_534
    chown(folder.path, user, user)
    folder.put("there")
    let directory = try Directory.openForItsUser(folder.path)
    _ = try directory.openFile("there", [.read, .write, .create])
    _ = try directory.openFile("made", [.read, .write, .create], mode: 0o644)
    _ = try directory.makeUnnamedFile(for: "unnamed")
    try directory.makeDirectory("folder")
    _ = try directory.openDirectory("folder").openFile("inside", [.write, .create, .exclusive])
    func owner(_ name: String) throws -> UInt32? { try directory.status(of: name)?.owner }
    #expect(try directory.status(of: "made")?.permissions == 0o644)
    #expect(try owner("there") == 0 && owner("made") == user && owner("folder") == user)
    #expect(try File.status(ofPath: folder("folder/inside")).owner == user)
    // Of those who work for themselves, nothing changes.
    _ = try Directory.open(folder.path).openFile("mine", [.write, .create, .exclusive])
    #expect(try owner("mine") == 0)
  }

  @Test("names are listed without the two every directory has, and without ill-formed ones")
  func names() throws {
    for name in ["one", "zwei ä", ".hidden"] { folder.put(name) }
    var illFormed = Array(folder("x").utf8CString)
    illFormed[illFormed.count - 2] = -1  // 0xff
    let descriptor = creat(illFormed, 0o600)
    try #require(descriptor >= 0)
    close(descriptor)
    let directory = try Directory.open(folder.path)
    #expect(try directory.names().sorted() == [".hidden", "one", "zwei ä"])
    #expect(try directory.names().count == 3, "listed again")
    unlink(illFormed)
  }

  @Test("a directory that was renamed is still the one that was opened")
  func renamedMeanwhile() throws {
    try Directory.create(folder("old"))
    let directory = try Directory.open(folder("old"))
    try #require(Glibc.rename(folder("old"), folder("new")) == 0)
    try directory.openFile("file", [.write, .create]).write(text: "x")
    #expect(folder.contents("new/file") == Array("x".utf8))
  }

  @Test("a symbolic link in the directory is reported as one, and neither opened nor followed")
  func symbolicLink() throws {
    try Directory.create(folder("target"))
    try #require(symlink("target", folder("link")) == 0)
    let directory = try Directory.open(folder.path)
    #expect(try directory.status(of: "link")?.isSymbolicLink == true)
    #expect(failure { _ = try directory.openFile("link", .read) }?.errno == ELOOP)
    #expect(failure { _ = try directory.openDirectory("link") }?.errno == ENOTDIR)
    #expect(try Directory.open(folder("link")).names() == [], "its path is the administrator's")
  }

  @Test("a name that is not there has no status")
  func absent() throws {
    let directory = try Directory.open(folder.path)
    #expect(try directory.status(of: "nothing") == nil)
    #expect(failure { try directory.remove("nothing") }?.isNotFound == true)
  }

  @Test("files are renamed over others, moved to another directory, and removed")
  func renameAndRemove() throws {
    folder.put("a", "new")
    folder.put("b", "old")
    let directory = try Directory.open(folder.path)
    try directory.rename("a", to: "b")
    try directory.makeDirectory("trash")
    let trash = try directory.openDirectory("trash")
    try directory.rename("b", to: "c", in: trash)
    try directory.sync()
    #expect(try directory.names() == ["trash"])
    #expect(folder.contents("trash/c") == Array("new".utf8))
    #expect(failure { try directory.removeDirectory("trash") }?.errno == ENOTEMPTY)
    try trash.remove("c")
    try directory.removeDirectory("trash")
    #expect(try directory.names() == [])
  }

  @Test("some space is free, and not more than there is")
  func freeSpace() throws {
    let space = try Directory.open(folder.path).freeSpace()
    #expect(space.total > 0)
    #expect((0...space.total).contains(space.available))
  }
}
