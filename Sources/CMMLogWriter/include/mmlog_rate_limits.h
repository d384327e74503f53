// The rate limits of log statements, in static memory: no lock, no allocation.

#ifndef MMLOG_RATE_LIMITS_H
#define MMLOG_RATE_LIMITS_H

#include <stdint.h>

#pragma clang assume_nonnull begin

// The limit of one statement. Only atomic operations touch it.
typedef struct mmlog_rate_limit {
  uint64_t key;         // the statement; 0: free
  uint64_t state;       // how often it was reached, or when it may be recorded again
  uint64_t suppressed;  // how often it was suppressed since it was recorded
} mmlog_rate_limit;

// Each kind of limit has a table of its own, so that no kind takes the places of the other.
typedef enum mmlog_limit_kind {
  MMLOG_LIMITS_OF_STATEMENTS,  // the statement's own
  MMLOG_LIMITS_OF_LABELS,      // the limit of the statement's label
  MMLOG_LIMIT_KINDS,
} mmlog_limit_kind;

// Twice as many places as promised. A statement's place is at most so many steps from where its key
// belongs: a call of a statement without a place searches no further.
#define MMLOG_RATE_LIMIT_PLACES 8192u
#define MMLOG_RATE_LIMIT_STEPS 32u

// Returns the statement's place, and takes one if it had none; null if there is no place for it.
// `key` is not 0. Async-signal-safe.
mmlog_rate_limit *_Nullable mmlog_rate_limit_of(mmlog_limit_kind kind, uint64_t key);

#pragma clang assume_nonnull end

#endif
