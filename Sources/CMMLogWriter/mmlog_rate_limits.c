#include "CMMLogWriter.h"

static mmlog_rate_limit limits[MMLOG_LIMIT_KINDS][MMLOG_RATE_LIMIT_PLACES];

mmlog_rate_limit *mmlog_rate_limit_of(mmlog_limit_kind kind, uint64_t key) {
  for (uint32_t step = 0; step < MMLOG_RATE_LIMIT_STEPS; step++) {
    mmlog_rate_limit *limit = &limits[kind][(key + step) % MMLOG_RATE_LIMIT_PLACES];
    uint64_t found = __atomic_load_n(&limit->key, __ATOMIC_RELAXED);
    // A thread that is second to take a free place finds out which statement has it now.
    if (found == 0 &&
        __atomic_compare_exchange_n(&limit->key, &found, key, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED)) {
      return limit;
    }
    if (found == key) return limit;
  }
  return NULL;
}
