#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "CMMLogWriter.h"

mmlog_state mmlog_no_state = {.place = mmlog_no_state.own + 1};

mmlog_state *mmlog_make_state(mmlog_state *next, bool is_text, uint64_t head) {
  mmlog_state *state = calloc(1, sizeof *state);
  if (state == NULL) return NULL;
  state->head = head;
  state->next = next;
  state->is_text = is_text;
  state->place = mmlog_state_own(state);
  return state;
}

static inline void relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb");
#endif
}

// The thread that has the lock needs some nanoseconds, unless it is not running.
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
  // Nobody has the lock for long. If somebody does, one of the copies may not be whole.
  bool is_locked = state->is_text && (mmlog_try_lock_state(state) || mmlog_wait_for_state(state));
  const uint64_t *old = mmlog_state_place(state);
  uint32_t head_words = mmlog_state_head_words(state);
  uint64_t head = __atomic_load_n(old - head_words, __ATOMIC_ACQUIRE);
  if (state->is_text) {
    memcpy(place, old, 2 * MMLOG_STATE_COPY_WORDS * sizeof *place);
  } else {
    __atomic_store_n(place, __atomic_load_n(old, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
  }
  __atomic_store_n(place - head_words, head, __ATOMIC_RELEASE);
  __atomic_store_n(&state->place, place, __ATOMIC_RELEASE);
  if (is_locked) mmlog_unlock_state(state);
}

void mmlog_forget_state(mmlog_state *state) {
  memset(state->own, 0, sizeof state->own);
  state->lock = 0;
  state->ordinal = 0;
  state->place = mmlog_state_own(state);
}
