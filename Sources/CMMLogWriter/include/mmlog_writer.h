// The state that the hot path works with. Declared in C, because it is thread-local, and its layout
// is part of inlined code. Nothing of it is ever on disk.

#ifndef MMLOG_WRITER_H
#define MMLOG_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#pragma clang assume_nonnull begin

// One place of a writer's cache of call sites. The cache is direct mapped: some bits of a hash, as
// they stand, are the place's distance from the cache's beginning.
typedef struct mmlog_site_slot {
  uint64_t hash;  // 0: empty
  uint64_t site;  // the call site's number in the ring's dictionary
} mmlog_site_slot;

#define MMLOG_SITE_SLOTS 4096u
#define MMLOG_SITES_SIZE (MMLOG_SITE_SLOTS * sizeof(mmlog_site_slot))
static inline mmlog_site_slot *mmlog_site_slot_of(mmlog_site_slot *sites, uint64_t hash) {
  uint64_t distance = hash & (MMLOG_SITES_SIZE - sizeof(mmlog_site_slot));
  return (mmlog_site_slot *)((char *)sites + distance);
}
#define MMLOG_EMERGENCY_SIZE 4096

// A key of metadata whose value is already in the record. If the key's text is small, the text,
// with its length in the byte above. If not, its address, and its length. Above that, the value's
// type.
typedef struct mmlog_key {
  uint64_t first, second;
} mmlog_key;

// A context as it stands in records of the session that has this gate. The context's words follow,
// and then at least MMLOG_CONTEXT_PADDING zeros.
typedef struct mmlog_context {
  const void *_Nullable gate;
  uint64_t check;  // the check of its words, from 0
  uint32_t skip;   // continues a check over its words (mmlog_crc32c_skip); 0: cannot
  uint32_t count;  // how many words
} mmlog_context;

#define MMLOG_CONTEXT_PADDING 3u
static inline uint64_t *mmlog_context_words(const mmlog_context *context) {
  return (uint64_t *)(context + 1);
}
// The gate is stored last of all that other threads may use of a context.
static inline void mmlog_set_context_gate(mmlog_context *context, const void *gate) {
  __atomic_store_n(&context->gate, gate, __ATOMIC_RELEASE);
}
// Copies the words of a context, and some of the zeros behind them. The words are few: a call would
// cost more.
static inline void mmlog_copy_context(uint64_t *target, const mmlog_context *context) {
  const uint64_t *word = mmlog_context_words(context), *end = word + context->count;
  do {
    memcpy(target, word, 4 * sizeof *word);
    target += 4;
    word += 4;
    // Without this, the compiler makes the loop a call.
    __asm__("" : "+r"(word));
  } while (word < end);
}

// How many words of a call site's parts a writer has room for; see MessageParts.
#define MMLOG_SITE_WORDS 48u

#define MMLOG_KEYS 32u
#define MMLOG_NO_KEYS UINT32_MAX

