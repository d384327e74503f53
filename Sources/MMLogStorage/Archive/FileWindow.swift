import MMLogSystem

/// Reads parts of a file through one buffer, so that small parts cost one call if they are close
/// together, and little if they are far apart.
struct FileWindow {
  private let size: Int
  private var buffer: [UInt8] = []
  private var start = 0

  init(size: Int) { self.size = size }

  /// `count` bytes of `file` at an offset, or nil if it ends before.
  mutating func bytes(
    _ file: borrowing File, _ offset: Int, _ count: Int
  ) throws(SystemError) -> ArraySlice<UInt8>? {
    guard count <= size - offset else { return nil }
    if offset < start || offset + count > start + buffer.count {
      // Headers of large frames are far apart. A header that is near follows a small frame, and the
      // next frames may be small, too.
      let isNear = offset >= start && offset - (start + buffer.count) < 1 << 12
      try fill(file, offset, max(count, isNear ? 1 << 14 : 1 << 9))
    }
    guard offset + count <= start + buffer.count else { return nil }
    return buffer[offset - start..<offset - start + count]
  }

  private mutating func fill(
    _ file: borrowing File, _ offset: Int, _ count: Int
  ) throws(SystemError) {
    buffer = try file.bytes(at: offset, count: min(count, size - offset))
    start = offset
  }
}
