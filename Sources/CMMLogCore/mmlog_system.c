#include "CMMLogCore.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

// Missing in the headers of some distributions that are still in use.
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum {
  membarrier_private_expedited = 1 << 3,           // linux/membarrier.h
  membarrier_register_private_expedited = 1 << 4,
  nanoseconds_per_second = 1000000000,
};

// Files.

static sigset_t set_of(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  return set;
}

static sigset_t hold(int signal) {
  sigset_t held = set_of(signal), before;
  pthread_sigmask(SIG_BLOCK, &held, &before);
  return before;
}

// A held signal is pending for the thread that caused it, and would end the process later.
static void release(int signal, sigset_t before, bool was_raised) {
  int saved = errno;
  if (was_raised) {
    const struct timespec none = {0};
    sigset_t held = set_of(signal);
    while (sigtimedwait(&held, NULL, &none) == -1 && errno == EINTR) continue;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = saved;
}

ptrdiff_t mmlog_pwrite(int descriptor, const void *bytes, size_t count, int64_t offset) {
  sigset_t before = hold(SIGXFSZ);
  ptrdiff_t written = pwrite(descriptor, bytes, count, offset);
  release(SIGXFSZ, before, written == -1 && errno == EFBIG);
  return written;
}

int mmlog_ftruncate(int descriptor, int64_t size) {
  sigset_t before = hold(SIGXFSZ);
  int result = ftruncate(descriptor, size);
  release(SIGXFSZ, before, result == -1 && errno == EFBIG);
  return result;
}

int mmlog_fallocate(int descriptor, int64_t offset, int64_t count) {
  sigset_t before = hold(SIGXFSZ);
  int result = fallocate(descriptor, 0, offset, count);
  release(SIGXFSZ, before, result == -1 && errno == EFBIG);
  return result;
}

int mmlog_begin_write_back(int descriptor, int64_t offset, int64_t count) {
  return sync_file_range(descriptor, offset, count, SYNC_FILE_RANGE_WRITE);
}

void mmlog_write_standard_error(const void *bytes, size_t count) {
  struct pollfd request = {.fd = STDERR_FILENO, .events = POLLOUT};
  if (poll(&request, 1, 0) != 1 || !(request.revents & POLLOUT)) return;
  sigset_t before = hold(SIGPIPE);
  ptrdiff_t written = write(STDERR_FILENO, bytes, count < PIPE_BUF ? count : PIPE_BUF);
  release(SIGPIPE, before, written == -1 && errno == EPIPE);
}

int64_t mmlog_next_data(int descriptor, int64_t offset) {
  return lseek(descriptor, offset, SEEK_DATA);
}

// The whole file, however long it becomes. l_pid must be 0 for the F_OFD commands.
static struct flock whole_file(short type) {
  return (struct flock){.l_type = type, .l_whence = SEEK_SET};
}

int mmlog_lock(int descriptor) {
  struct flock lock = whole_file(F_WRLCK);
  return fcntl(descriptor, F_OFD_SETLK, &lock);
}

int mmlog_lock_directory(int descriptor) { return flock(descriptor, LOCK_EX | LOCK_NB); }

int mmlog_unlock(int descriptor) {
  struct flock lock = whole_file(F_UNLCK);
  return fcntl(descriptor, F_OFD_SETLK, &lock);
}

int mmlog_locked_by_another(int descriptor) {
  struct flock lock = whole_file(F_WRLCK);
  if (fcntl(descriptor, F_OFD_GETLK, &lock) == -1) return -1;
  return lock.l_type != F_UNLCK;
}

int mmlog_set_attribute(int descriptor, const char *name, const void *value, size_t size) {
  return fsetxattr(descriptor, name, value, size, 0);
}

ptrdiff_t mmlog_get_attribute(int descriptor, const char *name, void *value, size_t size) {
  return fgetxattr(descriptor, name, value, size);
}

int mmlog_remove_attribute(int descriptor, const char *name) {
  return fremovexattr(descriptor, name);
}

// Memory.

int mmlog_populate_for_writing(void *base, size_t count) {
  return madvise(base, count, MADV_POPULATE_WRITE);
}

void mmlog_touch_pages(void *base, size_t count, size_t page_size) {
  for (size_t offset = 0; offset < count; offset += page_size)
    __atomic_fetch_or((char *)base + offset, 0, __ATOMIC_RELAXED);
}

static const int private_memory = MAP_PRIVATE | MAP_ANONYMOUS;

MMLOG_UNSANITIZED int mmlog_replace_with_private_memory(void *base, size_t count) {
  // MAP_NORESERVE, because this must succeed even if memory may not be overcommitted. The plain
  // system call, because mmap(3) is not on POSIX's list of functions that a handler may call, and
  // sanitizers replace it.
  long map = syscall(SYS_mmap, base, count, PROT_READ | PROT_WRITE,
                     private_memory | MAP_FIXED | MAP_NORESERVE, -1, 0);
  return map == -1 ? -1 : 0;
}

void *mmlog_private_allocate(size_t count) {
  int saved = errno;
  void *map = mmap(NULL, count, PROT_READ | PROT_WRITE, private_memory, -1, 0);
  errno = saved;
  return map == MAP_FAILED ? NULL : map;
}

void *mmlog_sparse_allocate(size_t count) {
  int saved = errno;
  void *map = mmap(NULL, count, PROT_READ | PROT_WRITE, private_memory | MAP_NORESERVE, -1, 0);
  // With a huge page for each small page that is stored to, the memory would not be sparse. Kernels
  // without huge pages refuse this.
  if (map != MAP_FAILED) madvise(map, count, MADV_NOHUGEPAGE);
  errno = saved;
  return map == MAP_FAILED ? NULL : map;
}

void mmlog_private_clear(void *base, size_t count) {
  int saved = errno;
  if (madvise(base, count, MADV_DONTNEED) != 0) memset(base, 0, count);
  errno = saved;
}

void mmlog_private_free(void *base, size_t count) {
  int saved = errno;
  munmap(base, count);
  errno = saved;
}

// The thread sanitizer does not know mremap: to it, memory that another thread later gets at the
// old address is still the same memory.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WITHOUT_MREMAP
#endif
#endif

void *mmlog_private_resize(void *base, size_t old_count, size_t new_count) {
#ifdef WITHOUT_MREMAP
  void *map = mmlog_private_allocate(new_count);
  if (map == NULL) return NULL;
  memcpy(map, base, old_count < new_count ? old_count : new_count);
  mmlog_private_free(base, old_count);
  return map;
#else
  int saved = errno;
  void *map = mremap(base, old_count, new_count, MREMAP_MAYMOVE);
  errno = saved;
  return map == MAP_FAILED ? NULL : map;
#endif
}

int mmlog_hide(void *base, size_t count) {
  int result = madvise(base, count, MADV_DONTDUMP);
#ifdef MADV_WIPEONFORK
  return result | madvise(base, count, MADV_WIPEONFORK);
#else
  return -1;
#endif
}

int mmlog_keep_secret(void *base, size_t count) {
  return mmlog_hide(base, count) | mlock(base, count);
}

void mmlog_lock_memory(void *base, size_t count) {
  int saved = errno;
  mlock(base, count);
  errno = saved;
}

void mmlog_unlock_memory(void *base, size_t count) {
  int saved = errno;
  munlock(base, count);
  errno = saved;
}

void mmlog_erase(void *base, size_t count) { explicit_bzero(base, count); }

// Threads.

int mmlog_futex_wait(uint32_t *word, uint32_t expected, int64_t timeout) {
  struct timespec span = {.tv_sec = timeout / nanoseconds_per_second,
                          .tv_nsec = timeout % nanoseconds_per_second};
  int saved = errno, code = 0;
  if (syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, timeout < 0 ? NULL : &span, NULL, 0))
    code = errno;
  errno = saved;
  return code;
}

