// What handlers of fatal signals have in common.

#ifndef MMLOG_SIGNALS_H
#define MMLOG_SIGNALS_H

#include <signal.h>
#include <stdint.h>
#include <time.h>

// What runs when an access faults: the thread sanitizer may hold a lock of its own while it makes
// that access.
#if __has_attribute(disable_sanitizer_instrumentation)
#define MMLOG_UNSANITIZED __attribute__((disable_sanitizer_instrumentation))
#else
#define MMLOG_UNSANITIZED
#endif

// All signals but those that a fault of the thread itself raises.
sigset_t mmlog_signals_from_elsewhere(void);

static inline int64_t mmlog_nanoseconds(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

// Records a crash, if crashes are recorded, and does what the handler that was there before would
// have done.
void mmlog_handle_crash(const struct sigaction *previous, int signal, siginfo_t *info, void *context);

#endif
