// The rate limits of log statements, in static memory: no lock, no allocation.

#ifndef MMLOG_RATE_LIMITS_H
#define MMLOG_RATE_LIMITS_H

#include <stdint.h>

#pragma clang assume_nonnull begin

// One statement's; touched by atomic operations only.
typedef struct mmlog_rate_limit {
  uint64_t key;         // the statement; 0: nobody's
  uint64_t state;       // how often it was reached, or when it may be recorded again
  uint64_t suppressed;  // how often it was suppressed since it was recorded
} mmlog_rate_limit;

#define MMLOG_RATE_LIMITS 4096u

// The statement's place, taken if it had none; null if all are taken. `key` is not 0.
// Async-signal-safe.
mmlog_rate_limit *_Nullable mmlog_rate_limit_of(uint64_t key);

#pragma clang assume_nonnull end

#endif
