// Linux calls that Swift's Glibc module does not have, each behind one small function: GNU-only
// calls, variadic calls (fcntl, prctl, syscall), and calls for which glibc has no function. Unless
// a comment says otherwise, a function that fails returns -1 and sets errno, as the call behind it
// does.
//
// Do not include a header here that includes sys/select.h (pthread.h, sys/types.h, signal.h, …):
// _GNU_SOURCE changes its fd_set, and Swift refuses a module whose type differs from Glibc's.

#ifndef MMLOG_SYSTEM_H
#define MMLOG_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// For functions that run when an access faults: the thread sanitizer may hold a lock of its own
// while it makes that access.
#if __has_attribute(disable_sanitizer_instrumentation)
#define MMLOG_UNSANITIZED __attribute__((disable_sanitizer_instrumentation))
#else
#define MMLOG_UNSANITIZED
#endif

// Files.

// pwrite(2), ftruncate(2), and fallocate(2) in mode 0 (the range gets blocks, and the file reaches
// at least to the range's end). Beyond RLIMIT_FSIZE they fail with EFBIG, and raise no SIGXFSZ,
// which would end the process.
ptrdiff_t mmlog_pwrite(int descriptor, const void *bytes, size_t count, int64_t offset);
int mmlog_ftruncate(int descriptor, int64_t size);
int mmlog_fallocate(int descriptor, int64_t offset, int64_t count);

// sync_file_range(2) with SYNC_FILE_RANGE_WRITE: the kernel begins to write the range to the disk.
int mmlog_begin_write_back(int descriptor, int64_t offset, int64_t count);

// One write(2) to standard error, of 4,096 bytes (PIPE_BUF) at most, if standard error takes them
// without waiting: poll(2). If not, or if the write fails, drops the text. A pipe without a reader
// raises no SIGPIPE.
void mmlog_write_standard_error(const void *bytes, size_t count);

// Gives a descriptor that was just opened another number if it has one of the first three: if the
// program has closed standard output or error, what it prints would otherwise go into that file. If
// there is no other number, closes the descriptor, and returns -1 and errno. A negative number
// stays as it is.
int mmlog_above_standard(int descriptor);

// pipe2(2) with O_CLOEXEC: the end to read from, and the end to write to.
int mmlog_pipe(int ends[2]);

// openat(2) with O_TMPFILE, for writing.
int mmlog_open_unnamed(int directory, unsigned mode);

// lseek(2) SEEK_DATA: the first place from `offset` on that is not in a hole. Moves the file's
// position.
int64_t mmlog_next_data(int descriptor, int64_t offset);

// fcntl(2) F_OFD_SETLK: an exclusive lock on the whole file, without waiting. The lock belongs to
// the open file, not to the process: a second open in this process conflicts with it, and a child
// of fork shares it.
int mmlog_lock(int descriptor);
int mmlog_unlock(int descriptor);

// A descriptor, and the file that it opens.
typedef struct mmlog_opened {
  int descriptor;
  uint64_t device;
  uint64_t inode;
} mmlog_opened;

// Whether the descriptor still opens the file: fstat(2). If that cannot be found out, the answer is
// true. Async-signal-safe.
bool mmlog_is_still_open(mmlog_opened file);

// Closes the descriptors that still open their files, and makes their numbers refer to nothing, so
// that whoever still uses one does no harm: open(2) O_PATH, dup3(2). Async-signal-safe.
void mmlog_give_up_descriptors(const mmlog_opened *files, ptrdiff_t count);

// flock(2), without waiting: an exclusive lock on a directory, which F_OFD_SETLK does not lock.
int mmlog_lock_directory(int descriptor);

// fcntl(2) F_OFD_GETLK: 1 if another open file holds a lock, 0 if none does.
int mmlog_locked_by_another(int descriptor);

// fsetxattr(2), fgetxattr(2) (only the attribute's size if `size` is 0), fremovexattr(2).
int mmlog_set_attribute(int descriptor, const char *name, const void *value, size_t size);
ptrdiff_t mmlog_get_attribute(int descriptor, const char *name, void *value, size_t size);
int mmlog_remove_attribute(int descriptor, const char *name);

// Memory. All of these are async-signal-safe.

// madvise(2) MADV_POPULATE_WRITE (Linux 5.14): EINVAL if the kernel does not know it.
int mmlog_populate_for_writing(void *base, size_t count);

// The same by storing to each page what it has, atomically; raises SIGBUS if a page has no room on
// the disk.
void mmlog_touch_pages(void *base, size_t count, size_t page_size);

// mmap(2) MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS: zeros of this process's own at the same address.
int mmlog_replace_with_private_memory(void *base, size_t count);

