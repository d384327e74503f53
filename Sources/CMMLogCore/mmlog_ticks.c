#include "CMMLogCore.h"

#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#if defined(__aarch64__)
bool mmlog_ticks_from_cpu = true;
#else
bool mmlog_ticks_from_cpu = false;
#endif

#if defined(__x86_64__)
__attribute__((constructor)) static void mmlog_choose_ticks(void) {
  unsigned a, b, c, d = 0;
  // AMD64 Architecture Programmer's Manual 3, Fn8000_0007 EDX bit 8: the counter runs at one rate
  // in every power state.
  mmlog_ticks_from_cpu = __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & (1u << 8));
}
#endif

// The low bits that a coarse counter or clock leaves out.
static uint64_t mmlog_fine_bits = 0;
static bool mmlog_steps_counter = false;

void mmlog_coarsen_ticks(void) {
#if defined(__x86_64__)
  // From now on, calls read the counter out of line. So this setting costs nothing in services that
  // do not use it.
  mmlog_steps_counter |= mmlog_ticks_from_cpu;
  mmlog_ticks_from_cpu = false;
#endif
  mmlog_fine_bits = mmlog_steps_counter ? 2047 : 511;
}

uint64_t mmlog_ticks_from_clock(void) {
#if defined(__x86_64__)
  if (mmlog_steps_counter) return __builtin_ia32_rdtsc() & ~mmlog_fine_bits;
#endif
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return ((uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec) & ~mmlog_fine_bits;
}
