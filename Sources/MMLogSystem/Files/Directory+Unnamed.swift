import CMMLogCore
import Glibc

extension Directory {
  /// Makes an empty file for reading and writing that has no name yet, and that is gone when the
  /// process ends, however it ends: openat(2) O_TMPFILE. It has the access of ``newFiles``.
  ///
  /// - Parameters:
  ///   - name: the name that it is to get, for errors.
  ///   - mode: its permissions, less the process's umask.
  /// - Throws: EOPNOTSUPP or EISDIR where the file system or the kernel knows no such files;
  ///   EOPNOTSUPP where such a file could get no name.
  package func makeUnnamedFile(
    for name: String, mode: UInt32 = 0o600
  ) throws(SystemError) -> File {
    let path = path(of: name)
    let descriptor = try retrying(.openat, path) { mmlog_open_unnamed(self.descriptor, mode) }
    let file = File(adopting: descriptor, path: path)
    guard access(Self.link(to: descriptor), F_OK) == 0 else {
      throw SystemError(call: .openat, errno: EOPNOTSUPP, path: path)
    }
    try newFiles.apply(to: descriptor, path)
    return file
  }

  /// Gives a name in the directory to a file that was made there without one: linkat(2).
  ///
  /// - Throws: EEXIST where something has the name.
  package func link(_ file: borrowing File, as name: String) throws(SystemError) {
    try checkPath(name, .linkat)
    let source = Self.link(to: file.descriptor)
    _ = try retrying(.linkat, path(of: name)) {
      linkat(AT_FDCWD, source, descriptor, name, AT_SYMLINK_FOLLOW)
    }
  }

  /// The path by which linkat(2) takes an open file without privileges.
  private static func link(to descriptor: CInt) -> String { "/proc/self/fd/\(descriptor)" }
}
