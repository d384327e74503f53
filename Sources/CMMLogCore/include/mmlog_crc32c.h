// CRC32C (Castagnoli), as in RFC 3720: hardware on x86-64 and ARMv8, tables elsewhere.

#ifndef MMLOG_CRC32C_H
#define MMLOG_CRC32C_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// True if `mmlog_crc32c_word` may be called. On x86-64 and ARMv8, that is if this machine has the
// instruction. The function is part of the writer's hot path, which has no room for a test.
extern bool mmlog_crc32c_in_hardware;

// The same for Swift, which regards a global variable of C as unsafe shared state.
static inline bool mmlog_has_crc32c(void) { return mmlog_crc32c_in_hardware; }

// Continues the raw (not inverted) state `crc` over `length` bytes. Any machine.
uint32_t mmlog_crc32c_bytes(uint32_t crc, const void *bytes, size_t length);

// The same by tables alone, as machines without the instruction compute it.
uint32_t mmlog_crc32c_bytes_portable(uint32_t crc, const void *bytes, size_t length);

// The constant that `mmlog_crc32c_skip` needs for `words` words, at least 1; 0 if this machine has
// no instruction for that.
uint32_t mmlog_crc32c_skip_constant(size_t words);

#if defined(__x86_64__)

// Inline assembly, not the intrinsic: a function with target("sse4.2") is not inlined into Swift.
static inline uint64_t mmlog_crc32c_word(uint64_t crc, uint64_t word) {
  __asm__("crc32q %1, %0" : "+r"(crc) : "r"(word));
  return crc;
}
static inline uint64_t mmlog_crc32c_half(uint64_t crc, uint32_t half) {
  __asm__("crc32l %1, %k0" : "+r"(crc) : "r"(half));
  return crc;
}

// Continues over a word in memory, which takes no register.
struct mmlog_unaligned_word { uint64_t word; } __attribute__((packed, may_alias));
static inline uint64_t mmlog_crc32c_at(uint64_t crc, const unsigned char *place) {
  __asm__("crc32q %1, %0" : "+r"(crc) : "m"(((const struct mmlog_unaligned_word *)place)->word));
  return crc;
}

// Continues a state over words of zeros: multiplies it by x^(64 × words), modulo the polynomial
// (Gopal et al., "Fast CRC Computation for iSCSI Polynomial Using CRC32 Instruction", 2011). The
// state after other words is the result, exclusive-or the state that these words give from 0.
static inline uint64_t mmlog_crc32c_skip(uint64_t crc, uint32_t constant) {
  uint64_t product, factor = constant;
  __asm__(
      "movq %1, %%xmm0\n\tmovq %2, %%xmm1\n\tpclmulqdq $0, %%xmm1, %%xmm0\n\tmovq %%xmm0, %0"
      : "=r"(product)
      : "r"(crc), "r"(factor)
      : "xmm0", "xmm1");
  return mmlog_crc32c_word(0, product);
}

#elif defined(__aarch64__)

static inline uint64_t mmlog_crc32c_word(uint64_t crc, uint64_t word) {
  __asm__(".arch_extension crc\n\tcrc32cx %w0, %w0, %1" : "+r"(crc) : "r"(word));
  return crc;
}
static inline uint64_t mmlog_crc32c_half(uint64_t crc, uint32_t half) {
  __asm__(".arch_extension crc\n\tcrc32cw %w0, %w0, %w1" : "+r"(crc) : "r"(half));
  return crc;
}

#else

static inline uint64_t mmlog_crc32c_word(uint64_t crc, uint64_t word) {
  return mmlog_crc32c_bytes((uint32_t)crc, &word, sizeof word);
}
static inline uint64_t mmlog_crc32c_half(uint64_t crc, uint32_t half) {
  return mmlog_crc32c_bytes((uint32_t)crc, &half, sizeof half);
}

#endif

#if !defined(__x86_64__)
static inline uint64_t mmlog_crc32c_at(uint64_t crc, const unsigned char *place) {
  uint64_t word;
  memcpy(&word, place, sizeof word);
  return mmlog_crc32c_word(crc, word);
}
#endif

// The same as `mmlog_crc32c_bytes` over whole words, inlined: a record has so few words that a call
// would cost more than the words.
static inline uint32_t mmlog_crc32c_words(uint32_t crc, const void *words, size_t count) {
  if (!mmlog_crc32c_in_hardware) return mmlog_crc32c_bytes_portable(crc, words, 8 * count);
  const unsigned char *p = words;
  uint64_t state = crc;
  for (; count >= 4; p += 32, count -= 4) {
    state = mmlog_crc32c_at(mmlog_crc32c_at(state, p), p + 8);
    state = mmlog_crc32c_at(mmlog_crc32c_at(state, p + 16), p + 24);
  }
  for (; count > 0; p += 8, count--) state = mmlog_crc32c_at(state, p);
  return (uint32_t)state;
}

#if !defined(__x86_64__)
// Never called, because there is no constant for it.
static inline uint64_t mmlog_crc32c_skip(uint64_t crc, uint32_t constant) { return crc ^ constant; }
#endif

// `mmlog_crc32c_skip_constant` for fewer words than MMLOG_CRC32C_SKIPS.
#define MMLOG_CRC32C_SKIPS 64u
extern uint32_t mmlog_crc32c_skips[MMLOG_CRC32C_SKIPS];

// The constant for `words` words; 0 if there is none.
static inline uint32_t mmlog_crc32c_skip_of(size_t words) {
  return words < MMLOG_CRC32C_SKIPS ? mmlog_crc32c_skips[words] : 0;
}

#endif
