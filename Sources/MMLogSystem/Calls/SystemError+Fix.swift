import Glibc

extension SystemError {
  /// What the operator of the service can do about the error, as a sentence.
  package var fix: String {
    switch errno {
    case EINVAL where call == .fcntlLock, EOPNOTSUPP where call == .fcntlLock, ENOLCK:
      "The file system has no locks: choose a directory on a local one."
    case EPERM where call == .fchown:
      "Make the service's user a member of the group, or choose one of its groups; root needs the "
        + "capability CAP_CHOWN."
    case EACCES: Self.permission + "."
    case EPERM:
      Self.permission + "; or a filter of system calls (seccomp) refuses this one: allow it."
    case EAGAIN where call == .fcntlLock:
      "Another process works with it: see with lslocks(8) which one, and try again."
    case ENOENT: "Create it, or correct the path."
    case ENOTDIR: "A file stands where a directory should be: move it, or choose another directory."
    case EEXIST: "Move what stands there out of the way, or choose another name."
    case EISDIR: "A directory stands where a file should be: move it, or choose another name."
    case ELOOP:
      "A symbolic link stands there, and none is followed: remove it, or give the real path."
    case ENOSPC, EDQUOT:
      "Free some space\(isAboutRing ? ", or make the ring smaller" : ""); df -i shows whether "
        + "it is inodes that are used up."
    case EAGAIN where call == .pthreadCreate:
      "Raise the limit of threads: RLIMIT_NPROC, TasksMax of systemd, or pids.max of the control "
        + "group."
    case EBADF:
      "The program has closed a descriptor that it did not open: open the store after such a step."
    case EROFS: "Mount the file system for writing, or choose another directory."
    case EMFILE, ENFILE: "Raise the limit of open files (RLIMIT_NOFILE)."
    case EFBIG: "Raise the limit of file sizes (RLIMIT_FSIZE)."
    case ENOMEM: "Give the service more memory, or make the ring smaller."
    case ENAMETOOLONG: "Choose a shorter name."
    case EIO: "The disk reports an error: inspect the kernel's log."
    default: "See errno(3)."
    }
  }

  private static let permission =
    "Give this process's user permission, run it as the owner of the files or as root, or choose "
    + "another directory"

  /// Whether the error is about a ring, by the name of its file.
  private var isAboutRing: Bool { path.hasSuffix(".ring") || path.hasSuffix(".ring.new") }
}
