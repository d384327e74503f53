// State slots: named places in the ring whose values are overwritten (docs/FORMAT.md, 3).

#ifndef MMLOG_STATE_H
#define MMLOG_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

#define MMLOG_STATE_COPY_WORDS 8u

// A slot as its process has it: where its value is. Never freed, because handles are plain pointers
// to it. Memory that `place` has ever pointed to is never unmapped, because a thread may be between
// its load of `place` and its store.
typedef struct mmlog_state {
  uint64_t *place;   // a number's word, or the two copies of a text: in the ring, or in `own`
  uint64_t head;     // the first word that its slot in a ring has if there is a value
  uint32_t lock;     // for a text: 1 while somebody stores it
  uint32_t ordinal;  // the number of the newest copy of a text
  struct mmlog_state *_Nullable next;  // the next of the store's slots
  bool is_text;  // `place` has room for the copies of a text; other slots store no texts
  // Gets the value while there is no ring: a slot as a ring has it.
  uint64_t own[3 * MMLOG_STATE_COPY_WORDS];
} mmlog_state;

// The state of slots that no reader sees, because all places were taken. It stores no texts.
extern mmlog_state mmlog_no_state;
static inline mmlog_state *mmlog_state_of_nobody(void) { return &mmlog_no_state; }

// The C interface's functions find `place` and `head` there.
_Static_assert(offsetof(mmlog_state, place) == 0 && offsetof(mmlog_state, head) == 8,
               "mmlog_slot in mmlog.h begins with the place and the head");

// Makes a slot; null if there is no memory.
mmlog_state *_Nullable mmlog_make_state(mmlog_state *_Nullable next, bool is_text, uint64_t head);

static inline uint64_t *mmlog_state_place(const mmlog_state *state) {
  return __atomic_load_n(&state->place, __ATOMIC_ACQUIRE);
}
// By how many words a place is behind the first word of its slot.
static inline uint32_t mmlog_state_head_words(const mmlog_state *state) {
  return state->is_text ? MMLOG_STATE_COPY_WORDS : 1;
}
static inline uint64_t *mmlog_state_own(mmlog_state *state) {
  return state->own + mmlog_state_head_words(state);
}

// Stores a number, and then that there is one. Stores both each time, which takes no branch. Any
// thread and signal handler.
static inline void mmlog_store_state(const mmlog_state *state, uint64_t word) {
  uint64_t *place = mmlog_state_place(state);
  __atomic_store_n(place, word, __ATOMIC_RELAXED);
  __atomic_store_n(place - 1, state->head, __ATOMIC_RELEASE);
}

// Makes readers see the slot whose value is at a place. For a text, call this before the text is
// stored: while the slot seems free, readers would take the text's copies for slots.
static inline void mmlog_show_state(const mmlog_state *state, uint64_t *place) {
  __atomic_store_n(place - mmlog_state_head_words(state), state->head, __ATOMIC_RELEASE);
}

// For storing a text. Waits for another thread that has the lock, but only for some milliseconds: a
// signal handler may have interrupted the thread that has it.
static inline bool mmlog_try_lock_state(mmlog_state *state) {
  return __atomic_exchange_n(&state->lock, 1, __ATOMIC_ACQUIRE) == 0;
}
bool mmlog_wait_for_state(mmlog_state *state);
static inline void mmlog_unlock_state(mmlog_state *state) {
  __atomic_store_n(&state->lock, 0, __ATOMIC_RELEASE);
}

// Moves the value, if there is one, to another place: a number's word, or both copies of a text.
void mmlog_move_state(mmlog_state *state, uint64_t *place);

// Makes the slot the process's own, without a value. For a child of fork, where no other thread is.
void mmlog_forget_state(mmlog_state *state);

#pragma clang assume_nonnull end

#endif
