import CMMLog

/// Random bytes from the kernel.
package enum Random {
  /// Fills `buffer` with bytes that nobody can guess: getrandom(2), repeated.
  ///
  /// Waits, early in a boot, until the kernel has gathered enough.
  package static func fill(_ buffer: UnsafeMutableRawBufferPointer) throws(SystemError) {
    var done = 0
    while done < buffer.count {
      let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
      done += try retrying(.getrandom, "", count: rest.count) { count in
        mmlog_random(rest.baseAddress, count)
      }
    }
  }
}
