#include "CMMLogSignals.h"

#include "CMMLogCore.h"
#include "mmlog_signals.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// The signals that an operator or a supervisor sends to stop a process.
static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
enum { signal_count = sizeof signals / sizeof signals[0] };

typedef struct place {
  mmlog_ending *ending;  // NULL: not in use
  struct place *next;    // never changes once it is in the list
} place;

// A list that only grows: handlers go over it without a lock.
static place *places;
// The process whose rings they are. A child of vfork(2) has the same memory, but its end is not the
// end of this process.
static pid_t owner;
// When a signal should have ended the process, by CLOCK_MONOTONIC in nanoseconds; 0: no signal
// should have.
static int64_t terminated;

// MARK: - Places

static bool reuse(mmlog_ending *ending) {
  for (place *it = __atomic_load_n(&places, __ATOMIC_ACQUIRE); it != NULL; it = it->next) {
    mmlog_ending *none = NULL;
    if (__atomic_compare_exchange_n(&it->ending, &none, ending, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED))
      return true;
  }
  return false;
}

bool mmlog_ending_add(mmlog_ending *ending) {
  __atomic_store_n(&owner, getpid(), __ATOMIC_RELEASE);
  if (reuse(ending)) return true;
  place *new = calloc(1, sizeof *new);
  if (new == NULL) return false;
  new->ending = ending;
  new->next = __atomic_load_n(&places, __ATOMIC_ACQUIRE);
  while (!__atomic_compare_exchange_n(&places, &new->next, new, true, __ATOMIC_ACQ_REL,
                                      __ATOMIC_ACQUIRE)) {
  }
  return true;
}

// MARK: - Writing

static uint32_t is_writing;

// Takes the lock, and blocks signals meanwhile, so that no handler waits for the thread that it has
// interrupted. False, with nothing blocked, if another thread had the lock in each of the rounds,
// which are a millisecond apart.
static bool lock(sigset_t *before, unsigned rounds) {
  const struct timespec moment = {.tv_nsec = 1000000};
  sigset_t blocked;
  mmlog_signals_from_elsewhere(&blocked);
  pthread_sigmask(SIG_BLOCK, &blocked, before);
  for (unsigned round = 0; round < rounds; round++) {
    if (__atomic_exchange_n(&is_writing, 1, __ATOMIC_ACQUIRE) == 0) return true;
    nanosleep(&moment, NULL);
  }
  pthread_sigmask(SIG_SETMASK, before, NULL);
  return false;
}

static void unlock(const sigset_t *before) {
  __atomic_store_n(&is_writing, 0, __ATOMIC_RELEASE);
  pthread_sigmask(SIG_SETMASK, before, NULL);
}

// An ending of zeros says that the process has not ended.
static void write_all(const mmlog_ending *ending) {
  for (place *it = __atomic_load_n(&places, __ATOMIC_ACQUIRE); it != NULL; it = it->next) {
    mmlog_ending *target = __atomic_load_n(&it->ending, __ATOMIC_ACQUIRE);
    if (target != NULL) memcpy(target, ending, sizeof *target);
  }
}

static void note(uint32_t how, int signal, uint32_t sender) {
  if (getpid() != __atomic_load_n(&owner, __ATOMIC_ACQUIRE)) return;
  mmlog_ending ending = {
      .how = how, .signal = signal, .sender = sender, .time = mmlog_nanoseconds(CLOCK_REALTIME)};
  ending.checksum = ~mmlog_crc32c_bytes(UINT32_MAX, (const uint8_t *)&ending, sizeof ending);
  sigset_t before;
  // Not for ever, because the end of the process would wait.
  if (!lock(&before, 1000)) return;
  write_all(&ending);
  __atomic_store_n(&terminated, signal == 0 ? 0 : mmlog_nanoseconds(CLOCK_MONOTONIC),
                   __ATOMIC_RELEASE);
  unlock(&before);
}

void mmlog_ending_remove(mmlog_ending *ending) {
  // Under the lock, however long that takes, so that nobody writes to the ending afterwards.
  sigset_t before;
  while (!lock(&before, 1000)) {
  }
  for (place *it = __atomic_load_n(&places, __ATOMIC_ACQUIRE); it != NULL; it = it->next) {
    mmlog_ending *old = ending;
    __atomic_compare_exchange_n(&it->ending, &old, NULL, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
  }
  unlock(&before);
}

void mmlog_ending_forked(void) {
  __atomic_store_n(&is_writing, 0, __ATOMIC_RELEASE);
  __atomic_store_n(&terminated, 0, __ATOMIC_RELEASE);
}

void mmlog_ending_deny(void) {
  static const mmlog_ending none;
  int64_t when = __atomic_load_n(&terminated, __ATOMIC_ACQUIRE);
  if (when == 0 || mmlog_nanoseconds(CLOCK_MONOTONIC) - when < 1000000000) return;
  sigset_t before;
  if (!lock(&before, 1000)) return;
  // Unless the process has begun to end once more.
  if (__atomic_compare_exchange_n(&terminated, &when, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
    write_all(&none);
  unlock(&before);
  mmlog_ending_handle_signals();
}

// MARK: - Exit

// Runs after the exit handlers, which may crash, log, and close stores. The handlers that were set
// first are called last, and this comes after all of them.
__attribute__((destructor)) static void note_exit(void) {
  if (__atomic_load_n(&places, __ATOMIC_ACQUIRE) == NULL) return;
  // A signal whose handler has returned does not end the process.
  mmlog_crash_outlive();
  note(MMLOG_ENDING_EXITED, 0, 0);
}

// MARK: - Signals

static void handle(int signal, siginfo_t *info, void *context) {
  (void)context;
  int saved = errno;
  struct sigaction action;
  // A handler that was set later calls this one: that handler decides what happens.
  if (sigaction(signal, NULL, &action) != 0 || action.sa_sigaction != handle) {
    errno = saved;
    return;
  }
  // If the kernel itself sends a signal, there is no sender.
  note(MMLOG_ENDING_TERMINATED, signal, info->si_code <= 0 ? (uint32_t)info->si_pid : 0);
  memset(&action, 0, sizeof action);
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, NULL);
  // The signal is blocked until this handler returns.
  raise(signal);
  errno = saved;
}

// The thread sanitizer delays a handler until its thread makes a call that the sanitizer
// intercepts. The thread may never make such a call, and then the process would not end.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MMLOG_DELAYS_HANDLERS 1
#endif
#endif

void mmlog_ending_handle_signals(void) {
#ifdef MMLOG_DELAYS_HANDLERS
  return;
#endif
  for (unsigned index = 0; index < signal_count; index++) {
    struct sigaction action;
    if (sigaction(signals[index], NULL, &action) != 0) continue;
    if (action.sa_handler != SIG_DFL) continue;
    memset(&action, 0, sizeof action);
    mmlog_signals_from_elsewhere(&action.sa_mask);
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    action.sa_sigaction = handle;
    sigaction(signals[index], &action, NULL);
  }
}
