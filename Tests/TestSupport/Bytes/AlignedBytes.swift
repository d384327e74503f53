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

extension [UInt8] {
  /// A copy with one bit flipped.
  package func flipping(bit: Int) -> [UInt8] {
    var copy = self
    copy[bit / 8] ^= 1 << (bit % 8)
    return copy
  }

  /// The bytes in aligned memory, for a decoder.
  package func read<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let memory = AlignedBytes(self)
    return try withExtendedLifetime(memory) { () throws(Failure) in try body(memory.bytes) }
  }
}
