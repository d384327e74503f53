import MMLogFormat
package import MMLogSystem

extension File {
  /// The CRC32C state over a range of the file, as far as the file goes.
  package borrowing func checksumState(of range: Range<Int>) throws(SystemError) -> UInt32 {
    let buffer = UnsafeMutableRawBufferPointer.allocate(
      byteCount: min(range.count, 1 << 18) + 1, alignment: 8)
    defer { buffer.deallocate() }
    var (state, offset) = (UInt32.max, range.lowerBound)
    while offset < range.upperBound {
      let part = buffer[..<min(buffer.count, range.upperBound - offset)]
      let count = try readFully(into: UnsafeMutableRawBufferPointer(rebasing: part), at: offset)
      if count == 0 { break }
      state = crc32cState(state, UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      offset += count
    }
    return state
  }
}
