import Glibc
import MMLogSystem

extension SystemCall {
  /// The errors that the call can give as mmlog calls it: those of its manual page, and those that
  /// file systems, security modules and old kernels are known to add.
  ///
  /// Errors that only a wrong argument gives are left out (EBADF, EFAULT of an address,
  /// ENAMETOOLONG).
  var errnos: [CInt] {
    switch self {
    case .open: [EACCES, EINTR, EIO, ELOOP, EMFILE, ENFILE, ENOENT, ENOMEM, ENOTDIR, EPERM, ESTALE]
    case .openat:
      [
        EACCES, EDQUOT, EEXIST, EINTR, EIO, ELOOP, EMFILE, ENFILE, ENOENT, ENOMEM, ENOSPC, ENOTDIR,
        EPERM, EROFS, ESTALE,
      ]
    case .close: [EDQUOT, EINTR, EIO, ENOSPC]
    case .dup: [EMFILE, EINTR]
    case .read, .pread: [EINTR, EIO, EISDIR, ENOMEM, ESTALE]
    case .write, .pwrite: [EDQUOT, EFBIG, EINTR, EIO, ENOMEM, ENOSPC, EPERM, EROFS, ESTALE]
    case .poll: [EINTR, ENOMEM]
    case .fstat: [EIO, ENOMEM, EOVERFLOW, ESTALE]
    case .fstatat: [EACCES, EIO, ELOOP, ENOENT, ENOMEM, ENOTDIR, ESTALE]
    case .fstatvfs: [EINTR, EIO, ENOSYS]
    case .readdir: [EIO, ENOENT, ENOMEM, ESTALE]
    case .ftruncate: [EFBIG, EINTR, EINVAL, EIO, EPERM, EROFS, ETXTBSY]
    case .fallocate:
      [EDQUOT, EFBIG, EINTR, EIO, ENODEV, ENOSPC, ENOSYS, EOPNOTSUPP, EPERM, ETXTBSY]
    case .fsync, .fdatasync: [EDQUOT, EINTR, EINVAL, EIO, ENOSPC, EROFS]
    case .syncFileRange: [EINTR, EINVAL, EIO, ENOMEM, ENOSPC, ENOSYS, EPERM, ESPIPE]
    case .fcntl: [EINTR, EPERM]
    case .flock: [EBADF, EINTR, ENOLCK, EWOULDBLOCK]
    case .lseek: [EINVAL, ENXIO]
    case .fcntlLock: [EACCES, EAGAIN, EDEADLK, EINTR, EINVAL, EIO, ENOLCK, EOPNOTSUPP]
    case .fcntlUnlock: [EINTR, EINVAL, ENOLCK]
    case .fcntlGetLock: [EINVAL, EIO, ENOLCK, EOPNOTSUPP]
    case .fsetxattr, .fremovexattr: [EDQUOT, EIO, ENODATA, ENOSPC, EOPNOTSUPP, EPERM, ERANGE]
    case .fchown, .fchmod: [EDQUOT, EINTR, EIO, EPERM, EROFS]
    case .fgetxattr: [EIO, ENODATA, EOPNOTSUPP, EPERM]
    case .mkdir, .mkdirat:
      [EACCES, EDQUOT, EEXIST, EIO, EMLINK, ENOENT, ENOMEM, ENOSPC, ENOTDIR, EPERM, EROFS]
    case .unlinkat: [EACCES, EBUSY, EIO, EISDIR, ENOENT, ENOMEM, EPERM, EROFS, ESTALE]
    case .renameat:
      [EACCES, EBUSY, EDQUOT, EIO, ENOENT, ENOMEM, ENOSPC, EPERM, EROFS, ESTALE, EXDEV]
    case .linkat:
      [EACCES, EDQUOT, EEXIST, EIO, EMLINK, ENOENT, ENOMEM, ENOSPC, EPERM, EROFS, EXDEV]
    case .mmap: [EACCES, EAGAIN, ENFILE, ENODEV, ENOMEM, EPERM]
    case .mremap: [EAGAIN, ENOMEM]
    case .madvise: [EAGAIN, EFAULT, EINTR, EINVAL, EIO, ENOMEM]
    case .socket: [EACCES, EMFILE, ENFILE, ENOBUFS, ENOMEM]
    case .connect:
      [EACCES, EAGAIN, ECONNREFUSED, ECONNRESET, EHOSTUNREACH, EINTR, ENOENT, EPERM, ETIMEDOUT]
    case .send:
      [EAGAIN, ECONNREFUSED, ECONNRESET, EINTR, EMSGSIZE, ENOBUFS, ENOMEM, ENOTCONN, EPIPE]
    case .getaddrinfo: [EHOSTUNREACH]
    case .memfdCreate: [EMFILE, ENFILE, ENOMEM, ENOSYS]
    case .getcwd: [EACCES, ENOENT, ENOMEM]
    // mmlog asks the call to wait.
    case .getrandom: [EINTR, ENOSYS, EPERM]
    case .membarrier: [EINVAL, ENOSYS, EPERM]
    // Neither of its arguments can be wrong.
    case .sigaction: []
    // Not a system call.
    case .libcrypto: []
    case .pthreadCreate: [EAGAIN, ENOMEM, EPERM]
    case .pthreadKeyCreate: [EAGAIN, ENOMEM]
    case .pthreadAtFork: [ENOMEM]
    case .pipe: [EMFILE, ENFILE]
    case .spawn: [EAGAIN, ENOENT, ENOMEM]
    case .waitpid: [ECHILD, EINTR]
    case .clockNanosleep: [EINTR, EINVAL]
    }
  }

  /// Whether the call moves bytes, and may move fewer than asked for.
  var maybeShort: Bool {
    switch self {
    case .read, .pread, .write, .pwrite, .getrandom: true
    default: false
    }
  }

  /// Whether a store may get over the failure without reporting it, since nothing is lost by it.
  func isNoLoss(_ code: CInt) -> Bool {
    switch self {
    // The call is made again.
    case _ where code == EINTR: true
    // There is another way, or the call was only a hint.
    case .fallocate: code == EOPNOTSUPP || code == ENOSYS
    case .madvise, .lseek: code == EINVAL
    case .getrandom: code == ENOSYS || code == EPERM
    case .membarrier, .clockNanosleep: true
    // Another process has the lock, or had it just now.
    case .fcntlLock: code == EAGAIN || code == EACCES
    // The directory is there, or the one above is missing and gets made.
    case .mkdir: code == EEXIST || code == ENOENT
    // The trash: without it, what is deleted is removed at once.
    case .mkdirat: true
    // The file is gone, as was wanted, or since its name was listed.
    case .unlinkat, .fstatat: code == ENOENT
    // The file is gone, or is a symbolic link, which no store makes.
    case .openat: code == ENOENT || code == ELOOP
    // Closing the file unlocks it, too.
    case .fcntlUnlock: true
    // There is no such attribute, or the file system has none and a file beside the archive is
    // used.
    case .fgetxattr: code == ENODATA || code == EOPNOTSUPP
    case .fsetxattr, .fremovexattr: [ENODATA, EOPNOTSUPP, ENOSPC, EDQUOT].contains(code)
    // The file system cannot sync a directory.
    case .fsync: code == EINVAL
    default: false
    }
  }
}
