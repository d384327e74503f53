import Glibc

/// Everything that happened to the files of a folder, by a clock that counts what was observed.
struct History {
  /// A value that something got at a time, and had until the next version.
  struct Version<Value> {
    let time: Int
    let value: Value
  }

  /// A sync that was completed: what was there when it began is safe once it has ended.
  struct Sync {
    let began: Int
    let ended: Int
  }

  var now = 0
  var files: [RecordedFile] = []
  /// Which name led to which file.
  var names: [Version<[String: Int]>] = []
  var nameSyncs: [Sync] = []
  var requirements: [Requirement] = []
}

extension [History.Sync] {
  /// The time up to which everything was safe at a given time; 0: only what was there at the
  /// beginning.
  func floor(at time: Int) -> Int {
    reduce(0) { $1.ended <= time ? Swift.max($0, $1.began) : $0 }
  }
}

/// What has to survive from a moment on.
struct Requirement {
  let time: Int
  /// How many records of each lane.
  let counts: [Int]
  /// Only records of at least this level count.
  let level: UInt8
}

/// A file as it changed, page by page.
final class RecordedFile {
  static let pageSize = 4096
  typealias Page = [UInt8]

  /// Kept open, so that no other file gets the inode, and the contents can be read when the file
  /// has no name any more.
  let descriptor: CInt
  let inode: ino_t
  let isRing: Bool
  private(set) var pages: [[History.Version<Page>]] = []
  private(set) var sizes: [History.Version<Int>] = []
  var syncs: [History.Sync] = []
  var syncBegan: Int?

  init(descriptor: CInt, inode: ino_t, isRing: Bool) {
    (self.descriptor, self.inode, self.isRing) = (descriptor, inode, isRing)
  }

  deinit { close(descriptor) }

  /// Notes what has changed since the last time.
  func scan(_ time: Int) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { fatalError("fstat: errno \(errno)") }
    let size = Int(status.st_size)
    if sizes.last?.value != size { sizes.append(.init(time: time, value: size)) }
    let count = (size + Self.pageSize - 1) / Self.pageSize
    while pages.count < count { pages.append([]) }
    let buffer = UnsafeMutableRawBufferPointer.allocate(
      byteCount: count * Self.pageSize, alignment: 16)
    defer { buffer.deallocate() }
    buffer.initializeMemory(as: UInt8.self, repeating: 0)
    guard pread(descriptor, buffer.baseAddress, size, 0) <= size else { return }
    for index in 0..<count { scan(index, buffer, time) }
  }

  private func scan(_ index: Int, _ buffer: UnsafeMutableRawBufferPointer, _ time: Int) {
    let start = index * Self.pageSize
    let page = UnsafeRawBufferPointer(rebasing: buffer[start..<start + Self.pageSize])
    let isSame = pages[index].last?.value.withUnsafeBytes { last in
      guard let last = last.baseAddress, let page = page.baseAddress else { return false }
      return memcmp(last, page, Self.pageSize) == 0
    }
    if isSame != true { pages[index].append(.init(time: time, value: Array(page))) }
  }
}
