import CMMLogCore
import Glibc

/// A system call that failed: which call, why, and on what.
package struct SystemError: Error, Sendable {
  /// The call that failed.
  package var call: SystemCall { content.call }

  /// The reason, as errno(3) numbers it.
  package var errno: CInt { content.errno }

  /// What the call was about, mostly a path; empty if nothing.
  package var path: String { content.path }

  // One word: each call that may throw has code that moves the error on.
  private let content: Content

  private final class Content: Sendable {
    let call: SystemCall
    let errno: CInt
    let path: String

    init(_ call: SystemCall, _ errno: CInt, _ path: String) {
      self.call = call
      self.errno = errno
      self.path = path
    }
  }

  /// Makes an error as a wrapper throws it, for callers that have to make one up.
  package init(call: SystemCall, errno: CInt, path: String = "") {
    content = Content(call, errno, path)
  }
}

extension SystemError: Equatable {
  package static func == (one: SystemError, other: SystemError) -> Bool {
    one.call == other.call && one.errno == other.errno && one.path == other.path
  }
}

extension SystemError {
  /// True where the file, directory or attribute is not there.
  package var isNotFound: Bool { errno == ENOENT || errno == ENODATA }

  /// Whether the disk reports an error: EIO.
  package var isOfDisk: Bool { errno == EIO }

  /// True where the name is taken.
  package var isAlreadyThere: Bool { errno == EEXIST }

  /// EEXIST, for a name that must not be taken from the file that has it.
  package static func alreadyThere(_ call: SystemCall, _ path: String) -> SystemError {
    SystemError(call: call, errno: EEXIST, path: path)
  }

  /// EAGAIN, for a file that somebody else has locked.
  package static func locked(_ path: String) -> SystemError {
    SystemError(call: .fcntlLock, errno: EAGAIN, path: path)
  }

  /// EBADF, for a file whose descriptor the program has closed.
  package static func closed(_ path: String) -> SystemError {
    SystemError(call: .fdatasync, errno: EBADF, path: path)
  }

  /// EIO, for a file of which the disk has lost bytes that were written.
  package static func lostBytes(_ path: String) -> SystemError {
    SystemError(call: .fdatasync, errno: EIO, path: path)
  }

  /// ENOTSUP, for something that libcrypto has refused.
  package static func refusedByLibcrypto(_ path: String) -> SystemError {
    SystemError(call: .libcrypto, errno: ENOTSUP, path: path)
  }

  /// True where there are no files without a name: the file system or the kernel has none, or /proc
  /// is not mounted.
  package var isWithoutUnnamedFiles: Bool {
    isNotSupported || errno == EISDIR || errno == ENOENT || errno == EINVAL
  }

  /// True where the name is a symbolic link, which is not followed.
  package var isSymbolicLink: Bool { errno == ELOOP }

  /// True where the process has no permission.
  package var isRefusal: Bool { errno == EACCES || errno == EPERM }

  /// True where the process, or the system, has as many files open as are allowed.
  package var isOutOfDescriptors: Bool { errno == EMFILE || errno == ENFILE }

  /// True where the process, or the system, lacks resources that it may have a moment later: the
  /// error says nothing of the file.
  package var isOutOfResources: Bool { isOutOfDescriptors || errno == ENOMEM }

  /// True where the disk, or the owner's share of it, is full.
  package var isOutOfSpace: Bool { errno == ENOSPC || errno == EDQUOT }

  /// True where a datagram is larger than the socket takes.
  package var isMessageTooLong: Bool { errno == EMSGSIZE || errno == ENOBUFS }

  /// True where the other end of a connection is gone, or was started anew.
  package var isConnectionBroken: Bool {
    [ECONNREFUSED, ECONNRESET, ENOTCONN, EPIPE, ENOENT].contains(errno)
  }

  /// True where nobody reads a pipe, or the pipe has no room, and the call does not wait.
  package var isUnreadPipe: Bool { errno == ENXIO || errno == EAGAIN || errno == EPIPE }

  /// True where the kernel or the file system does not offer the call.
  package var isNotSupported: Bool { errno == EOPNOTSUPP || errno == ENOSYS }
}

extension SystemError: CustomStringConvertible {
  /// One line, such as `open /var/log/x.ring: Permission denied (EACCES)`.
  package var description: String {
    let subject = path.isEmpty ? call.rawValue : "\(call.rawValue) \(path)"
    return "\(subject): \(Self.text(of: errno)) (\(Self.name(of: errno)))"
  }

  /// The system's sentence for an error number: strerror_r(3).
  package static func text(of code: CInt) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
      guard let text = mmlog_error_text(code, buffer.baseAddress, buffer.count) else { return "" }
      return String(cString: text)
    }
  }

  /// The symbol for an error number, such as `ENOSPC`, or `errno 123` for one that is not common.
  package static func name(of code: CInt) -> String {
    names[code] ?? "errno \(code)"
  }

  // Not strerrorname_np(3): glibc has it since 2.32 only.
  private static let names: [CInt: String] = [
    EACCES: "EACCES", EAGAIN: "EAGAIN", EBADF: "EBADF", EBUSY: "EBUSY",
    ECONNREFUSED: "ECONNREFUSED", ECONNRESET: "ECONNRESET", EDEADLK: "EDEADLK",
    EDQUOT: "EDQUOT", EEXIST: "EEXIST", EFAULT: "EFAULT", EFBIG: "EFBIG",
    EHOSTUNREACH: "EHOSTUNREACH", EINTR: "EINTR",
    EINVAL: "EINVAL", EIO: "EIO", EISDIR: "EISDIR", ELOOP: "ELOOP", EMFILE: "EMFILE",
    EMLINK: "EMLINK", EMSGSIZE: "EMSGSIZE", ENAMETOOLONG: "ENAMETOOLONG", ENFILE: "ENFILE",
    ENODATA: "ENODATA",
    ENODEV: "ENODEV", ENOENT: "ENOENT", ENOLCK: "ENOLCK", ENOBUFS: "ENOBUFS", ENOMEM: "ENOMEM",
    ENOSPC: "ENOSPC",
    ENOSYS: "ENOSYS", ENOTDIR: "ENOTDIR", ENOTEMPTY: "ENOTEMPTY", ENOTTY: "ENOTTY",
    ENXIO: "ENXIO", EOPNOTSUPP: "EOPNOTSUPP", EOVERFLOW: "EOVERFLOW", EPERM: "EPERM",
    EPIPE: "EPIPE", ERANGE: "ERANGE", EROFS: "EROFS", ESPIPE: "ESPIPE", ESTALE: "ESTALE",
    ETIMEDOUT: "ETIMEDOUT", ETXTBSY: "ETXTBSY", EXDEV: "EXDEV",
  ]
}
