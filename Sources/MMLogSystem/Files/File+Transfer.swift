import CMMLogCore
import Glibc

extension File {
  /// Reads from a place in the file: pread(2).
  ///
  /// - Parameter offset: in bytes from the start; the file's own position stays where it is.
  /// - Returns: how many bytes were read: maybe fewer than asked for, 0 at the end.
  package func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: Int
  ) throws(SystemError) -> Int {
    try retrying(.pread, path, count: buffer.count) { count in
      pread(descriptor, buffer.baseAddress, count, off_t(offset))
    }
  }

  /// Reads from a place in the file until `buffer` is full or the file ends: pread(2), repeated.
  ///
  /// - Returns: how many bytes were read: fewer than the buffer has only at the end.
  package func readFully(
    into buffer: UnsafeMutableRawBufferPointer, at offset: Int
  ) throws(SystemError) -> Int {
    var done = 0
    while done < buffer.count {
      let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
      let count = try read(into: rest, at: offset + done)
      if count == 0 { break }
      done += count
    }
    return done
  }

  /// Fills a buffer with the beginning of a file, or with what comes through a pipe.
  ///
  /// - Returns: how many bytes were read: fewer than there is room for only at the end.
  package func readFully(
    into buffer: UnsafeMutableRawBufferPointer
  ) throws(SystemError) -> Int {
    do throws(SystemError) {
      return try readFully(into: buffer, at: 0)
    } catch  where error.errno == ESPIPE {}
    try makeBlocking()
    var done = 0
    while done < buffer.count {
      let count = try read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[done...]))
      if count == 0 { break }
      done += count
    }
    return done
  }

  /// Reads on from where the last read ended: read(2), for pipes and terminals.
  ///
  /// - Returns: how many bytes were read: maybe fewer than asked for, 0 at the end.
  /// - Throws: EAGAIN where the descriptor does not block and nothing is there.
  package func read(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int {
    try retrying(.read, path, count: buffer.count) { count in
      Glibc.read(descriptor, buffer.baseAddress, count)
    }
  }

  /// Writes at a place in the file with one call: pwrite(2).
  ///
  /// - Returns: how many bytes were written: maybe fewer than asked for.
  package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) -> Int {
    try retrying(.pwrite, path, count: bytes.count) { count in
      mmlog_pwrite(descriptor, bytes.baseAddress, count, Int64(offset))
    }
  }

  /// Writes all of `bytes` at a place in the file: pwrite(2), repeated.
  ///
  /// - Throws: the first error; a part may have been written before it.
  package func writeFully(
    _ bytes: UnsafeRawBufferPointer, at offset: Int
  ) throws(SystemError) {
    var done = 0
    while done < bytes.count {
      let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
      done += try progress(write(rest, at: offset + done), .pwrite)
    }
  }

  /// Writes all of `bytes` after what was written last: write(2), repeated; for pipes and
  /// terminals.
  ///
  /// Waits while a descriptor that does not block takes no more. Standard output may be one:
  /// another process that has it may have made it so.
  /// - Throws: the first error; a part may have been written before it.
  package func writeFully(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
    var done = 0
    while done < bytes.count {
      let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
      do throws(SystemError) {
        done += try progress(writeOnce(rest), .write)
      } catch let error where error.errno == EAGAIN {
        try waitUntilWritable()
      }
    }
  }

  /// Writes with one call, after what was written last: write(2).
  ///
  /// - Returns: how many bytes were written: maybe fewer than asked for.
  package func writeOnce(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Int {
    try retrying(.write, path, count: bytes.count) { count in
      Glibc.write(descriptor, bytes.baseAddress, count)
    }
  }

  /// A write of nothing must not be tried for ever. Regular files have no such writes; drivers may.
  private func progress(_ count: Int, _ call: SystemCall) throws(SystemError) -> Int {
    if count == 0 { throw SystemError(call: call, errno: EIO, path: path) }
    return count
  }

  private func waitUntilWritable() throws(SystemError) {
    var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    _ = try retrying(.poll, path) { poll(&request, 1, -1) }
  }

  /// Waits until nobody is at the other end, as at that of a pipe without a reader: poll(2). A
  /// regular file has no other end.
  ///
  /// - Parameter milliseconds: How long to wait at most.
  /// - Returns: Whether nobody is at the other end.
  package func waitForHangup(milliseconds: CInt) throws(SystemError) -> Bool {
    var request = pollfd(fd: descriptor, events: 0, revents: 0)
    return try retrying(.poll, path) { poll(&request, 1, milliseconds) } > 0
  }
}
