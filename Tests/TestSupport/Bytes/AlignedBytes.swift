/// A copy of bytes in memory that is aligned to words, as a map or a frame's payload is.
package final class AlignedBytes {
  package let bytes: UnsafeRawBufferPointer

  package init(_ copied: some Collection<UInt8>) {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: copied.count, alignment: 8)
    copy.copyBytes(from: copied)
    bytes = UnsafeRawBufferPointer(copy)
  }

  package convenience init(words: [UInt64]) {
    self.init(words.withUnsafeBytes { Array($0) })
  }

  deinit { bytes.deallocate() }
}
