// What the harness needs of the machine and Swift cannot express: serialized reads of the
// processor's counter, pinning, shared counters, and a count of allocations.

#ifndef CHARNESS_H
#define CHARNESS_H

#include <stddef.h>
#include <stdint.h>

// Reads the counter after everything before it has been done, and before anything behind it begins:
// so that no part of a measured call moves out from between two reads, and no part of the harness
// moves in.
static inline uint64_t harness_ticks(void) {
#if defined(__x86_64__)
  uint32_t low, high;
  __asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : : "memory");
  return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
  uint64_t ticks;
  __asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(ticks) : : "memory");
  return ticks;
#else
#error "The harness reads the counters of x86-64 and arm64 only."
#endif
}

// Spins until the counter has come to `ticks`.
static inline void harness_spin_until(uint64_t ticks) {
  while ((int64_t)(harness_ticks() - ticks) < 0) {}
}

// CLOCK_MONOTONIC in nanoseconds.
uint64_t harness_clock(void);
// The calling thread's time on a processor, in nanoseconds.
uint64_t harness_thread_clock(void);

// How many processors this process may use.
int harness_processors(void);
// Binds the calling thread to one processor. `number` counts back from the last processor, modulo
// their number: 0 is the one that interrupts prefer least. Threads that the calling thread starts
// inherit the binding.
void harness_pin(int number);
// Lets the calling thread run anywhere again.
void harness_unpin(void);

// How often the calling thread has called malloc, calloc, realloc and their aligned variants.
uint64_t harness_allocations(void);

static inline void harness_store_release(uint64_t *word, uint64_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}
static inline uint64_t harness_load_acquire(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
static inline uint64_t harness_add(uint64_t *word, uint64_t value) {
  return __atomic_add_fetch(word, value, __ATOMIC_ACQ_REL);
}

// Empty, and not inlined: a measured call that does nothing shows what the harness itself costs.
void harness_null_order(uint64_t id, const char *user, double elapsed, uint64_t quantity);
void harness_null_text(const char *text);
// Takes a result, so that the compiler cannot leave it out.
void harness_consume(uint64_t);

#endif
