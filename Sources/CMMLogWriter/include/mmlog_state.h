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
  uint64_t *place;   // a number's word, or the two copies of a text: in the ring, or in `own`
  uint64_t head;     // the first word of its slot in a ring, where it says that there is a value
  uint32_t lock;     // of a text: 1 while somebody stores it
  uint32_t ordinal;  // of its newest copy
  struct mmlog_state *_Nullable next;  // of the store
  bool is_text;  // `place` has room for the copies of a text; in others, none is stored
  // What is stored while there is no ring: a slot as a ring has it.
  uint64_t own[3 * MMLOG_STATE_COPY_WORDS];
} mmlog_state;

// What slots have that no reader sees, as all places were taken. Texts are not stored there.
extern mmlog_state mmlog_no_state;
static inline mmlog_state *mmlog_state_of_nobody(void) { return &mmlog_no_state; }

// The C interface's functions find them there.
_Static_assert(offsetof(mmlog_state, place) == 0 && offsetof(mmlog_state, head) == 8,
               "mmlog_slot in mmlog.h begins with the place and the head");

// Null if there is no memory.
mmlog_state *_Nullable mmlog_make_state(mmlog_state *_Nullable next, bool is_text, uint64_t head);

static inline uint64_t *mmlog_state_place(const mmlog_state *state) {
  return __atomic_load_n(&state->place, __ATOMIC_ACQUIRE);
}
// How many words a place is behind the first word of its slot.
static inline uint32_t mmlog_state_head_words(const mmlog_state *state) {
  return state->is_text ? MMLOG_STATE_COPY_WORDS : 1;
}
static inline uint64_t *mmlog_state_own(mmlog_state *state) {
  return state->own + mmlog_state_head_words(state);
}

// Stores a number, and then that there is one: each time, which takes no branch. Any thread and
// signal handler.
static inline void mmlog_store_state(const mmlog_state *state, uint64_t word) {
  uint64_t *place = mmlog_state_place(state);
  __atomic_store_n(place, word, __ATOMIC_RELAXED);
  __atomic_store_n(place - 1, state->head, __ATOMIC_RELEASE);
}

// Has readers see the slot whose value is at a place. Of a text, to be called before one is stored:
// while the slot seems free, its copies would be taken for slots.
static inline void mmlog_show_state(const mmlog_state *state, uint64_t *place) {
  __atomic_store_n(place - mmlog_state_head_words(state), state->head, __ATOMIC_RELEASE);
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

// Has the value, if there is one, be elsewhere from now on: a number's word, or both copies of a
// text.
void mmlog_move_state(mmlog_state *state, uint64_t *place);

// Has the slot be the process's own from now on, and without a value. For a child of fork, where
// nobody else is.
void mmlog_forget_state(mmlog_state *state);

#pragma clang assume_nonnull end

#endif
