import CMMLogCore
import Glibc

/// Memory of this process's own that is zero, and takes room only where other bytes were put: for
/// the contents of a file that may be mostly holes.
package final class SparseMemory {
  /// The memory; valid for as long as this object.
  package let bytes: UnsafeMutableRawBufferPointer

  /// How many bytes are read at a time.
  private static let chunkSize = 1 << 18
  private let chunk: UnsafeMutableRawBufferPointer

  /// - Parameter count: How large it is, in bytes; more than 0.
  /// - Throws: ENOMEM if there are not so many addresses.
  package init(_ count: Int) throws(SystemError) {
    #if DEBUG
      if case .errno = ForcedFault.next(.mmap, "") { throw PrivateMemory.refusal }
    #endif
    guard let base = mmlog_sparse_allocate(count) else { throw PrivateMemory.refusal }
    bytes = UnsafeMutableRawBufferPointer(start: base, count: count)
    chunk = .allocate(byteCount: min(Self.chunkSize, count), alignment: 64)
  }

  /// The bytes of a range; valid for as long as this object.
  package subscript(range: Range<Int>) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: bytes[range])
  }

  deinit {
    chunk.deallocate()
    if let base = bytes.baseAddress { PrivateMemory.free(base, count: bytes.count) }
  }

  /// Reads a range of a file to the same place here: pread(2), repeated. Nothing of the range was
  /// read before, or it was cleared since.
  ///
  /// Bytes that the file does not have stay zero.
  ///
  /// - Parameter untilZeros: Whether 256 KiB of zeros in a row are the end.
  /// - Returns: Up to where it has read; behind that, all is zero.
  @discardableResult
  package func read(
    _ file: borrowing File, _ range: Range<Int>, untilZeros: Bool = false
  ) throws(SystemError) -> Int {
    var offset = range.lowerBound
    while offset < range.upperBound {
      let part = UnsafeMutableRawBufferPointer(
        rebasing: chunk[..<min(chunk.count, range.upperBound - offset)])
      let count = try file.readFully(into: part, at: offset)
      let found = UnsafeRawBufferPointer(rebasing: part[..<count])
      if untilZeros, found.isZero { return offset }
      put(found, at: offset)
      offset += count
      if count < part.count { return offset }
    }
    return offset
  }

  /// Makes the whole pages of a range zero again, so that they take no memory until the range is
  /// read again.
  package func clear(_ range: Range<Int>) {
    let page = Host.pageSize
    let start = (range.lowerBound + page - 1) & ~(page - 1)
    let end = range.upperBound & ~(page - 1)
    guard start < end, let base = bytes.baseAddress else { return }
    PrivateMemory.clear(base + start, count: end - start)
  }

  /// Puts bytes where zeros are, page by page, and leaves out pages of zeros.
  private func put(_ source: UnsafeRawBufferPointer, at offset: Int) {
    let page = Host.pageSize
    var start = 0
    while start < source.count {
      let end = min(source.count, ((offset + start) & ~(page - 1)) + page - offset)
      let part = UnsafeRawBufferPointer(rebasing: source[start..<end])
      if !part.isZero {
        UnsafeMutableRawBufferPointer(rebasing: bytes[(offset + start)...]).copyMemory(from: part)
      }
      start = end
    }
  }
}

extension UnsafeRawBufferPointer {
  /// Whether all bytes are zero.
  package var isZero: Bool {
    guard let baseAddress, count > 0 else { return true }
    return self[0] == 0 && memcmp(baseAddress, baseAddress + 1, count - 1) == 0
  }
}