MMLOG_UNSANITIZED int mmlog_futex_wake(uint32_t *word, int count) {
  int saved = errno;
  long woken = syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
  errno = saved;
  return woken < 0 ? 0 : (int)woken;
}

int mmlog_membarrier_register(void) {
  return (int)syscall(SYS_membarrier, membarrier_register_private_expedited, 0, 0);
}

int mmlog_membarrier(void) {
  return (int)syscall(SYS_membarrier, membarrier_private_expedited, 0, 0);
}

void mmlog_signals_from_elsewhere(void *signals) {
  static const int raised_by_a_fault[] = {SIGSEGV, SIGBUS,  SIGILL, SIGFPE,
                                          SIGTRAP, SIGABRT, SIGSYS};
  sigset_t *set = signals;
  sigfillset(set);
  for (size_t i = 0; i < sizeof raised_by_a_fault / sizeof *raised_by_a_fault; i++)
    sigdelset(set, raised_by_a_fault[i]);
}

static sigset_t before_fork;

void mmlog_block_signals(void) {
  sigset_t blocked;
  mmlog_signals_from_elsewhere(&blocked);
  pthread_sigmask(SIG_BLOCK, &blocked, &before_fork);
}

void mmlog_unblock_signals(void) { pthread_sigmask(SIG_SETMASK, &before_fork, NULL); }

