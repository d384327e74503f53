import CMMLogCore
import Glibc

extension File {
  /// What the file system says about the file: fstat(2).
  package func status() throws(SystemError) -> FileStatus {
    var status = stat()
    _ = try retrying(.fstat, path) { fstat(descriptor, &status) }
    return FileStatus(status)
  }

  /// Cuts the file, or lengthens it with a hole, to `size` bytes: ftruncate(2).
  package func truncate(to size: Int) throws(SystemError) {
    _ = try retrying(.ftruncate, path) { mmlog_ftruncate(descriptor, Int64(size)) }
  }

  /// Makes sure that writing to `count` bytes from `offset` finds room, and that the file reaches
  /// their end; what the file holds stays: fallocate(2).
  ///
  /// Where the file system cannot, every byte of the range is written instead, a hole as zeros;
  /// then nobody else may write to the range meanwhile, and a part of the file that is already
  /// there has to be open for reading too.
  /// - Throws: ENOSPC, EDQUOT: a part of the space may have been taken.
  package func allocate(offset: Int, count: Int) throws(SystemError) {
    // In parts: on tmpfs, a call that a signal interrupts is undone. A signal that comes again and
    // again would undo the whole each time.
    for start in stride(from: offset, to: offset + count, by: Self.allocatedAtOnce) {
      try allocatePart(offset: start, count: min(Self.allocatedAtOnce, offset + count - start))
    }
  }

  /// So few bytes that they take less time than a signal needs to come again.
  private static let allocatedAtOnce = 4 << 20

  private func allocatePart(offset: Int, count: Int) throws(SystemError) {
    do throws(SystemError) {
      _ = try retrying(.fallocate, path) {
        mmlog_fallocate(descriptor, Int64(offset), Int64(count))
      }
    } catch let error where error.isNotSupported || error.errno == EPERM {
      // EPERM: a filter of system calls (seccomp) that does not know it.
      try fill(offset: offset, count: count)
    }
  }

  /// Writes zeros: pwrite(2).
  ///
  /// - Throws: as ``writeFully(_:at:)``.
  package func writeZeros(offset: Int, count: Int) throws(SystemError) {
    let zeros = UnsafeMutableRawBufferPointer.allocate(byteCount: 65536, alignment: 16)
    defer { zeros.deallocate() }
    zeros.initializeMemory(as: UInt8.self, repeating: 0)
    for position in stride(from: offset, to: offset + count, by: zeros.count) {
      let part = zeros[..<min(zeros.count, offset + count - position)]
      try writeFully(UnsafeRawBufferPointer(rebasing: part), at: position)
    }
  }

  /// Waits until the file's contents and properties are on the disk: fsync(2).
  ///
  /// - Throws: EIO and others: what was written since the last success may be lost, and trying
  ///   again says nothing about it.
  package func sync() throws(SystemError) {
    _ = try retrying(.fsync, path) { fsync(descriptor) }
  }

  /// Waits until the file's contents, and what it takes to find them, are on the disk:
  /// fdatasync(2).
  ///
  /// - Throws: as ``sync()``.
  package func syncData() throws(SystemError) {
    _ = try retrying(.fdatasync, path) { fdatasync(descriptor) }
  }

  /// Has the kernel begin to write a range to the disk, so that a later sync has less to wait for:
  /// sync_file_range(2). It makes nothing safe. What cannot be written, the sync reports.
  package func beginWriteBack(of range: Range<Int>) {
    _ = try? retrying(.syncFileRange, path) {
      mmlog_begin_write_back(descriptor, Int64(range.lowerBound), Int64(range.count))
    }
  }

  /// Writes the range as it is, zeros past the end, chunk by chunk.
  private func fill(offset: Int, count: Int) throws(SystemError) {
    let size = try status().size
    let chunk = UnsafeMutableRawBufferPointer.allocate(byteCount: 65536, alignment: 16)
    defer { chunk.deallocate() }
    var position = offset
    while position < offset + count {
      let part = UnsafeMutableRawBufferPointer(
        rebasing: chunk[..<min(chunk.count, offset + count - position)])
      part.initializeMemory(as: UInt8.self, repeating: 0)
      if position < size { _ = try readFully(into: part, at: position) }
      try writeFully(UnsafeRawBufferPointer(part), at: position)
      position += part.count
    }
  }
}
