import Glibc
import MMLogSystem
import Testing
import TestSupport

@Suite("Files")
struct FileTests {
  let folder = TemporaryDirectory()

  @Test("a symbolic link at the name is refused")
  func symbolicLink() throws {
    folder.put("target")
    try #require(symlink(folder("target"), folder("link")) == 0)
    let error = failure { _ = try File.open(folder("link"), .read) }
    #expect(error == SystemError(call: .open, errno: ELOOP, path: folder("link")))
  }

  @Test("a file that is there is refused when it must be new")
  func exclusive() throws {
    folder.put("there", "kept")
    let error = failure { _ = try File.open(folder("there"), [.write, .create, .exclusive]) }
    #expect(error?.errno == EEXIST)
    #expect(folder.contents("there") == Array("kept".utf8))
  }

  @Test("a new file has the permissions asked for, and its descriptor is not inherited")
  func creation() throws {
    let file = try File.open(folder("new"), [.read, .write, .create, .exclusive], mode: 0o600)
    let status = try file.status()
    #expect(status.permissions == 0o600)
    #expect(status.isRegularFile && !status.isDirectory && !status.isSymbolicLink)
    #expect(status.owner == CurrentProcess.effectiveUserID)
    #expect((status.size, status.linkCount) == (0, 1))
    #expect(fcntl(file.descriptor, F_GETFD) & FD_CLOEXEC != 0)
  }

