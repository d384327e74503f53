import CMMLogCore
import Glibc
import MMLogSystem
import Testing
import TestSupport

@Suite("Sparse memory")
struct SparseMemoryTests {
  let folder = TemporaryDirectory()

  @Test("holds what was read, each byte in its place, and takes no pages for zeros")
  func reading() throws {
    let page = Host.pageSize
    var contents = [UInt8](repeating: 0, count: 40 * page + 100)
    for place in [0, page - 1, 7 * page + 5, 40 * page + 99] { contents[place] = 9 }
    folder.put("file", String(decoding: contents, as: UTF8.self))
    let memory = try SparseMemory(50 * page)
    let file = try File.open(folder("file"), .read)
    try memory.read(file, 0..<3)
    try memory.read(file, 3..<20 * page + 1)
    try memory.read(file, 20 * page + 1..<50 * page)
    #expect(memory.bytes.prefix(contents.count).elementsEqual(contents))
    #expect(memory.bytes.dropFirst(contents.count).allSatisfy { $0 == 0 })
    let fresh = try SparseMemory(50 * page)
    try fresh.read(file, 0..<50 * page)
    var pages = [UInt8](repeating: 0, count: 50)
    try #require(mincore(fresh.bytes.baseAddress, 50 * page, &pages) == 0)
    #expect(pages.indices.filter { pages[$0] & 1 != 0 } == [0, 7, 40])
  }

  @Test("a range that was cleared takes no pages, and can be read again")
  func clearing() throws {
    let page = Host.pageSize
    let contents = [UInt8](repeating: 9, count: 8 * page)
    folder.put("file", contents)
    let file = try File.open(folder("file"), .read)
    let memory = try SparseMemory(8 * page)
    try memory.read(file, 0..<8 * page)
    // The first and the last page are not cleared: something else may be in them.
    let range = 2 * page + 5..<6 * page + 5
    memory.clear(range)
    var pages = [UInt8](repeating: 0, count: 8)
    try #require(mincore(memory.bytes.baseAddress, 8 * page, &pages) == 0)
    #expect(pages.indices.filter { pages[$0] & 1 == 0 } == [3, 4, 5])
    try memory.read(file, range)
    #expect(memory.bytes.elementsEqual(contents))
  }

  @Test("memory that the kernel refuses leaves errno as it was")
  func refused() {
    errno = 77
    #expect(mmlog_sparse_allocate(1 << 62) == nil)
    #expect(errno == 77)
  }

  @Test("the next place with something in it is found where the file system knows of holes")
  func holes() throws {
    let file = try File.open(folder("file"), [.read, .write, .create])
    try file.write(text: "a", at: 1 << 20)
    try file.truncate(to: 1 << 30)
    let found = try file.nextData(from: 8)
    #expect(found == 8 || found == 1 << 20)
    let end = try file.nextData(from: 1 << 29)
    #expect(end == nil || end == 1 << 29)
  }
}
