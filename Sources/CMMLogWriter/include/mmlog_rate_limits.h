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

// Whose limit it is: each kind has a table of its own, so that none takes the other's places.
typedef enum mmlog_limit_kind {
  MMLOG_LIMITS_OF_STATEMENTS,  // the statement's own
  MMLOG_LIMITS_OF_LABELS,      // that of its label
  MMLOG_LIMIT_KINDS,
} mmlog_limit_kind;

// Twice as many as are promised, and a statement's place is near where its key belongs: a call of a
// statement that has none searches no further.
#define MMLOG_RATE_LIMIT_PLACES 8192u
#define MMLOG_RATE_LIMIT_STEPS 32u

// The statement's place, taken if it had none; null if there is none for it. `key` is not 0.
// Async-signal-safe.
mmlog_rate_limit *_Nullable mmlog_rate_limit_of(mmlog_limit_kind kind, uint64_t key);

#pragma clang assume_nonnull end

#endif
