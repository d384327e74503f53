import Glibc
import MMLogSystem
import Testing
import TestSupport

@Suite("Locks")
struct LockTests {
  let folder = TemporaryDirectory()

  @Test("a lock is seen from a second descriptor of the same process, and gone after unlocking")
  func seen() throws {
    let path = folder.put("file")
    let holder = try File.open(path, .write)
    let other = try File.open(path, .write)
    let reader = try File.open(path, .read)
    #expect(try holder.tryLock())
    #expect(try !other.tryLock())
    #expect(try reader.isLockedByAnother())
    #expect(try !holder.isLockedByAnother())
    try holder.unlock()
    #expect(try !reader.isLockedByAnother())
    #expect(try other.tryLock())
  }

  @Test("a lock goes with its file, and not with another descriptor of it")
  func dropped() throws {
    let path = folder.put("file")
    let other = try File.open(path, .write)
    do {
      let holder = try File.open(path, .write)
      #expect(try holder.tryLock())
      try File.open(path, .write).close()
      #expect(try other.isLockedByAnother())
    }
    // A child that another test starts has a copy of the file until it runs its own program.
    #expect(try eventually { try other.tryLock() })
  }

  /// A file that this process has locked.
  private func locked(_ path: String) throws -> LockedFile {
    let file = try LockedFile { () throws(SystemError) in try File.open(path, [.read, .write]) }
    guard let file else { throw SystemError.locked(path) }
    return file
  }

  @Test("a locked file gives its lock up, whoever else has it open")
  func evicted() throws {
    let path = folder.put("file")
    let other = try File.open(path, .write)
    // As a process has one that is being started.
    let copy: CInt
    do {
      let holder = try locked(path)
      copy = dup(holder.file.descriptor)
      #expect(try other.isLockedByAnother())
      #expect(failure { _ = try locked(path) }?.errno == EAGAIN)
      withExtendedLifetime(holder) {}
    }
    #expect(try other.tryLock())
    close(copy)
  }

  @Test("a child of fork has nothing to lock, unlock or write its parent's file with")
  func child() async {
    await #expect(processExitsWith: .success) {
      let folder = TemporaryDirectory()
      let path = folder.put("file")
      let holder = try LockTests().locked(path)
      let child = fork()
      if child == 0 {
        let isWritten = (try? holder.file.write(text: "child")) != nil
        // As at the end of its life.
        let isUnlocked = (try? holder.file.unlock()) != nil
        _exit(isWritten || isUnlocked ? 1 : 0)
      }
      var status: CInt = 0
      while waitpid(child, &status, 0) < 0 && errno == EINTR {}
      let isPinned = try File.open(path, .write).isLockedByAnother()
      _exit(status == 0 && isPinned && folder.contents("file") == [] ? 0 : 1)
    }
  }
}
