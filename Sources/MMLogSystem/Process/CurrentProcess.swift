import CMMLogCore
import Glibc

/// The calling process, and its calling thread.
package enum CurrentProcess {
  /// The process's number: getpid(2). Asked each time: a child of fork has another number.
  package static var id: Int32 { getpid() }

  /// The program's name without its folder: program_invocation_short_name(3).
  package static var name: String {
    mmlog_program_name().map { String(cString: $0) } ?? ""
  }

  /// A variable of the environment: getenv(3). Nil if it is not set.
  package static func variable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }

  /// Where relative paths begin, as an absolute path: getcwd(3). It fails where the directory is
  /// gone, and with EILSEQ where its path is no UTF-8.
  package static func workingDirectory() throws(SystemError) -> String {
    var path: UnsafeMutablePointer<CChar>?
    defer { free(path) }
    _ = try retrying(.getcwd, "") {
      path = getcwd(nil, 0)
      return path == nil ? -1 : 0
    }
    guard let path, let text = String(validatingCString: path) else {
      throw SystemError(call: .getcwd, errno: EILSEQ)
    }
    return text
  }

  /// The path from the root. A path from the working directory leads elsewhere as soon as the
  /// process changes that directory.
  package static func absolutePath(_ path: String) throws(SystemError) -> String {
    path.hasPrefix("/") ? path : "\(try workingDirectory())/\(path)"
  }

  /// The user whose rights the process has: geteuid(2).
  package static var effectiveUserID: UInt32 { geteuid() }

  /// The calling thread's number, unique in the system: gettid(2). Async-signal-safe.
  package static func threadID() -> Int32 { mmlog_thread_id() }

  /// The number of processors that the calling thread may run on: sched_getaffinity(2).
  package static var processorCount: Int { Int(mmlog_processor_count()) }

  /// Why the calling thread's last system call failed: errno(3). Async-signal-safe.
  package static var errorNumber: CInt {
    get { errno }
    set { errno = newValue }
  }

  /// Puts the calling thread's name into `buffer`, with zeros after it: prctl(2) PR_GET_NAME.
  ///
  /// Async-signal-safe.
  /// - Parameter buffer: of at least 16 bytes.
  /// - Returns: the name's length in bytes, 15 at most.
  package static func threadName(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard let base = buffer.baseAddress, buffer.count >= 16 else { return 0 }
    let name = base.assumingMemoryBound(to: CChar.self)
    mmlog_get_thread_name(name)
    return strnlen(name, 16)
  }

  /// Writes a short text to standard error, if that is possible without waiting: poll(2), write(2).
  /// Otherwise the text is dropped. Raises no SIGPIPE.
  package static func writeToStandardError(_ text: String) {
    text.utf8.span.bytes.withUnsafeBytes {
      mmlog_write_standard_error($0.baseAddress, $0.count)
    }
  }

  /// Ends the process at once, with no chance to do anything more: kill(2) SIGKILL.
  package static func die() {
    _ = kill(getpid(), SIGKILL)
    while true { pause() }
  }
}
