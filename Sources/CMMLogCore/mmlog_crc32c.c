#include "CMMLogCore.h"

#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

// Slicing by eight (Kounavis and Berry, "A Systematic Approach to Building High Performance,
// Software-based, CRC Generators", 2005); the tables are computed once, before main.
static uint32_t table[8][256];

#if defined(__x86_64__) || defined(__aarch64__)
bool mmlog_crc32c_in_hardware = false;
#else
bool mmlog_crc32c_in_hardware = true;  // `mmlog_crc32c_word` works everywhere: by tables
#endif

uint32_t mmlog_crc32c_skips[MMLOG_CRC32C_SKIPS];

// Whether there is an instruction that multiplies without carries.
static bool has_product = false;

__attribute__((constructor(101))) static void prepare(void) {
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (0x82f63b78u & (0u - (crc & 1)));
    table[0][i] = crc;
  }
  for (uint32_t i = 0; i < 256; i++)
    for (int slice = 1; slice < 8; slice++)
      table[slice][i] = (table[slice - 1][i] >> 8) ^ table[0][table[slice - 1][i] & 255];
#if defined(__x86_64__)
  unsigned a, b, c = 0, d;
  mmlog_crc32c_in_hardware = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSE4_2);
  has_product = mmlog_crc32c_in_hardware && (c & bit_PCLMUL);
#elif defined(__aarch64__)
  mmlog_crc32c_in_hardware = (getauxval(AT_HWCAP) & (1ul << 7)) != 0;  // HWCAP_CRC32
#endif
  for (size_t words = 1; words < MMLOG_CRC32C_SKIPS; words++)
    mmlog_crc32c_skips[words] = mmlog_crc32c_skip_constant(words);
}

uint32_t mmlog_crc32c_skip_constant(size_t words) {
  if (!has_product || words == 0) return 0;
  // x^31. The product, and its reduction modulo the polynomial, contribute x^33.
  uint64_t constant = 1;
  for (size_t word = 1; word < words; word++) constant = mmlog_crc32c_word(constant, 0);
  return (uint32_t)constant;
}

uint32_t mmlog_crc32c_bytes_portable(uint32_t crc, const void *bytes, size_t length) {
  const unsigned char *p = bytes;
  for (; length >= 8; p += 8, length -= 8) {
    uint64_t word;
    memcpy(&word, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    word ^= crc;
    crc = table[7][word & 255] ^ table[6][(word >> 8) & 255] ^ table[5][(word >> 16) & 255] ^
          table[4][(word >> 24) & 255] ^ table[3][(word >> 32) & 255] ^
          table[2][(word >> 40) & 255] ^ table[1][(word >> 48) & 255] ^ table[0][word >> 56];
  }
  for (; length > 0; p++, length--) crc = (crc >> 8) ^ table[0][(crc ^ *p) & 255];
  return crc;
}

#if defined(__x86_64__) || defined(__aarch64__)

#if defined(__x86_64__)
static inline uint64_t step_byte(uint64_t crc, unsigned char byte) {
  __asm__("crc32b %1, %k0" : "+r"(crc) : "r"(byte));
  return crc;
}
#else
static inline uint64_t step_byte(uint64_t crc, unsigned char byte) {
  __asm__(".arch_extension crc\n\tcrc32cb %w0, %w0, %w1" : "+r"(crc) : "r"((uint32_t)byte));
  return crc;
}
#endif

// How many bytes each of three streams has. There are three, because the instruction takes three
// cycles, and one instruction can begin in each cycle.
enum { STREAM_WORDS = MMLOG_CRC32C_SKIPS - 1, STREAM = 8 * STREAM_WORDS };

uint32_t mmlog_crc32c_bytes(uint32_t crc, const void *bytes, size_t length) {
  if (!mmlog_crc32c_in_hardware) return mmlog_crc32c_bytes_portable(crc, bytes, length);
  const unsigned char *p = bytes;
  uint64_t state = crc;
  const uint32_t skip = mmlog_crc32c_skips[STREAM_WORDS];
  for (; skip != 0 && length >= 3 * STREAM; p += 3 * STREAM, length -= 3 * STREAM) {
    uint64_t second = 0, third = 0;
    for (size_t at = 0; at < STREAM; at += 8) {
      state = mmlog_crc32c_at(state, p + at);
      second = mmlog_crc32c_at(second, p + STREAM + at);
      third = mmlog_crc32c_at(third, p + 2 * STREAM + at);
    }
    state = mmlog_crc32c_skip(state, skip) ^ second;
    state = mmlog_crc32c_skip(state, skip) ^ third;
  }
  for (; length >= 8; p += 8, length -= 8) state = mmlog_crc32c_at(state, p);
  for (; length > 0; p++, length--) state = step_byte(state, *p);
  return (uint32_t)state;
}

#else

uint32_t mmlog_crc32c_bytes(uint32_t crc, const void *bytes, size_t length) {
  return mmlog_crc32c_bytes_portable(crc, bytes, length);
}

#endif
