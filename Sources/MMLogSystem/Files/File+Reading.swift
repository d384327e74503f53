import CMMLogCore
import Glibc

extension File {
  /// Opens a file for reading that a user names: open(2), symbolic links followed.
  ///
  /// Does not wait for the writer of a pipe: call ``makeBlocking()`` before reading from a pipe.
  package static func openFollowingLinks(_ path: String) throws(SystemError) -> File {
    try checkPath(path, .open)
    let descriptor = try retrying(.open, path) {
      Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
    }
    return File(adopting: descriptor, path: path)
  }

  /// What the file system says about a file that a user names, without opening it: fstatat(2),
  /// symbolic links followed.
  package static func status(ofPath path: String) throws(SystemError) -> FileStatus {
    try checkPath(path, .fstatat)
    var status = stat()
    _ = try retrying(.fstatat, path) { fstatat(AT_FDCWD, path, &status, 0) }
    return FileStatus(status)
  }

  /// Makes reads wait for data: fcntl(2) F_SETFL.
  package func makeBlocking() throws(SystemError) {
    let flags = try retrying(.fcntl, path) { fcntl(descriptor, F_GETFL) }
    _ = try retrying(.fcntl, path) { fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK) }
  }

  /// The offset of the first byte from `offset` on that is not in a hole: lseek(2) SEEK_DATA.
  ///
  /// - Returns: `offset` itself where the file system does not know of holes; nil if the rest of
  ///   the file is a hole.
  package func nextData(from offset: Int) throws(SystemError) -> Int? {
    do throws(SystemError) {
      return Int(try retrying(.lseek, path) { mmlog_next_data(descriptor, Int64(offset)) })
    } catch let error where error.errno == ENXIO {
      return nil
    } catch let error where error.errno == EINVAL {
      return offset
    }
  }

  /// Standard input, through a descriptor of its own.
  package static func standardInput() throws(SystemError) -> File {
    try duplicate(STDIN_FILENO, path: "standard input")
  }

  /// Makes an empty file without a name in `$TMPDIR`, or in /tmp. It is gone when it is closed.
  ///
  /// - Parameter label: what its errors are about.
  package static func temporary(label: String) throws(SystemError) -> File {
    let directory = try temporaryDirectory()
    var random: UInt64 = 0
    try withUnsafeMutableBytes(of: &random) { (bytes) throws(SystemError) in
      try Random.fill(bytes)
    }
    // Not O_TMPFILE: not every file system has it.
    let name = "mmlog.\(String(random, radix: 36))"
    let file = try directory.openFile(name, [.read, .write, .create, .exclusive])
    try directory.remove(name)
    return File(adopting: file.release(), path: label)
  }

  /// Opens the directory of temporary files: `$TMPDIR`, or /tmp.
  package static func temporaryDirectory() throws(SystemError) -> Directory {
    let folder = getenv("TMPDIR").map { String(cString: $0) } ?? ""
    return try Directory.open(folder.isEmpty ? "/tmp" : folder)
  }

  /// How many files the process may have open: getrlimit(2).
  package static var openLimit: Int {
    var limit = rlimit()
    let isKnown = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
    return isKnown ? Int(clamping: limit.rlim_cur) : 0
  }

  /// Lets the process have as many files open as an administrator allows: setrlimit(2). A failure
  /// changes nothing.
  package static func raiseOpenLimit() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }
}
