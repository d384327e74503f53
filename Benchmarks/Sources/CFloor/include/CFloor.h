// The minimum cost of a record: the same stores, ticks, CRC32C and release store as mmlog's hot
// path, in C, and nothing else: no level, no call site, no thread-local state, no full segment.

#ifndef CFLOOR_H
#define CFLOOR_H

#include <stddef.h>
#include <stdint.h>

typedef struct floor_ring {
  unsigned char *memory;
  size_t size;
  size_t used;
} floor_ring;

// Maps a new file of `size` bytes, allocated and populated as mmlog's ring is. 0 if that fails.
int floor_open(floor_ring *ring, const char *path, size_t size);
void floor_close(floor_ring *ring);

// Zeroes what was written and begins anew; this is not measured.
void floor_clear(floor_ring *ring);

// A record with an integer, a text, a double and another integer.
void floor_order(floor_ring *ring, uint64_t id, const char *user, size_t length, double elapsed, uint64_t quantity);

// A record with one text.
void floor_text(floor_ring *ring, const char *text, size_t length);

// A record with a text that is constant, and five pairs of a name and a value: two texts, an
// integer, a double, a Boolean.
void floor_pairs(floor_ring *ring, uint64_t id, const char *user, size_t length, double price, int live,
                 const char *side, size_t side_length);

#endif