int mmlog_thread_start(uintptr_t *thread, void *(*routine)(void *), void *argument) {
  sigset_t blocked, before;
  pthread_t created;
  mmlog_signals_from_elsewhere(&blocked);
  // The mask is set before the thread exists: if the new thread blocked signals itself, one could
  // come before that. The mask is set and not added to: the new thread must not inherit the mask of
  // the thread that happens to start it (libdispatch's workers block SIGABRT).
  int code = pthread_sigmask(SIG_SETMASK, &blocked, &before);
  if (code == 0) {
    code = pthread_create(&created, NULL, routine, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
  }
  if (code != 0) {
    errno = code;
    return -1;
  }
  *thread = (uintptr_t)created;
  return 0;
}

void mmlog_set_thread_name(const char *name) {
  int saved = errno;
  prctl(PR_SET_NAME, name, 0, 0, 0);
  errno = saved;
}

void mmlog_get_thread_name(char name[16]) {
  int saved = errno;
  memset(name, 0, 16);
  prctl(PR_GET_NAME, name, 0, 0, 0);
  errno = saved;
}

// Not gettid(3): glibc has it since 2.30 only.
int32_t mmlog_thread_id(void) { return (int32_t)syscall(SYS_gettid); }

int mmlog_processor_count(void) {
  cpu_set_t processors;
  if (sched_getaffinity(0, sizeof processors, &processors) == 0) return CPU_COUNT(&processors);
  return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

int mmlog_sleep_until(uint64_t deadline) {
  struct timespec time = {.tv_sec = (time_t)(deadline / nanoseconds_per_second),
                          .tv_nsec = (long)(deadline % nanoseconds_per_second)};
  int code = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
  if (code == 0) return 0;
  errno = code;
  return -1;
}

// The rest.

// A function of Swift's runtime: its arguments replace those that the runtime reads from /proc.
extern void _swift_stdlib_overrideUnsafeArgvArgc(char **arguments, int count)
    __attribute__((weak));

// Swift's runtime, linked statically, ends the process if it cannot find out where the executable
// is: in a chroot(2) or a rescue shell without /proc. With the variable SWIFT_ROOT, it does not
// ask. It does not find the arguments there either. Runs before the runtime's own constructors;
// glibc passes constructors the arguments of main.
__attribute__((constructor(101))) static void start_without_proc(int count, char **arguments) {
  if (access("/proc/self/exe", F_OK) == 0) return;
  setenv("SWIFT_ROOT", "/usr", 0);
  if (_swift_stdlib_overrideUnsafeArgvArgc) _swift_stdlib_overrideUnsafeArgvArgc(arguments, count);
}

ptrdiff_t mmlog_random(void *bytes, size_t count) { return getrandom(bytes, count, 0); }

const char *mmlog_program_name(void) { return program_invocation_short_name; }

const char *mmlog_error_text(int code, char *buffer, size_t size) {
  return strerror_r(code, buffer, size);
}

int mmlog_above_standard(int descriptor) {
  if (descriptor < 0 || descriptor > STDERR_FILENO) return descriptor;
  int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  int error = errno;
  close(descriptor);
  errno = error;
  return moved;
}

int mmlog_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC); }

int mmlog_open_unnamed(int directory, unsigned mode) {
  return mmlog_above_standard(openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode));
}

bool mmlog_is_still_open(mmlog_opened file) {
  struct stat status;
  if (fstat(file.descriptor, &status) != 0) return errno != EBADF;
  return status.st_dev == file.device && status.st_ino == file.inode;
}

void mmlog_give_up_descriptors(const mmlog_opened *files, ptrdiff_t count) {
  // O_PATH: with this descriptor, nothing can be read, written or locked.
  int nothing = count > 0 ? open("/", O_PATH | O_CLOEXEC) : -1;
  for (ptrdiff_t index = 0; index < count; index++) {
    if (!mmlog_is_still_open(files[index])) continue;
    int descriptor = files[index].descriptor;
    if (nothing < 0 || dup3(nothing, descriptor, O_CLOEXEC) < 0) close(descriptor);
  }
  if (nothing >= 0) close(nothing);
}

void mmlog_keep_freed_memory(void) {
#ifdef __GLIBC__
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
#endif
}

void mmlog_return_freed_memory(void) {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 256 << 10);
  mallopt(M_ARENA_MAX, 1);
#endif
}

void *mmlog_resize(void *memory, size_t size) { return realloc(memory, size); }

void mmlog_free(void *memory) { free(memory); }

// Sockets.

ptrdiff_t mmlog_send_descriptor(int socket, int descriptor) {
  union {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control;
  memset(&control, 0, sizeof control);
  struct msghdr message = {.msg_control = &control, .msg_controllen = sizeof control};
  struct cmsghdr *head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(head), &descriptor, sizeof descriptor);
  return sendmsg(socket, &message, MSG_NOSIGNAL);
}

int mmlog_memory_file(const char *name) {
  return mmlog_above_standard(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
}

int mmlog_seal(int descriptor) {
  return fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
}
