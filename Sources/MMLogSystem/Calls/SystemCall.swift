/// The system calls that this module and MMLogCrash make, named as in their manual pages.
package enum SystemCall: String, Sendable, CaseIterable {
  case open, openat, close, dup
  case read, pread, write, pwrite, poll
  case fstat, fstatat, fstatvfs, readdir
  case ftruncate, fallocate, fsync, fdatasync
  case syncFileRange = "sync_file_range"
  case fcntl, flock, lseek
  case fcntlLock = "lock"
  case fcntlUnlock = "unlock"
  case fcntlGetLock = "test lock"
  case fsetxattr, fgetxattr, fremovexattr
  case fchown, fchmod
  case mkdir, mkdirat, unlinkat, renameat, linkat
  case mmap, mremap, madvise
  case getcwd, getrandom, membarrier, sigaction
  /// Not a system call, but a library that fails like one.
  case libcrypto
  case pthreadCreate = "pthread_create"
  case pthreadKeyCreate = "pthread_key_create"
  case pthreadAtFork = "pthread_atfork"
  case socket, connect, send, getaddrinfo
  case memfdCreate = "memfd_create"
  case pipe = "pipe2"
  case spawn = "posix_spawn"
  case waitpid
  case clockNanosleep = "clock_nanosleep"
}