// mmap(2), munmap(2), mremap(2) MREMAP_MAYMOVE of anonymous private memory. NULL if the kernel
// refuses. These five functions leave errno as it was. Signal handlers may call all of them except
// mmlog_sparse_allocate.
void *mmlog_private_allocate(size_t count);
// MAP_NORESERVE: `count` may be larger than all of the memory. Only pages that are stored to take
// some.
void *mmlog_sparse_allocate(size_t count);
// madvise(2) MADV_DONTNEED: the bytes are zeros again, and take no memory until they are touched.
void mmlog_private_clear(void *base, size_t count);
void mmlog_private_free(void *base, size_t count);
void *mmlog_private_resize(void *base, size_t old_count, size_t new_count);

// madvise(2) MADV_DONTDUMP and MADV_WIPEONFORK, and mlock(2), as far as the kernel does them: the
// memory is in no core dump, is zero in a child of fork, and is not swapped out. Returns 0 if the
// kernel did all three.
int mmlog_keep_secret(void *base, size_t count);
// The same without mlock(2), which can then be called for parts.
int mmlog_hide(void *base, size_t count);
void mmlog_lock_memory(void *base, size_t count);
void mmlog_unlock_memory(void *base, size_t count);
// explicit_bzero(3): zeros that no optimizer leaves out.
void mmlog_erase(void *base, size_t count);

// Threads.

// futex(2) FUTEX_WAIT_PRIVATE: 0, or the error's number. `timeout` in nanoseconds from now,
// negative for none. Leaves errno as it was.
int mmlog_futex_wait(uint32_t *word, uint32_t expected, int64_t timeout);

// futex(2) FUTEX_WAKE_PRIVATE: how many were woken. Leaves errno as it was.
int mmlog_futex_wake(uint32_t *word, int count);

// membarrier(2) MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, MEMBARRIER_CMD_PRIVATE_EXPEDITED.
int mmlog_membarrier_register(void);
int mmlog_membarrier(void);

// Fills a sigset_t, which this header must not name, with all signals but those that a fault of the
// thread itself raises. Async-signal-safe.
void mmlog_signals_from_elsewhere(void *signals);

// Blocks these signals for the calling thread, and restores its mask: pthread_sigmask(3). For a
// thread that forks; one thread at a time.
void mmlog_block_signals(void);
void mmlog_unblock_signals(void);

// pthread_create(3) with every signal blocked in the new thread, except those that a fault in it
// raises (SIGSEGV, SIGBUS, …): the host's crash handler is to see them. `thread`: a pthread_t.
int mmlog_thread_start(uintptr_t *thread, void *(*routine)(void *), void *argument);

// prctl(2) PR_SET_NAME, cut to 15 bytes by the kernel; PR_GET_NAME into 16 bytes, zero-padded.
// Both leave errno as it was and are async-signal-safe.
void mmlog_set_thread_name(const char *name);
void mmlog_get_thread_name(char name[16]);

// gettid(2). Async-signal-safe.
int32_t mmlog_thread_id(void);

// On how many processors the calling thread may run: sched_getaffinity(2), or sysconf(3) if that
// fails.
int mmlog_processor_count(void);

// clock_nanosleep(2) until an absolute CLOCK_MONOTONIC time in nanoseconds.
int mmlog_sleep_until(uint64_t deadline);

// Sockets.

// sendmsg(2): an empty message with one of the sender's descriptors.
ptrdiff_t mmlog_send_descriptor(int socket, int descriptor);

// memfd_create(2): a file in memory that may be sealed; closed at exec.
int mmlog_memory_file(const char *name);

// fcntl(2) F_ADD_SEALS: nobody may change the file any more.
int mmlog_seal(int descriptor);

// The rest.

// getrandom(2): a signal does not cut short up to 256 bytes.
ptrdiff_t mmlog_random(void *bytes, size_t count);

// program_invocation_short_name(3).
const char *mmlog_program_name(void);

// strerror_r(3), GNU form: the text, in `buffer` or constant.
const char *mmlog_error_text(int code, char *buffer, size_t size);

// Keeps up to 64 MiB of freed memory in the process. Otherwise a large piece that is taken and
// freed again and again is returned to the kernel each time, and the kernel clears its pages when
// they are taken anew. Does nothing without glibc.
void mmlog_keep_freed_memory(void);

// Returns large pieces of memory to the kernel when they are freed, and takes other pieces from one
// heap. For a process that must stay small. Does nothing without glibc.
void mmlog_return_freed_memory(void);

// realloc(3), and free(3). The kernel moves a large piece that grows, without copying it.
void *mmlog_resize(void *memory, size_t size);
void mmlog_free(void *memory);

#endif