// Where a thread writes its records for a store. A thread has a few writers for each store, one for
// each depth of log calls inside log calls. What every log call needs is in one cache line.
typedef struct mmlog_writer {
  uint32_t busy;                // 1 from a log call's first step to its last
  uint32_t archive_level;       // entries below it are flight records, and have no number
  const void *_Nullable gate;   // equal to the gate of its store's labels; null: none
  uint8_t *cursor;              // the next free byte; a multiple of 8
  uint8_t *limit;               // the end of the memory that it may write to
  uint64_t seed;                // where a record's checksum starts
  mmlog_site_slot *sites;       // MMLOG_SITE_SLOTS places, or as many empty ones
  uint64_t number;              // the number of its next entry: counts committed and lost ones
  uint64_t record_flags;        // the record's flags so far, as in its identity word; and
                                // MMLOG_ASKED
  // The parts of the record's message, if its call site may be new. They are near, where
  // instructions that use them are short.
  uint64_t site_words[MMLOG_SITE_WORDS];

  // Not for every log call.
  uint64_t last_span;           // the number of the last span that was begun here
  uint32_t id;                  // identifies it in the ring; unique in the session, never 0
  uint64_t *_Nullable record_next;  // where the next word of a record goes that a function has
                                    // left here; see RecordCursor
  uint64_t *_Nullable block_start;  // where the record began when its metadata began
  uint64_t block_checksum;      // the record's checksum at that time
  uint64_t key_hash;            // the hash of the keys so far and their types
  uint64_t block;               // where in the record the metadata begins, in words
  uint32_t values_are_checked;  // 1: all values so far were added with a check over them,
                                // and the record has not moved, and is not lost
  uint32_t keys_size;           // the size of the kept keys in bytes; MMLOG_NO_KEYS: keys are in
                                // the record
  mmlog_key keys[MMLOG_KEYS];   // the keys of the metadata so far
  uint64_t record_checksum;     // of a record that is complete but for its call site, which is
  uint64_t record_tail;         // not known yet: the record's checksum so far, its
  uint64_t site_hash;           // identity word without the call site, and the call site's hash

  // From here on, for the outlined parts only.
  struct mmlog_thread *thread;
  struct mmlog_writer *_Nullable outer;  // the open writer that this one interrupted, if any
  uint8_t *_Nullable scratch;       // private memory for a record that has no place in the ring yet
  uint64_t scratch_size;
  uint8_t *_Nullable segment_cursor;  // its place in its segment while it works in scratch memory
  uint8_t *_Nullable segment_limit;
  uint64_t segment_seed;
  uint32_t segment;                 // the number of its segment
  uint32_t has_segment;
  uint32_t is_holder;               // 1: counts among the writers that have a segment, or wait for
                                    // their first
  uint32_t in_scratch;
  uint32_t lost;                    // the record is counted and not kept: its cause plus 1
  uint32_t has_waited;              // 1: this call has waited for a free segment
  uint32_t builds_beside;           // 1: builds all in scratch memory: the ring is encrypted
  int64_t stream_distance;          // from a byte of its segment to the stream's byte that it is
                                    // combined with; 0: the segment is not encrypted
  const mmlog_context *_Nullable context;  // the record's context, if it has one
  uint64_t context_label;           // the label, and whether it is cut, as in an identity word
  mmlog_context *_Nullable merged;  // memory for a context that is put together for one record
  uint64_t merged_capacity;         // how many words that memory has room for
  uint64_t unusual_calls;           // incremented when what was built at the writer's place is no
                                    // call's any more, although it may still stand there
  uint64_t wait_end;                // until when a call may wait for segments that takes several,
                                    // by the monotonic clock; 0: it takes one
  uint64_t padding[3];              // to the cache line's end
  // The built-in memory, for records when there is no other memory.
  uint8_t emergency[MMLOG_EMERGENCY_SIZE];
} mmlog_writer;

#define MMLOG_CACHE_LINE 64u
_Static_assert(offsetof(mmlog_writer, site_words) == MMLOG_CACHE_LINE &&
                   sizeof(mmlog_writer) % MMLOG_CACHE_LINE == 0,
               "what log calls need is in one cache line");

