// State slots: named places in the ring that are overwritten in place (docs/FORMAT.md, 3).

#ifndef MMLOG_STATE_H
#define MMLOG_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

#define MMLOG_STATE_COPY_WORDS 8u

// A slot as its process has it: where its value is. Never freed, as handles are plain pointers to
// it; and the memory that `place` has ever pointed to is never unmapped, as a thread may be between
// the load and its store.
typedef struct mmlog_state {
  uint64_t *place;   // a number's word, or the two copies of a text: in the ring, or `own`
  uint32_t lock;     // of a text: 1 while somebody stores it
  uint32_t ordinal;  // of its newest copy
  struct mmlog_state *_Nullable next;  // of the store
  bool is_text;  // `place` has room for the copies of a text; in others, none is stored
  // What is stored while there is no ring.
  uint64_t own[2 * MMLOG_STATE_COPY_WORDS];
} mmlog_state;

// What slots have that no reader sees, as all places were taken. Texts are not stored there.
extern mmlog_state mmlog_no_state;
static inline mmlog_state *mmlog_state_of_nobody(void) { return &mmlog_no_state; }

// The C interface's functions find it there.
_Static_assert(offsetof(mmlog_state, place) == 0, "mmlog_slot in mmlog.h begins with the place");

// Null if there is no memory.
mmlog_state *_Nullable mmlog_make_state(mmlog_state *_Nullable next, bool is_text);

static inline uint64_t *mmlog_state_place(const mmlog_state *state) {
  return __atomic_load_n(&state->place, __ATOMIC_ACQUIRE);
}
static inline uint64_t *mmlog_state_own(mmlog_state *state) { return state->own; }

// Stores a number. Any thread and signal handler.
static inline void mmlog_store_state(const mmlog_state *state, uint64_t word) {
  __atomic_store_n(mmlog_state_place(state), word, __ATOMIC_RELAXED);
}

// For whoever stores a text. Another thread that has the lock is waited for, but not for ever: not
// longer than some milliseconds, as it may be the one that a signal handler has interrupted.
static inline bool mmlog_try_lock_state(mmlog_state *state) {
  return __atomic_exchange_n(&state->lock, 1, __ATOMIC_ACQUIRE) == 0;
}
bool mmlog_wait_for_state(mmlog_state *state);
static inline void mmlog_unlock_state(mmlog_state *state) {
  __atomic_store_n(&state->lock, 0, __ATOMIC_RELEASE);
}

// Has the value be elsewhere from now on: a number's word, or both copies of a text.
void mmlog_move_state(mmlog_state *state, uint64_t *place);

// Has the value be the process's own from now on, and as at first. For a child of fork, where nobody
// else is.
void mmlog_forget_state(mmlog_state *state);

#pragma clang assume_nonnull end

#endif
