// Ordered access to words that another thread or process reads: each name says its ordering.

#ifndef MMLOG_ATOMIC_H
#define MMLOG_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

static inline uint32_t mmlog_load_relaxed_u32(const uint32_t *p) {
  return __atomic_load_n(p, __ATOMIC_RELAXED);
}
static inline uint32_t mmlog_load_acquire_u32(const uint32_t *p) {
  return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}
static inline uint32_t mmlog_load_ordered_u32(const uint32_t *p) {
  return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}
static inline uint64_t mmlog_load_relaxed_u64(const uint64_t *p) {
  return __atomic_load_n(p, __ATOMIC_RELAXED);
}
static inline uint64_t mmlog_load_acquire_u64(const uint64_t *p) {
  return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static inline void mmlog_store_relaxed_u32(uint32_t *p, uint32_t v) {
  __atomic_store_n(p, v, __ATOMIC_RELAXED);
}
static inline void mmlog_store_release_u32(uint32_t *p, uint32_t v) {
  __atomic_store_n(p, v, __ATOMIC_RELEASE);
}
static inline void mmlog_store_relaxed_u64(uint64_t *p, uint64_t v) {
  __atomic_store_n(p, v, __ATOMIC_RELAXED);
}
static inline void mmlog_store_release_u64(uint64_t *p, uint64_t v) {
  __atomic_store_n(p, v, __ATOMIC_RELEASE);
}

static inline uint64_t mmlog_fetch_add_u64(uint64_t *p, uint64_t v) {
  return __atomic_fetch_add(p, v, __ATOMIC_ACQ_REL);
}
static inline uint32_t mmlog_fetch_add_u32(uint32_t *p, uint32_t v) {
  return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);
}
static inline uint64_t mmlog_exchange_u64(uint64_t *p, uint64_t v) {
  return __atomic_exchange_n(p, v, __ATOMIC_ACQ_REL);
}
static inline uint32_t mmlog_exchange_u32(uint32_t *p, uint32_t v) {
  return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);
}

static inline bool mmlog_compare_exchange_u32(uint32_t *p, uint32_t *expected, uint32_t desired) {
  return __atomic_compare_exchange_n(
      p, expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE);
}
static inline bool mmlog_compare_exchange_u64(uint64_t *p, uint64_t *expected, uint64_t desired) {
  return __atomic_compare_exchange_n(
      p, expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE);
}

// Makes the processor fetch memory that will be read soon. No address faults.
static inline void mmlog_prefetch(const void *p) { __builtin_prefetch(p); }

// Makes the processor fetch memory that will be written soon, for this processor alone. For x86-64,
// the builtin is PREFETCHW only if the compiler knows that the target has this instruction. A
// processor without the instruction does nothing.
static inline void mmlog_prefetch_to_write(void *p) {
#if defined(__x86_64__)
  __asm__ volatile("prefetchw %0" : : "m"(*(const char *)p));
#else
  __builtin_prefetch(p, 1);
#endif
}

// Keeps the compiler, not the processor, from moving memory accesses across the fence. For accesses
// that a signal handler on this thread, or another thread after membarrier(2), must see in program
// order.
static inline void mmlog_compiler_fence(void) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

// Makes stores before the fence visible before stores after it.
static inline void mmlog_release_fence(void) { __atomic_thread_fence(__ATOMIC_RELEASE); }

#endif
