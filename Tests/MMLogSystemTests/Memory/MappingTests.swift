import Glibc
import MMLogSystem
import Testing
import TestSupport

@Suite("Mappings")
struct MappingTests {
  let folder = TemporaryDirectory()
  private let page = Host.pageSize

  /// A file of `count` zeros, open for both.
  private func file(_ count: Int) throws -> File {
    let file = try File.open(folder("file"), [.read, .write, .create, .exclusive])
    try file.allocate(offset: 0, count: count)
    return file
  }

  @Test("what is stored in a mapping is in the file")
  func store() throws {
    let file = try file(3 * page)
    let map = try Mapping(file, count: 3 * page)
    try map.populateForWriting(offset: 5, count: 2 * page)
    map.base.storeBytes(of: 0x6f6c_6c65, toByteOffset: page, as: UInt32.self)
    #expect(try file.text(4, at: page) == "ello")
  }

  @Test("a mapping of a part shows what is written to the file")
  func part() throws {
    let file = try file(2 * page)
    let map = try Mapping(file, count: page)
    try file.write(text: "x", at: page - 1)
    #expect(map.base.load(fromByteOffset: page - 1, as: UInt8.self) == UInt8(ascii: "x"))
    #expect(map.count == page)
  }

  @Test("populating keeps what is there")
  func populate() throws {
    let file = try file(page)
    try file.write(text: "kept")
    let map = try Mapping(file, count: page)
    try map.populateForWriting(offset: 0, count: page)
    #expect(try file.text(4) == "kept")
  }

  @Test("populating beyond the end of the file is an error, not a signal")
  func populateBeyondEnd() throws {
    let map = try Mapping(try file(page), count: 2 * page)
    #expect(failure { try map.populateForWriting(offset: 0, count: 2 * page) }?.errno == EFAULT)
  }

  @Test("a mapping of nothing is refused")
  func nothing() throws {
    let file = try file(page)
    #expect(failure { _ = try Mapping(file, count: 0) }?.errno == EINVAL)
  }

  @Test("a mapping goes with its owner")
  func lifetime() throws {
    let file = try file(page)
    do {
      let map = try Mapping(file, count: page)
      #expect(try isMapped(map.path))
      _ = consume map
    }
    #expect(try !isMapped(file.path))
  }

  @Test("a mapping replaced by private memory no longer reaches the file, and reads zero")
  func replaced() throws {
    let file = try file(page)
    try file.write(text: "old")
    let map = try Mapping(file, count: page)
    let isReplaced = Mapping.replaceWithPrivateMemory(map.base, count: map.count)
    #expect(isReplaced)
    #expect(map.base.load(as: UInt8.self) == 0)
    map.base.storeBytes(of: UInt8(ascii: "X"), as: UInt8.self)
    #expect(try file.text(3) == "old")
    #expect(try !isMapped(file.path))
  }

  #if DEBUG
    @Test("a kernel that cannot populate is no error")
    func oldKernel() throws {
      let map = try Mapping(try file(page), count: page)
      ForcedFault.force(.madvise, errno: EINVAL, under: folder.path)
      #expect(throws: Never.self) { try map.populateForWriting(offset: 0, count: page) }
    }
  #endif

  #if DEBUG
    /// The line of smaps that says how much of a mapped file is dirty.
    private static func dirty(_ path: String) throws -> Substring? {
      let maps = try kernelText("/proc/self/smaps").split(separator: "\n")
      return maps.drop { !$0.hasSuffix(path) }
        .first { $0.contains("_Dirty") && !$0.hasSuffix(" 0 kB") }
    }

    @Test("where the kernel cannot populate pages they are stored to, and keep what they hold")
    func populateByHand() throws {
      let folder = TemporaryDirectory()
      let file = try File.open(folder.path + "/file", [.read, .write, .create])
      try file.allocate(offset: 0, count: 3 * Host.pageSize)
      try file.write(text: "here", at: Host.pageSize)
      let mapping = try Mapping(file, count: 3 * Host.pageSize)
      ForcedFault.force(.madvise, errno: EINVAL, times: .max, under: folder.path)
      defer { ForcedFault.clear(under: folder.path) }
      // Again where the kernel has written the pages to the disk meanwhile.
      let areDirty = try eventually {
        try mapping.populateForWriting(offset: 0, count: mapping.count)
        return try Self.dirty(folder("file"))?.hasSuffix(" \(3 * Host.pageSize / 1024) kB") == true
      }
      #expect(areDirty)
      #expect(try file.text(4, at: Host.pageSize) == "here")
    }
  #endif
}
