package import MMLogSystem

extension File {
  /// Up to `count` bytes from `offset`, fewer at the end of the file.
  package borrowing func bytes(at offset: Int, count: Int) throws(SystemError) -> [UInt8] {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 8)
    defer { buffer.deallocate() }
    let read = try readFully(into: buffer, at: offset)
    return Array(buffer[..<read])
  }

  /// Writes all of `bytes` at `offset`.
  package borrowing func write(all bytes: [UInt8], at offset: Int) throws(SystemError) {
    // Not `withUnsafeBytes`, which does not pass on what type of error it rethrows.
    try bytes.withUnsafeBufferPointer { (bytes) throws(SystemError) in
      try writeFully(UnsafeRawBufferPointer(bytes), at: offset)
    }
  }

  /// Writes what a range has to the same place again, and waits until it is on the disk:
  /// fdatasync(2).
  ///
  /// After a sync that failed, for whomever, the kernel may have bytes in memory that are not on
  /// the disk, and takes them for synced. A page that cannot be read is passed over: the kernel
  /// does not have it in memory. So are holes.
  package borrowing func writeAgain(_ range: Range<Int>) throws(SystemError) {
    let page = Host.pageSize
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: page, alignment: 8)
    defer { buffer.deallocate() }
    var offset = range.lowerBound
    while offset < range.upperBound {
      let next = min(range.upperBound, (offset / page + 1) * page)
      let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<(next - offset)])
      do throws(SystemError) {
        let count = try readFully(into: part, at: offset)
        let bytes = UnsafeRawBufferPointer(rebasing: part[..<count])
        if bytes.isZero {
          guard let data = try nextData(from: offset) else { break }
          if data >= next {
            offset = max(next, data / page * page)
            continue
          }
        }
        try writeFully(bytes, at: offset)
      } catch  where error.call == .pread && error.isOfDisk {}
      offset = next
    }
    try syncData()
  }
}
