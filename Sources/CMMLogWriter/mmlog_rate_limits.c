#include "CMMLogWriter.h"

static mmlog_rate_limit limits[MMLOG_RATE_LIMITS];

mmlog_rate_limit *mmlog_rate_limit_of(uint64_t key) {
  for (uint32_t step = 0; step < MMLOG_RATE_LIMITS; step++) {
    mmlog_rate_limit *limit = &limits[(key + step) % MMLOG_RATE_LIMITS];
    uint64_t found = __atomic_load_n(&limit->key, __ATOMIC_RELAXED);
    // Whoever comes second to a place that was free finds whose it is now.
    if (found == 0 &&
        __atomic_compare_exchange_n(&limit->key, &found, key, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED)) {
      return limit;
    }
    if (found == key) return limit;
  }
  return NULL;
}
