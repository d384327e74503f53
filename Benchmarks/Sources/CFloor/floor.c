#define _GNU_SOURCE 1
#include "CFloor.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int floor_open(floor_ring *ring, const char *path, size_t size) {
  int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return 0;
  void *memory = MAP_FAILED;
  if (fallocate(file, 0, 0, (off_t)size) == 0)
    memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) return 0;
  memset(memory, 0, size);
  *ring = (floor_ring){memory, size, 0};
  return 1;
}

void floor_close(floor_ring *ring) { munmap(ring->memory, ring->size); }

void floor_clear(floor_ring *ring) {
  memset(ring->memory, 0, ring->used);
  ring->used = 0;
}

#if defined(__x86_64__)
static inline uint64_t ticks(void) { return __builtin_ia32_rdtsc(); }
static inline uint64_t checksum_word(uint64_t crc, uint64_t word) {
  __asm__("crc32q %1, %0" : "+r"(crc) : "r"(word));
  return crc;
}
#else
static inline uint64_t ticks(void) {
  uint64_t t;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
  return t;
}
static inline uint64_t checksum_word(uint64_t crc, uint64_t word) {
  __asm__(".arch_extension crc\n\tcrc32cx %w0, %w0, %1" : "+r"(crc) : "r"(word));
  return crc;
}
#endif

typedef struct cursor {
  uint64_t *next;
  uint64_t checksum;
} cursor;

static inline void put(cursor *c, uint64_t word) {
  *c->next++ = word;
  c->checksum = checksum_word(c->checksum, word);
}

static inline void put_text(cursor *c, const char *text, size_t length) {
  put(c, length);
  for (; length >= 8; text += 8, length -= 8) {
    uint64_t word;
    memcpy(&word, text, 8);
    put(c, word);
  }
  if (length == 0) return;
  uint64_t word = 0;
  for (size_t i = 0; i < length; i++) word |= (uint64_t)(unsigned char)text[i] << (8 * i);
  put(c, word);
}

static inline void commit(floor_ring *ring, uint64_t *start, cursor *c, uint64_t identity) {
  uint64_t t = ticks();
  start[1] = t;
  start[2] = identity;
  uint64_t checksum = checksum_word(checksum_word(c->checksum, t), identity);
  uint64_t header = (uint64_t)(c->next - start) | 1u << 24;
  checksum = checksum_word(checksum, header);
  __atomic_store_n(start, header | checksum << 32, __ATOMIC_RELEASE);
  ring->used = (size_t)((unsigned char *)c->next - ring->memory);
}

void floor_order(floor_ring *ring, uint64_t id, const char *user, size_t length, double elapsed, uint64_t quantity) {
  uint64_t *start = (uint64_t *)(ring->memory + ring->used);
  cursor c = {start + 3, 1234};
  uint64_t bits;
  memcpy(&bits, &elapsed, 8);
  put(&c, id);
  put_text(&c, user, length);
  put(&c, bits);
  put(&c, quantity);
  commit(ring, start, &c, 0x0002000100000001);
}

void floor_text(floor_ring *ring, const char *text, size_t length) {
  uint64_t *start = (uint64_t *)(ring->memory + ring->used);
  cursor c = {start + 3, 1234};
  put_text(&c, text, length);
  commit(ring, start, &c, 0x0002000100000002);
}

static inline void put_pair(cursor *c, const char *name, size_t length, uint64_t type) {
  put_text(c, name, length);
  put(c, type);
}

void floor_pairs(floor_ring *ring, uint64_t id, const char *user, size_t length, double price, int live,
                 const char *side, size_t side_length) {
  uint64_t bits;
  memcpy(&bits, &price, 8);
  uint64_t *start = (uint64_t *)(ring->memory + ring->used);
  cursor c = {start + 3, 1234};
  put(&c, 5);
  put_pair(&c, "venue", 5, 3);
  put_text(&c, user, length);
  put_pair(&c, "id", 2, 1);
  put(&c, id);
  put_pair(&c, "price", 5, 2);
  put(&c, bits);
  put_pair(&c, "live", 4, 4);
  put(&c, (uint64_t)live);
  put_pair(&c, "side", 4, 3);
  put_text(&c, side, side_length);
  commit(ring, start, &c, 0x0002000100000003);
}
