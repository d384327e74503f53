import CMMLogCore
import Glibc

/// Random bytes from the kernel.
package enum Random {
  /// Fills `buffer` with bytes that nobody can guess: getrandom(2), repeated; /dev/urandom if there
  /// is no such call, or it is filtered out.
  ///
  /// Early in a boot, it waits until the kernel has gathered enough randomness.
  package static func fill(_ buffer: UnsafeMutableRawBufferPointer) throws(SystemError) {
    do throws(SystemError) {
      try ask(for: buffer)
    } catch  where error.errno == ENOSYS || error.errno == EPERM {
      let device = try File.open("/dev/urandom", .read)
      if try device.readFully(into: buffer, at: 0) < buffer.count { throw error }
    }
  }

  private static func ask(for buffer: UnsafeMutableRawBufferPointer) throws(SystemError) {
    var done = 0
    while done < buffer.count {
      let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
      done += try retrying(.getrandom, "", count: rest.count) { count in
        mmlog_random(rest.baseAddress, count)
      }
    }
  }
}