  @Test("what is opened is not taken for a standard stream that somebody has closed")
  func standardStreams() async {
    await #expect(processExitsWith: .success) {
      let folder = TemporaryDirectory()
      for stream in STDIN_FILENO...STDERR_FILENO { Glibc.close(stream) }
      let directory = try Directory.open(folder.path)
      let file = try directory.openFile("file", [.write, .create, .exclusive])
      let unnamed = try directory.makeUnnamedFile(for: "unnamed")
      let same = try File.open(folder("file"), .read)
      let copy = try File.duplicate(file.descriptor, path: "copy")
      let opened = [
        directory.descriptor, file.descriptor, unnamed.descriptor, same.descriptor,
        copy.descriptor,
      ]
      require(opened.allSatisfy { $0 > STDERR_FILENO })
      require(opened.allSatisfy { fcntl($0, F_GETFD) & FD_CLOEXEC != 0 })
      require((STDIN_FILENO...STDERR_FILENO).allSatisfy { fcntl($0, F_GETFD) == -1 })
    }
  }

  @Test("truncating empties, appending ignores the offset, a directory may be demanded")
  func options() throws {
    folder.put("file", "old")
    try File.open(folder("file"), [.write, .truncate]).write(text: "ab")
    try File.open(folder("file"), [.write, .append]).write(text: "c", at: 0)
    #expect(folder.contents("file") == Array("abc".utf8))
    #expect(failure { _ = try File.open(folder("file"), [.read, .directory]) }?.errno == ENOTDIR)
  }

  @Test("opening a pipe that nobody writes to does not wait, if asked")
  func nonBlocking() throws {
    try #require(mkfifo(folder("pipe"), 0o600) == 0)
    let status = try File.open(folder("pipe"), [.read, .nonBlocking]).status()
    #expect(!status.isRegularFile)
  }

  @Test("a path with a zero byte in it is refused, not cut")
  func zeroByte() throws {
    folder.put("a")
    #expect(failure { _ = try File.open(folder("a\0b"), .read) }?.errno == EINVAL)
  }

  @Test("what is written at an offset is read back there, up to the end of the file")
  func transfer() throws {
    let file = try File.open(folder("file"), [.read, .write, .create])
    try file.write(text: "hello", at: 3)
    #expect(try file.text(100) == "\0\0\0hello")
    #expect(try file.text(2, at: 4) == "el")
    #expect(try file.text(10, at: 8) == "")
  }

  @Test("a file says when it changed, how long it is and what it takes")
  func status() throws {
    let before = Clock.realtime()
    let file = try File.open(folder("file"), [.write, .create])
    try file.allocate(offset: 0, count: 100_000)
    let status = try file.status()
    #expect(status.size == 100_000)
    #expect(status.allocatedBytes >= 100_000)
    // The file system's clock is the kernel's last tick, at most some 10 ms old.
    #expect(status.modified > before - 1_000_000_000)
  }

  @Test("truncating cuts, and lengthens with zeros")
  func truncate() throws {
    folder.put("file", "abcdef")
    let file = try File.open(folder("file"), .write)
    try file.truncate(to: 2)
    try file.truncate(to: 4)
    #expect(folder.contents("file") == Array("ab\0\0".utf8))
    try file.sync()
    try file.syncData()
  }

  @Test("allocating keeps what the file holds")
  func allocate() throws {
    folder.put("file", "abc")
    try File.open(folder("file"), .write).allocate(offset: 1, count: 9)
    #expect(folder.contents("file") == Array("abc\0\0\0\0\0\0\0".utf8))
  }

  #if DEBUG
    /// A kernel that a signal interrupts may undo all that the call has done, each time.
    @Test("space is allocated in parts, so that a signal costs one of them")
    func allocateInParts() throws {
      let file = try File.open(folder("file"), [.write, .create])
      ForcedFault.force(.fallocate, errno: EINTR, onCall: 3, under: folder.path)
      ForcedFault.force(.fallocate, errno: EIO, onCall: .max, under: folder.path)
      defer { ForcedFault.clear(under: folder.path) }
      try file.allocate(offset: 100, count: 10 << 20)
      #expect(ForcedFault.passed(.fallocate, under: folder.path) == 4)
      #expect(try file.status().size == (10 << 20) + 100)
    }

    @Test("space is written where a filter of system calls refuses to allocate it")
    func allocateWithoutCall() throws {
      let file = try File.open(folder("file"), [.read, .write, .create])
      ForcedFault.force(.fallocate, errno: EPERM, onCall: 1, under: folder.path)
      defer { ForcedFault.clear(under: folder.path) }
      try file.allocate(offset: 0, count: 10)
      #expect(try file.status().size == 10)
    }
  #endif

  @Test("a file whose number another has by now is not closed")
  func numberOfAnother() throws {
    let other = try File.open(folder("other"), [.write, .create]).release()
    var file = try File.open(folder("file"), [.write, .create])
    try file.noteIdentity()
    let (number, wasOpen) = (file.descriptor, file.isStillOpen)
    #expect(dup2(other, number) == number)
    let isOpen = file.isStillOpen
    #expect(wasOpen && !isOpen)
    drop(file)
    #expect(fcntl(number, F_GETFD) != -1)
    Glibc.close(number)
    Glibc.close(other)
  }

  private func drop(_ file: consuming File) {}

  @Test("closing reports that the descriptor was bad")
  func close() throws {
    let error = failure(closing: File(adopting: CInt.max, path: "nowhere"))
    #expect(error == SystemError(call: .close, errno: EBADF, path: "nowhere"))
  }

  @Test("a duplicate is closed on its own, and a released descriptor stays open")
  func duplicate() throws {
    folder.put("file", "abc")
    let descriptor = try File.open(folder("file"), .read).release()
    try File.duplicate(descriptor, path: "copy").close()
    #expect(try File(adopting: descriptor, path: "file").text(3) == "abc")
  }

  @Test("what goes into a pipe comes out, also if the writer's end does not block")
  func pipe() throws {
    let ends = try makePipe(flags: O_NONBLOCK)
    _ = fcntl(ends.reading, F_SETFL, 0)
    let bytes = (0..<500_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let writer = try Thread(name: "pipe writer") {
      let file = File(adopting: ends.writing, path: "pipe")
      #expect(throws: Never.self) { try bytes.withUnsafeBytes { try file.writeFully($0) } }
    }
    let file = File(adopting: ends.reading, path: "pipe")
    var read: [UInt8] = []
    try withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
      while case let count = try file.read(into: buffer), count > 0 { read += buffer[..<count] }
    }
    writer.join()
    #expect(read == bytes)
  }

  @Test("a buffer is filled from a file, or from a pipe until its end")
  func fill() throws {
    folder.put("file", "from a file")
    let ends = try makePipe(flags: O_NONBLOCK)
    let writer = try Thread(name: "pipe writer") {
      let file = File(adopting: ends.writing, path: "pipe")
      #expect(throws: Never.self) {
        try Array("from a pipe".utf8).withUnsafeBytes { try file.writeFully($0) }
      }
    }
    try withUnsafeTemporaryAllocation(byteCount: 100, alignment: 1) { buffer in
      for (file, text) in [(true, "from a file"), (false, "from a pipe")] {
        let count =
          file
          ? try File.openFollowingLinks(folder("file")).readFully(into: buffer)
          : try File(adopting: ends.reading, path: "pipe").readFully(into: buffer)
        #expect(Array(buffer[..<count]) == Array(text.utf8))
      }
    }
    writer.join()
  }
}

@Suite("Limits of the process")
struct LimitTests {
  @Test("a file that reaches the limit of sizes is an error, and no signal, also not later")
  func fileSize() async {
    await #expect(processExitsWith: .exitCode(0)) {
      let folder = TemporaryDirectory()
      let file = try File.open(folder.path + "/file", [.read, .write, .create])
      var limit = rlimit(rlim_cur: 1000, rlim_max: rlim_t.max)
      setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
      var errors: [CInt?] = []
      // Also where the host blocks the signal itself.
      for how in [SIG_UNBLOCK, SIG_BLOCK] {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGXFSZ)
        pthread_sigmask(how, &set, nil)
        errors.append(failure { try file.write(text: "x", at: 1000) }?.errno)
        errors.append(failure { try file.truncate(to: 1001) }?.errno)
        errors.append(failure { try file.allocate(offset: 0, count: 1001) }?.errno)
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
      }
      exit(errors == Array(repeating: EFBIG, count: 6) ? 0 : 1)
    }
  }
}
