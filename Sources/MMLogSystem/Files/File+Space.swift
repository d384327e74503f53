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
  /// Where the file system cannot do that, every byte of the range is written instead, holes as
  /// zeros. Then nobody else may write to the range meanwhile, and the file has to be open for
  /// reading, too, if a part of the range is there already.
  /// - Throws: ENOSPC, EDQUOT: a part of the space may have been taken.
  package func allocate(offset: Int, count: Int) throws(SystemError) {
    // In parts: on tmpfs, a call that a signal interrupts is undone. A signal that comes again and
    // again would undo a single large call each time.
    for start in stride(from: offset, to: offset + count, by: Self.allocatedAtOnce) {
      try allocatePart(offset: start, count: min(Self.allocatedAtOnce, offset + count - start))
    }
  }

  /// Few enough bytes to take less time than a signal needs to come again.
  private static let allocatedAtOnce = 4 << 20

  private func allocatePart(offset: Int, count: Int) throws(SystemError) {
    do throws(SystemError) {
      _ = try retrying(.fallocate, path) {
        mmlog_fallocate(descriptor, Int64(offset), Int64(count))
      }
    } catch let error where error.isNotSupported || error.errno == EPERM {
      // EPERM: a filter of system calls (seccomp) does not know the call.
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
  /// - Throws: EIO and others: what was written since the last success may be lost, and a later
  ///   success says nothing about it.
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

  /// Lets the kernel begin to write a range to the disk, so that a later sync has less to wait for:
  /// sync_file_range(2). It makes nothing safe. The sync reports what cannot be written.
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
