#include "CMMLogWriter.h"

static mmlog_turn turns[MMLOG_TURNS];

mmlog_turn *mmlog_turn_of(uint64_t key) {
  for (uint32_t step = 0; step < MMLOG_TURNS; step++) {
    mmlog_turn *turn = &turns[(key + step) % MMLOG_TURNS];
    uint64_t found = __atomic_load_n(&turn->key, __ATOMIC_RELAXED);
    // Whoever comes second to a place that was free finds whose it is now.
    if (found == 0 &&
        __atomic_compare_exchange_n(&turn->key, &found, key, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      return turn;
    }
    if (found == key) return turn;
  }
  return NULL;
}
