#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "CMMLogWriter.h"

mmlog_state mmlog_no_state = {.place = mmlog_no_state.own};

mmlog_state *mmlog_make_state(mmlog_state *next, bool is_text) {
  mmlog_state *state = calloc(1, sizeof *state);
  if (state == NULL) return NULL;
  state->place = state->own;
  state->next = next;
  state->is_text = is_text;
  return state;
}

static inline void relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb");
#endif
}

// Whoever has it needs some nanoseconds, unless it is not running.
bool mmlog_wait_for_state(mmlog_state *state) {
  for (int i = 0; i < 200; i++) {
    if (__atomic_load_n(&state->lock, __ATOMIC_RELAXED) == 0 && mmlog_try_lock_state(state))
      return true;
    relax();
  }
  int error = errno;
  const struct timespec pause = {0, 50000};
  bool is_locked = false;
  for (int i = 0; i < 100 && !is_locked; i++) {
    nanosleep(&pause, NULL);
    is_locked = mmlog_try_lock_state(state);
  }
  errno = error;
  return is_locked;
}

void mmlog_move_state(mmlog_state *state, uint64_t *place) {
  if (!state->is_text) {
    uint64_t word = __atomic_load_n(mmlog_state_place(state), __ATOMIC_RELAXED);
    __atomic_store_n(place, word, __ATOMIC_RELAXED);
    __atomic_store_n(&state->place, place, __ATOMIC_RELEASE);
    return;
  }
  // Nobody has it for long; if somebody does, it is a copy that may not be whole.
  bool is_locked = mmlog_try_lock_state(state) || mmlog_wait_for_state(state);
  memcpy(place, mmlog_state_place(state), sizeof state->own);
  __atomic_store_n(&state->place, place, __ATOMIC_RELEASE);
  if (is_locked) mmlog_unlock_state(state);
}

void mmlog_forget_state(mmlog_state *state) {
  memset(state->own, 0, sizeof state->own);
  state->lock = 0;
  state->ordinal = 0;
  state->place = state->own;
}
