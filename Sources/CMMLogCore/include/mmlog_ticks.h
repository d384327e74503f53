// Ticks: the processor's invariant counter, or CLOCK_MONOTONIC in nanoseconds where there is none.

#ifndef MMLOG_TICKS_H
#define MMLOG_TICKS_H

#include <stdbool.h>
#include <stdint.h>

// True if `mmlog_ticks` reads the processor's counter as it is. Decided once, before main.
extern bool mmlog_ticks_from_cpu;

// From now on, makes `mmlog_ticks` advance in steps of 2,048 of the counter (half a microsecond to
// one, at two to four gigahertz) or of 512 ns: for times that are not known more exactly. Ticks are
// then multiples of a power of two, which archives store in fewer bits. Not on arm64, whose counter
// is slower. Call it before any other thread runs, and before a store is opened: log calls of other
// threads would read the counter as it is.
void mmlog_coarsen_ticks(void);

// CLOCK_MONOTONIC in nanoseconds; after `mmlog_coarsen_ticks`, the counter in steps if there is
// one.
uint64_t mmlog_ticks_from_clock(void);

static inline uint64_t mmlog_ticks(void) {
#if defined(__x86_64__)
  if (__builtin_expect(mmlog_ticks_from_cpu, 1)) return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  uint64_t ticks;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#endif
  return mmlog_ticks_from_clock();
}

// The counter, for functions that must call nothing. May be read only if `mmlog_has_counter`.
#if defined(__x86_64__)
static inline bool mmlog_has_counter(void) { return mmlog_ticks_from_cpu; }
static inline uint64_t mmlog_counter(void) { return __builtin_ia32_rdtsc(); }
#elif defined(__aarch64__)
static inline bool mmlog_has_counter(void) { return true; }
static inline uint64_t mmlog_counter(void) { return mmlog_ticks(); }
#else
static inline bool mmlog_has_counter(void) { return false; }
static inline uint64_t mmlog_counter(void) { return 0; }
#endif

#endif
