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
}
