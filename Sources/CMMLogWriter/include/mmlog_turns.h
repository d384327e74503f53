// What log statements that are not recorded each time remember, in static memory: no lock, no
// allocation.

#ifndef MMLOG_TURNS_H
#define MMLOG_TURNS_H

#include <stdint.h>

#pragma clang assume_nonnull begin

// One statement's; touched by atomic operations only.
typedef struct mmlog_turn {
  uint64_t key;      // the statement; 0: nobody's
  uint64_t state;    // how often it was reached, or when it may be recorded again
  uint64_t skipped;  // how often it was not recorded since it was
} mmlog_turn;

#define MMLOG_TURNS 4096u

// The statement's place, taken if it had none; null if all are taken. `key` is not 0.
// Async-signal-safe.
mmlog_turn *_Nullable mmlog_turn_of(uint64_t key);

#pragma clang assume_nonnull end

#endif