// A writer's `busy`. Atomic, because whoever closes the store inspects it, too. The fences are for
// signal handlers on the same thread, and for membarrier(2) on others.
static inline bool mmlog_is_busy_here(const mmlog_writer *writer) {
  return __atomic_load_n(&writer->busy, __ATOMIC_RELAXED) != 0;
}
static inline bool mmlog_is_busy(const mmlog_writer *writer) {
  return __atomic_load_n(&writer->busy, __ATOMIC_ACQUIRE) != 0;
}
static inline void mmlog_begin_busy(mmlog_writer *writer) {
  __atomic_store_n(&writer->busy, 1, __ATOMIC_RELAXED);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
// For a writer that any thread may acquire. True if it was free, and is the caller's now.
static inline bool mmlog_acquire(mmlog_writer *writer) {
  uint32_t free = 0;
  return __atomic_compare_exchange_n(
      &writer->busy, &free, 1, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}
static inline void mmlog_end_busy(mmlog_writer *writer) {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  __atomic_store_n(&writer->busy, 0, __ATOMIC_RELEASE);
}

// Whether a context is ready for the session that the writer writes for.
static inline bool mmlog_context_is_ready(
    const mmlog_context *context, const mmlog_writer *writer) {
  return __atomic_load_n(&context->gate, __ATOMIC_ACQUIRE) == writer->gate;
}

// Whether the record of the writer's call stands in its segment, is not lost, and is not that of a
// call inside another.
static inline bool mmlog_is_usual(const mmlog_writer *writer) {
  return ((uintptr_t)writer->outer | writer->in_scratch | writer->lost) == 0;
}

// Gives an entry its number, if entries of its level have one. Called when the entry has been
// committed, or is lost.
static inline void mmlog_number_entry(mmlog_writer *writer, uint32_t level) {
  writer->number += level >= writer->archive_level;
}

// The secret in hashes of keys, and of texts that are known at run time only. It is random, so that
// nobody can find two with the same hash. Set before there is a session.
extern uint64_t mmlog_key_secret[2];
static inline void mmlog_set_key_secret(uint64_t first, uint64_t second) {
  mmlog_key_secret[0] = first;
  mmlog_key_secret[1] = second;
}
static inline void mmlog_begin_keys(mmlog_writer *writer) {
  writer->keys_size = 0;
  writer->key_hash = mmlog_key_secret[1];
}

// A multiplication to 128 bits, folded, as in wyhash (Wang Yi, 2019).
static inline uint64_t mmlog_mix_words(uint64_t first, uint64_t second) {
  unsigned __int128 product =
      (unsigned __int128)(first ^ mmlog_key_secret[0]) * (second ^ mmlog_key_secret[1]);
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

// No multiplication waits for that of the key before: the products are rotated by their place, and
// combined. So a key must be one product, or else two products may be at the same place.
_Static_assert(MMLOG_KEYS <= 64, "each key's place has a rotation of its own");
static inline void mmlog_mix_key(mmlog_writer *writer, uint64_t first, uint64_t second) {
  uint64_t hash = writer->key_hash << 7 | writer->key_hash >> 57;
  writer->key_hash = hash ^ mmlog_mix_words(first, second);
}

// A hash of a text that somebody outside may have chosen, made with the same secret. It is a hash
// of the text's size and bytes, in words, with zeros behind them.
static inline uint64_t mmlog_begin_text_hash(size_t size) { return mmlog_key_secret[1] + size; }
static inline uint64_t mmlog_mix_text(uint64_t hash, uint64_t first, uint64_t second) {
  return mmlog_mix_words(first ^ hash, second);
}

// Keeps a key beside the writer. False: there is no room for the key, or the keys are in the
// record.
static inline bool mmlog_keep_key(mmlog_writer *writer, uint64_t first, uint64_t second) {
  uint64_t size = writer->keys_size;
  if (size >= sizeof writer->keys) return false;
  *(mmlog_key *)((char *)writer->keys + size) = (mmlog_key){first, second};
  writer->keys_size = (uint32_t)(size + sizeof(mmlog_key));
  return true;
}

#define MMLOG_DEPTHS 4u

// What a thread has for one session of a store.
typedef struct mmlog_thread {
  mmlog_writer writers[MMLOG_DEPTHS];
  const void *_Nullable session;                     // that it writes for; null: none any more
  struct mmlog_thread *_Nullable next_of_session;
  struct mmlog_thread *_Nullable next_of_thread;     // or of blocks that no thread has
  uint32_t in_use;  // 0: free in its session; 2: its thread takes it for another session
  uint32_t ordinal;                                  // 1, 2, 3 … in the session
  uint32_t thread_id;
  uint32_t visitors;  // how many signal handlers use the ring without one of the writers
  uint64_t name[2];                                  // 16 bytes, zero-padded
} mmlog_thread;

// A signal handler announces itself before it checks whether the ring is still there, as with
// `mmlog_acquire`: whoever closes the store closes the gate first, and then looks for visitors.
static inline void mmlog_begin_visit(mmlog_thread *thread) {
  __atomic_fetch_add(&thread->visitors, 1, __ATOMIC_SEQ_CST);
}
static inline void mmlog_end_visit(mmlog_thread *thread) {
  __atomic_fetch_sub(&thread->visitors, 1, __ATOMIC_RELEASE);
}
static inline bool mmlog_has_visitors(const mmlog_thread *thread) {
  return __atomic_load_n(&thread->visitors, __ATOMIC_ACQUIRE) != 0;
}

// A thread's cache of call sites follows in pages of its own: pages that are never used take no
// memory.
#define MMLOG_PAGE 4096u
#define MMLOG_THREAD_SIZE ((sizeof(mmlog_thread) + MMLOG_PAGE - 1) / MMLOG_PAGE * MMLOG_PAGE)
static inline size_t mmlog_thread_size(void) { return MMLOG_THREAD_SIZE + MMLOG_SITES_SIZE; }
static inline size_t mmlog_sites_size(void) { return MMLOG_SITES_SIZE; }
static inline mmlog_site_slot *mmlog_sites_of(mmlog_thread *thread) {
  return (mmlog_site_slot *)((char *)thread + MMLOG_THREAD_SIZE);
}

static inline const void *_Nullable mmlog_load_session(const mmlog_thread *thread) {
  return __atomic_load_n(&thread->session, __ATOMIC_ACQUIRE);
}
static inline void mmlog_store_session(mmlog_thread *thread, const void *_Nullable session) {
  __atomic_store_n(&thread->session, session, __ATOMIC_RELEASE);
}

// What loggers of one label share.
typedef struct mmlog_label {
  uint32_t level;               // records below it are not made
  uint32_t own_level;           // what the program has set, even if `level` is from outside; and
                                // MMLOG_OVERRIDDEN
  uint64_t identity;            // the label's number, where it stands in a record's identity word
  const void *_Nullable gate;   // the store's while it accepts records
  const void *_Nullable store;  // the store, for the outlined parts; null: none yet
  // The store's switches of single statements, and which of them belong to this label, one bit
  // each. If any does, calls of all levels come to the outlined part: see MMLOG_SWITCHED.
  struct mmlog_switch *_Nullable switches;
  uint32_t switch_bits;
  struct mmlog_label_limit *_Nullable limit;  // the limit of its statements; see MMLOG_LIMITED
  // The state of the label's other loggers, if some were made with the store and some without one;
  // null: all have this state.
  struct mmlog_label *_Nullable twin;
} mmlog_label;

// The C interface's macros read the level there, before any call.
_Static_assert(offsetof(mmlog_label, level) == 0, "mmlog_logger in mmlog.h begins with the level");

// The label that loggers with a context have. It lets every level pass, and its gate is no
// writer's. So calls of these loggers come to the outlined part, which knows their real label.
extern mmlog_label mmlog_bound_label;
static inline mmlog_label *mmlog_label_of_bound(void) { return &mmlog_bound_label; }

// Whether log calls have to look for the context of their task: true once somebody has set one.
extern bool mmlog_has_task_contexts;
static inline bool mmlog_task_contexts_are_used(void) {
  return __atomic_load_n(&mmlog_has_task_contexts, __ATOMIC_SEQ_CST);
}
static inline void mmlog_use_task_contexts(void) {
  __atomic_store_n(&mmlog_has_task_contexts, true, __ATOMIC_SEQ_CST);
}

#define MMLOG_OVERRIDDEN (1u << 8)
// Single statements are turned on: `level` lets all pass, and the outlined part checks the rest.
#define MMLOG_SWITCHED (1u << 9)
// The label has a rate limit: the outlined part counts its statements.
#define MMLOG_LIMITED (1u << 10)
#define MMLOG_OWN_LEVEL 0xFFu
#define MMLOG_OVER_SHIFT 16u
#define MMLOG_OVER_LEVEL (0xFFu << MMLOG_OVER_SHIFT)

// `level` follows from `own_level`, and both change as one word, so that nobody needs a lock: the
// program may set a level while its drainer sets another one for somebody outside, or ends that.
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "level is the low half of the word");
typedef uint64_t __attribute__((may_alias)) mmlog_levels;

// The level that counts, except for statements that are turned on.
static inline uint32_t mmlog_level_of_word(uint32_t own) {
  return own & MMLOG_OVERRIDDEN ? own >> MMLOG_OVER_SHIFT & 0xFF : own & MMLOG_OWN_LEVEL;
}
// Acquires: the caller also sees what was stored before, which is the label's switches.
static inline uint32_t mmlog_level_word(const mmlog_label *label) {
  return __atomic_load_n(&label->own_level, __ATOMIC_ACQUIRE);
}

static inline void mmlog_change_levels(mmlog_label *label, uint32_t mask, uint32_t bits) {
  mmlog_levels *levels = (mmlog_levels *)&label->level;
  uint64_t old = __atomic_load_n(levels, __ATOMIC_RELAXED), desired;
  do {
    uint32_t own = ((uint32_t)(old >> 32) & ~mask) | bits;
    uint32_t level = own & MMLOG_SWITCHED ? 0 : mmlog_level_of_word(own);
    desired = (uint64_t)own << 32 | level;
  } while (!__atomic_compare_exchange_n(
      levels, &old, desired, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

// Sets the level as the program wants it, also of the label's other loggers. While a level is set
// from outside, this has no effect yet.
static inline void mmlog_set_level(mmlog_label *label, uint32_t level) {
  mmlog_change_levels(label, MMLOG_OWN_LEVEL, level);
  mmlog_label *twin = __atomic_load_n(&label->twin, __ATOMIC_ACQUIRE);
  if (twin != NULL) mmlog_change_levels(twin, MMLOG_OWN_LEVEL, level);
}
// Makes another state of the same label share the level that the program sets, from now on.
static inline void mmlog_share_level(mmlog_label *label, mmlog_label *twin) {
  __atomic_store_n(&label->twin, twin, __ATOMIC_RELEASE);
  __atomic_store_n(&twin->twin, label, __ATOMIC_RELEASE);
  mmlog_change_levels(twin, MMLOG_OWN_LEVEL, mmlog_level_word(label) & MMLOG_OWN_LEVEL);
}
// Sets the level as somebody outside wants it.
static inline void mmlog_override_level(mmlog_label *label, uint32_t level) {
  mmlog_change_levels(
      label, MMLOG_OVERRIDDEN | MMLOG_OVER_LEVEL, MMLOG_OVERRIDDEN | level << MMLOG_OVER_SHIFT);
}
// Goes back to the level that the program has set.
static inline void mmlog_end_override(mmlog_label *label) {
  mmlog_change_levels(label, MMLOG_OVERRIDDEN | MMLOG_OVER_LEVEL, 0);
}
static inline bool mmlog_is_overridden(const mmlog_label *label) {
  return mmlog_level_word(label) & MMLOG_OVERRIDDEN;
}

// A statement that is turned on, or a free place for one. Only atomic operations touch it, because
// threads may still compare with it when it gets another statement.
#define MMLOG_SWITCHES 16u
#define MMLOG_SWITCH_FILE 104u
typedef struct mmlog_switch {
  uint32_t line;  // 0: free
  uint32_t size;  // of the file's name
  uint64_t limit;   // how many records it lets pass; 0: any number
  uint64_t passed;  // how many records have asked to pass
  uint8_t file[MMLOG_SWITCH_FILE];  // a file's name, or the part behind a slash
} mmlog_switch;

// Makes MMLOG_SWITCHES switches, all free. They are never freed.
mmlog_switch *mmlog_make_switches(void);
// The file's name has MMLOG_SWITCH_FILE bytes at most.
void mmlog_set_switch(
    mmlog_switch *a_switch, const uint8_t *file, uint32_t size, uint32_t line, uint64_t limit);
static inline void mmlog_clear_switch(mmlog_switch *a_switch) {
  __atomic_store_n(&a_switch->line, 0, __ATOMIC_RELEASE);
}
static inline uint64_t mmlog_switch_passed(const mmlog_switch *a_switch) {
  return __atomic_load_n(&a_switch->passed, __ATOMIC_RELAXED);
}

// Sets which switches belong to a label.
void mmlog_set_switch_bits(mmlog_label *label, uint32_t bits);
static inline bool mmlog_is_switched(const mmlog_label *label) {
  return mmlog_level_word(label) & MMLOG_SWITCHED;
}
// Whether the outlined part has to check more than the level.
static inline bool mmlog_is_controlled(const mmlog_label *label) {
  return mmlog_level_word(label) & (MMLOG_SWITCHED | MMLOG_LIMITED);
}

// How often each statement of a label is recorded. Only atomic operations touch it. Never freed.
typedef struct mmlog_label_limit {
  uint64_t interval;    // in nanoseconds; 0: always
  uint32_t first;       // how many records of an interval pass first
  uint32_t every;       // and then one of so many; 0: none
  uint64_t suppressed;  // how many were not recorded
} mmlog_label_limit;

// Sets the limit, which all threads soon use. One thread at a time may call this.
void mmlog_set_label_limit(
    mmlog_label *label, uint64_t interval, uint32_t first, uint32_t every);
static inline bool mmlog_is_limited(const mmlog_label *label) {
  return mmlog_level_word(label) & MMLOG_LIMITED;
}
// How many records of a label its limit has suppressed so far.
static inline uint64_t mmlog_suppressed(const mmlog_label *label) {
  const mmlog_label_limit *limit = __atomic_load_n(&label->limit, __ATOMIC_ACQUIRE);
  return limit == NULL ? 0 : __atomic_load_n(&limit->suppressed, __ATOMIC_RELAXED);
}
// Whether a statement of a label may be recorded at the time `now`, in nanoseconds of a clock that
// nobody can set. Counts the statement; if it may not be recorded, also as suppressed. `key` is the
// statement's, and not 0. Async-signal-safe.
bool mmlog_is_within_limit(const mmlog_label *label, uint64_t key, uint64_t now);

// Whether a statement of a label is turned on. If it is, counts it. Async-signal-safe.
bool mmlog_passes_switch(
    const mmlog_label *label, const uint8_t *file, size_t size, uint32_t line);
// The same without counting it.
bool mmlog_would_pass_switch(
    const mmlog_label *label, const uint8_t *file, size_t size, uint32_t line);

// initial-exec, so that the address is one instruction away, even in a dynamic library.
#define MMLOG_TLS __attribute__((tls_model("initial-exec")))
extern _Thread_local mmlog_writer *mmlog_tls_writer MMLOG_TLS;
extern _Thread_local mmlog_thread *_Nullable mmlog_tls_threads MMLOG_TLS;

// The writer of threads that have none: always busy, never asked for a literal, never written to.
// So the hot path tests no pointer.
extern mmlog_writer mmlog_no_writer;

// The writer that this thread used last.
static inline mmlog_writer *mmlog_current_writer(void) { return mmlog_tls_writer; }
static inline void mmlog_set_current_writer(mmlog_writer *writer) { mmlog_tls_writer = writer; }
static inline mmlog_writer *mmlog_nobody(void) { return &mmlog_no_writer; }
static inline void mmlog_forget_current_writer(void) { mmlog_tls_writer = mmlog_nobody(); }

// A log call asks for the literal of its message: the next literal that its thread builds is built
// at the place of the call's writer. A literal that no call has asked for must not touch a writer
// that others commit with.
//
// Plain accesses, so that the compiler can remove both if a message is inlined into its call. A
// signal handler's log call has a writer of its own, and asks with that.
#define MMLOG_ASKED ((uint64_t)1)
static inline void mmlog_ask(mmlog_writer *writer) { writer->record_flags = MMLOG_ASKED; }
static inline bool mmlog_take_asked(mmlog_writer *writer) {
  bool is_asked = writer->record_flags & MMLOG_ASKED;
  // Otherwise these are flags of another record, or of the record around the literal.
  if (is_asked) writer->record_flags = 0;
  return is_asked;
}

// The writer that builds a literal.
typedef struct mmlog_builder {
  mmlog_writer *writer;
  bool is_lone;  // the writer belongs to the literal, and to no thread
} mmlog_builder;

// Makes a writer on the heap that belongs to no thread, and builds a record in its built-in memory.
mmlog_writer *mmlog_make_lone_writer(void);
void mmlog_free_lone_writer(mmlog_writer *writer);

static inline mmlog_builder mmlog_builder_of_literal(void) {
  mmlog_writer *writer = mmlog_current_writer();
  if (mmlog_take_asked(writer)) return (mmlog_builder){writer, false};
  return (mmlog_builder){mmlog_make_lone_writer(), true};
}

// The first of this thread's blocks, one for each session.
static inline mmlog_thread *_Nullable mmlog_threads(void) { return mmlog_tls_threads; }
static inline void mmlog_set_threads(mmlog_thread *_Nullable threads) {
  mmlog_tls_threads = threads;
}
// Adds a block at the beginning. A signal handler of this thread may do the same at the same time.
static inline void mmlog_add_thread(mmlog_thread *thread) {
  mmlog_thread *first = mmlog_tls_threads;
  do {
    thread->next_of_thread = first;
  } while (!__atomic_compare_exchange_n(
      &mmlog_tls_threads, &first, thread, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

// A thread that sees the gate of a session also sees what was set in the label before.
static inline const void *_Nullable mmlog_load_gate(const mmlog_label *label) {
  return __atomic_load_n(&label->gate, __ATOMIC_ACQUIRE);
}
static inline const void *_Nullable mmlog_load_store(const mmlog_label *label) {
  return __atomic_load_n(&label->store, __ATOMIC_ACQUIRE);
}
static inline void mmlog_store_store(mmlog_label *label, const void *_Nullable store) {
  __atomic_store_n(&label->store, store, __ATOMIC_RELEASE);
}
/* Whether the writer writes for the label's store, and that accepts records. */
static inline bool mmlog_gate_is_open(const mmlog_label *label, const mmlog_writer *writer) {
  return mmlog_load_gate(label) == writer->gate;
}
static inline void mmlog_store_gate(mmlog_label *label, const void *_Nullable gate) {
  __atomic_store_n(&label->gate, gate, __ATOMIC_RELEASE);
}

// Gates are multiples of 16. The lowest bits of a label's gate say why its calls come to the
// outlined part: to look for the context of their task, to find out whether their statement is
// turned on, or how often it may be recorded.
#define MMLOG_GATE_CONTEXTS ((uintptr_t)1)
#define MMLOG_GATE_SWITCHES ((uintptr_t)2)
#define MMLOG_GATE_LIMITS ((uintptr_t)4)

// Memory in which all threads at once build lost records. Never read.
#define MMLOG_DUMP_SIZE (1 << 20)
uint8_t *mmlog_dump(void);

// A thread's writers, which Swift would import as a tuple.
static inline mmlog_writer *mmlog_writer_at(mmlog_thread *thread, uint32_t depth) {
  return &thread->writers[depth];
}
static inline mmlog_key *mmlog_keys_of(mmlog_writer *writer) { return writer->keys; }
static inline uint64_t *mmlog_site_words_of(mmlog_writer *writer) { return writer->site_words; }
static inline uint8_t *mmlog_emergency_of(mmlog_writer *writer) { return writer->emergency; }

// An empty cache, for writers that must not have one. Never written to: writers that have it store
// no hits in it.
extern mmlog_site_slot mmlog_empty_sites[];
static inline mmlog_site_slot *mmlog_no_sites(void) { return mmlog_empty_sites; }

#pragma clang assume_nonnull end

#endif
