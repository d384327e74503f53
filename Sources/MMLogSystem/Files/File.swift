import CMMLogCore
import Glibc

/// An open file: owns a descriptor, and closes it when it goes away.
///
/// Every method may be called from any thread; the kernel orders them.
package struct File: ~Copyable, Sendable {
  /// The path that the file was opened at; errors name it. A rename changes it only where
  /// ``noteRename(to:)`` says so.
  package private(set) var path: String

  /// The descriptor, valid as long as the file is.
  package private(set) var descriptor: CInt

  /// Which file it is, for one that is open for long; nil: nobody noted that.
  package private(set) var identity: FileStatus.Identity?

  /// Takes over an open descriptor, which is closed with the file.
  package init(adopting descriptor: CInt, path: String) {
    self.descriptor = descriptor
    self.path = path
  }

  deinit {
    if descriptor >= 0, isStillOpen { _ = Glibc.close(descriptor) }
  }

  /// Notes which file it is, so that another file is not taken for it: a program may close all
  /// descriptors, also those that are not its own, and open other files that then get the numbers.
  package mutating func noteIdentity() throws(SystemError) { identity = try status().identity }

  /// Whether the descriptor opens the file that it opened when ``noteIdentity()`` was called.
  package var isStillOpen: Bool { identity?.isOpen(as: descriptor) ?? true }

  /// The descriptor and the file that it opened; nil if the identity was not noted.
  var opened: mmlog_opened? { identity?.opened(as: descriptor) }

  /// Closes the file, and throws if that failed: close(2).
  ///
  /// The descriptor is closed in any case: on Linux, an interrupted close has closed it.
  /// - Throws: a write that failed late (EIO, ENOSPC, EDQUOT on network file systems).
  package consuming func close() throws(SystemError) {
    let name = path
    // Before the call can be made to fail: a forced error must not leave the file open and locked.
    let result = Glibc.close(descriptor)
    let code = errno
    descriptor = -1
    do throws(SystemError) {
      _ = try once(.close, name) {
        errno = code
        return result
      }
    } catch let error where error.errno != EINTR {
      throw error
    } catch {}
  }

  /// Notes that the file has another name now.
  package mutating func noteRename(to path: String) { self.path = path }

  /// Abandons the descriptor, which is closed already.
  package mutating func abandon() { descriptor = -1 }

  /// Gives up the descriptor, which stays open.
  package consuming func release() -> CInt {
    let open = descriptor
    descriptor = -1
    return open
  }
}

extension File {
  /// How a file is opened. O_CLOEXEC, O_NOFOLLOW and O_NOCTTY are always added.
  package struct OpenOptions: OptionSet, Sendable {
    /// One bit for each option.
    package let rawValue: UInt8

    /// The options whose bits are set.
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// For reading.
    package static let read = OpenOptions(rawValue: 1 << 0)
    /// For writing.
    package static let write = OpenOptions(rawValue: 1 << 1)
    /// O_CREAT: made if it is not there.
    package static let create = OpenOptions(rawValue: 1 << 2)
    /// O_EXCL, with ``create``: EEXIST if it is there.
    package static let exclusive = OpenOptions(rawValue: 1 << 3)
    /// O_TRUNC: emptied.
    package static let truncate = OpenOptions(rawValue: 1 << 4)
    /// O_APPEND: every write goes to the end, also one that names an offset.
    package static let append = OpenOptions(rawValue: 1 << 5)
    /// O_DIRECTORY: ENOTDIR if it is anything else.
    package static let directory = OpenOptions(rawValue: 1 << 6)
    /// O_NONBLOCK: opening a pipe without a writer does not wait.
    package static let nonBlocking = OpenOptions(rawValue: 1 << 7)

    /// The flags of open(2).
    var flags: CInt {
      let access = contains(.write) ? (contains(.read) ? O_RDWR : O_WRONLY) : O_RDONLY
      let table: [(OpenOptions, CInt)] = [
        (.create, O_CREAT), (.exclusive, O_EXCL), (.truncate, O_TRUNC), (.append, O_APPEND),
        (.directory, O_DIRECTORY), (.nonBlocking, O_NONBLOCK),
      ]
      return table.reduce(access | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY) { flags, entry in
        contains(entry.0) ? flags | entry.1 : flags
      }
    }
  }

  /// Opens a file: open(2).
  ///
  /// - Parameter mode: the permissions of a file that is made here, less the process's umask.
  /// - Throws: ELOOP where the last name of the path is a symbolic link.
  package static func open(
    _ path: String, _ options: OpenOptions, mode: UInt32 = 0o600
  ) throws(SystemError) -> File {
    try checkPath(path, .open)
    let descriptor = try retrying(.open, path) {
      mmlog_above_standard(Glibc.open(path, options.flags, mode))
    }
    return File(adopting: descriptor, path: path)
  }

  /// A second descriptor of an open file, closed on its own: fcntl(2) F_DUPFD_CLOEXEC.
  ///
  /// For descriptors that must stay open, such as standard output.
  package static func duplicate(
    _ descriptor: CInt, path: String
  ) throws(SystemError) -> File {
    let copy = try retrying(.dup, path) { fcntl(descriptor, F_DUPFD_CLOEXEC, 3) }
    return File(adopting: copy, path: path)
  }
}

/// Refuses a path with a zero byte in it: C would open the path before the zero byte.
func checkPath(_ path: String, _ call: SystemCall) throws(SystemError) {
  if path.utf8.contains(0) { throw SystemError(call: call, errno: EINVAL, path: path) }
}
