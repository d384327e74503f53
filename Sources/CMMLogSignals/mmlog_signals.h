// What the handlers of signals have in common.

#ifndef MMLOG_SIGNALS_H
#define MMLOG_SIGNALS_H

#include <signal.h>
#include <stdint.h>
#include <time.h>

static inline int64_t mmlog_nanoseconds(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

// Records a crash, if crashes are recorded, and then does what the handler that was set before
// would have done.
void mmlog_handle_crash(
    struct sigaction *previous, int signal, siginfo_t *info, void *context);

#endif
