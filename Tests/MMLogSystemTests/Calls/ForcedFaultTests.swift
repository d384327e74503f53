#if DEBUG
  import Glibc
  import MMLogSystem
  import TestSupport
  import Testing

  /// A wrapper and the call behind it, in a folder that holds `file` with eight bytes.
  struct Wrapper: Sendable, CustomTestStringConvertible {
    let call: SystemCall
    let name: String
    let run: @Sendable (_ folder: String) throws -> Void

    var testDescription: String { "\(name) (\(call.rawValue))" }

    init(_ call: SystemCall, _ name: String, _ run: @escaping @Sendable (String) throws -> Void) {
      (self.call, self.name, self.run) = (call, name, run)
    }

    static func ofFile(
      _ call: SystemCall, _ name: String, _ run: @escaping @Sendable (borrowing File) throws -> Void
    ) -> Wrapper {
      Wrapper(call, name) { try run(File.open("\($0)/file", [.read, .write])) }
    }

    static func ofDirectory(
      _ call: SystemCall, _ name: String,
      _ run: @escaping @Sendable (borrowing Directory) throws -> Void
    ) -> Wrapper {
      Wrapper(call, name) { try run(Directory.open($0)) }
    }

    static func ofMapping(
      _ call: SystemCall, _ name: String,
      _ run: @escaping @Sendable (borrowing Mapping) throws -> Void
    ) -> Wrapper {
      ofFile(call, name) { try run(Mapping($0, count: 8)) }
    }

    static let all = [
      Wrapper(.open, "File.open") { _ = try File.open("\($0)/file", .read) },
      Wrapper(.open, "Directory.open") { _ = try Directory.open($0) },
      Wrapper(.mkdir, "Directory.create") { try Directory.create("\($0)/new") },
      Wrapper(.dup, "File.duplicate") { _ = try File.duplicate(0, path: $0) },
      Wrapper(.close, "File.close") { try File.open("\($0)/file", .read).close() },
      .ofFile(.pread, "read at") { _ = try $0.text(4) },
      .ofFile(.pwrite, "write at") { try $0.write(text: "x") },
      .ofFile(.read, "read") { file in
        _ = try withUnsafeTemporaryAllocation(byteCount: 4, alignment: 1) {
          try file.read(into: $0)
        }
      },
      .ofFile(.write, "write") { file in
        try withUnsafeBytes(of: 1) { try file.writeFully($0) }
      },
      .ofFile(.fstat, "status") { _ = try $0.status() },
      .ofFile(.ftruncate, "truncate") { try $0.truncate(to: 8) },
      .ofFile(.fallocate, "allocate") { try $0.allocate(offset: 0, count: 8) },
      .ofFile(.fsync, "sync") { try $0.sync() },
      .ofFile(.fdatasync, "syncData") { try $0.syncData() },
      .ofFile(.fcntlLock, "tryLock") { _ = try $0.tryLock() },
      .ofFile(.fcntlUnlock, "unlock") { try $0.unlock() },
      .ofFile(.fcntlGetLock, "isLockedByAnother") { _ = try $0.isLockedByAnother() },
      .ofFile(.fsetxattr, "setAttribute") { try $0.setAttribute("user.mmlog.x", [1]) },
      .ofFile(.fgetxattr, "attribute") { _ = try $0.attribute("user.mmlog.x") },
      .ofFile(.fremovexattr, "removeAttribute") { try $0.removeAttribute("user.mmlog.x") },
      .ofDirectory(.openat, "openFile") { _ = try $0.openFile("file", .read) },
      .ofDirectory(.openat, "openDirectory") { _ = try $0.openDirectory(".") },
      .ofDirectory(.openat, "names") { _ = try $0.names() },
      .ofDirectory(.readdir, "names") { _ = try $0.names() },
      .ofDirectory(.flock, "tryLock") { _ = try $0.tryLock() },
      .ofDirectory(.mkdirat, "makeDirectory") { try $0.makeDirectory("new") },
      .ofDirectory(.fstatat, "status of") { _ = try $0.status(of: "file") },
      .ofDirectory(.unlinkat, "remove") { try $0.remove("file") },
      .ofDirectory(.unlinkat, "removeDirectory") {
        try $0.makeDirectory("new")
        try $0.removeDirectory("new")
      },
      .ofDirectory(.renameat, "rename") { try $0.rename("file", to: "other") },
      .ofDirectory(.fsync, "sync") { try $0.sync() },
      .ofDirectory(.fstatvfs, "freeSpace") { _ = try $0.freeSpace() },
      .ofMapping(.mmap, "Mapping.init") { _ in },
      .ofMapping(.madvise, "populateForWriting") { try $0.populateForWriting(offset: 0, count: 8) },
    ]
  }

  @Suite("Forced errors")
  struct ForcedFaultTests {
    let folder = TemporaryDirectory()

    init() { folder.put("file", "12345678") }

    @Test("every wrapper throws what its call fails with", arguments: Wrapper.all)
    func forced(wrapper: Wrapper) throws {
      ForcedFault.force(wrapper.call, errno: EIO, under: folder.path)
      let error = try #require(failure { try wrapper.run(folder.path) })
      #expect((error.call, error.errno) == (wrapper.call, EIO))
      #expect(error.path.hasPrefix(folder.path))
      #expect(folder.contents("file") == Array("12345678".utf8), "nothing was done")
    }

    @Test("every wrapper goes on when a signal interrupts its call", arguments: Wrapper.all)
    func interrupted(wrapper: Wrapper) {
      ForcedFault.force(wrapper.call, errno: EINTR, times: 3, under: folder.path)
      defer { ForcedFault.clear(under: folder.path) }
      #expect(failure { try wrapper.run(folder.path) } == nil)
    }

    @Test("a file whose closing fails is closed, and its lock gone", arguments: [EIO, EINTR])
    func closeFails(code: CInt) throws {
      let holder = try File.open(folder("file"), .write)
      let other = try File.open(folder("file"), .write)
      #expect(try holder.tryLock())
      ForcedFault.force(.close, errno: code, under: folder.path)
      let error = failure(closing: holder)
      #expect(error?.errno == (code == EIO ? EIO : nil))
      // A child that another test starts has a copy of the file until it runs its own program.
      #expect(try eventually { try other.tryLock() })
    }

    @Test("the n-th call fails, and as many after it as asked for")
    func onCall() throws {
      let file = try File.open(folder("file"), .write)
      ForcedFault.force(.fsync, errno: ENOSPC, onCall: 3, times: 2, under: folder.path)
      let outcomes = (0..<6).map { _ in failure { try file.sync() }?.errno ?? 0 }
      #expect(outcomes == [0, 0, ENOSPC, ENOSPC, 0, 0])
    }

    @Test("a fault meets its own prefix only, until it is cleared")
    func prefixes() throws {
      let other = TemporaryDirectory()
      ForcedFault.force(.open, errno: EIO, times: .max, under: folder.path)
      #expect(failure { _ = try File.open(other.put("file"), .read) } == nil)
      #expect(failure { _ = try File.open(folder("file"), .read) }?.errno == EIO)
      #expect(failure { _ = try File.open(folder("file"), .read) }?.errno == EIO)
      ForcedFault.clear(under: folder.path)
      #expect(failure { _ = try File.open(folder("file"), .read) } == nil)
    }

    @Test("short reads and writes are continued")
    func short() throws {
      let file = try File.open(folder("file"), [.read, .write])
      ForcedFault.forceShort(.pwrite, count: 3, times: .max, under: folder.path)
      ForcedFault.forceShort(.pread, count: 2, times: .max, under: folder.path)
      ForcedFault.forceShort(.write, count: 1, times: .max, under: folder.path)
      defer { ForcedFault.clear(under: folder.path) }
      #expect(try withUnsafeBytes(of: UInt64(0)) { try file.write($0, at: 0) } == 3)
      try file.write(text: "abcdefghij", at: 2)
      #expect(try file.text(12) == "\0\0abcdefghij")
      try withUnsafeBytes(of: (UInt8(ascii: "X"), UInt8(ascii: "Y"))) { try file.writeFully($0) }
      #expect(try file.text(3) == "XYa")
    }

    @Test("a device that takes nothing is an error, not a loop for ever")
    func nothingTaken() throws {
      let file = try File.open(folder("file"), .write)
      ForcedFault.forceShort(.pwrite, count: 0, under: folder.path)
      #expect(failure { try file.write(text: "x") }?.errno == EIO)
    }

    @Test("a full disk in the middle of a write is reported")
    func fullDisk() throws {
      let file = try File.open(folder("file"), .write)
      ForcedFault.forceShort(.pwrite, count: 2, under: folder.path)
      ForcedFault.force(.pwrite, errno: ENOSPC, onCall: 2, under: folder.path)
      #expect(failure { try file.write(text: "abcd") }?.isOutOfSpace == true)
      #expect(folder.contents("file") == Array("ab345678".utf8))
    }

    @Test("where the file system cannot allocate, zeros are written and what is there stays")
    func allocateByWriting() throws {
      let file = try File.open(folder("file"), [.read, .write])
      try file.truncate(to: 70_000)
      try file.write(text: "end", at: 69_997)
      ForcedFault.force(.fallocate, errno: EOPNOTSUPP, under: folder.path)
      try file.allocate(offset: 4, count: 200_000)
      var expected = [UInt8](repeating: 0, count: 200_004)
      expected.replaceSubrange(0..<8, with: Array("12345678".utf8))
      expected.replaceSubrange(69_997..<70_000, with: Array("end".utf8))
      #expect(folder.contents("file") == expected)
    }

    @Test("a full disk while zeros are written is reported")
    func allocateByWritingOnFullDisk() throws {
      let file = try File.open(folder("file"), [.read, .write])
      ForcedFault.force(.fallocate, errno: EOPNOTSUPP, under: folder.path)
      ForcedFault.force(.pwrite, errno: ENOSPC, onCall: 2, under: folder.path)
      let error = failure { try file.allocate(offset: 0, count: 200_000) }
      #expect(error == SystemError(call: .pwrite, errno: ENOSPC, path: folder("file")))
    }
  }
#endif
