// The header of a segment, and the stores by which the process that has mapped the ring changes it.
// Their order makes sure that readers understand the header at each moment. docs/FORMAT.md has the
// header field by field; `SegmentLayout` has the same for readers.
//
// In C, because a log call that needs a segment does this. A function or a constant of another
// Swift module would be a call, and each call goes to memory that the thread has not used for a
// long time. Everything here is async-signal-safe.

#ifndef MMLOG_SEGMENT_H
#define MMLOG_SEGMENT_H

#include <stddef.h>

#include "mmlog_atomic.h"
#include "mmlog_crc32c.h"

typedef struct {
  uint64_t generation;  // 0: the segment is free
  uint32_t state;
  uint32_t archived;  // the offset in the segment before which all records are in an archive
  uint32_t thread_ordinal, thread_id;
  uint64_t thread_name[2];
  uint32_t end;  // where the records end, once the segment is sealed
  uint32_t checksum;
  uint64_t first_number;
  uint32_t archived_complement, end_complement;
  uint32_t writer, reserved;
  uint64_t stream;  // which stream encrypts its records; 0: none
  uint64_t zeros[6];
} mmlog_segment;

_Static_assert(sizeof(mmlog_segment) == 128 && offsetof(mmlog_segment, checksum) == 44 &&
                   offsetof(mmlog_segment, stream) == 72,
               "segment header");

enum { MMLOG_SEGMENT_FREE = 0, MMLOG_SEGMENT_OPEN = 1, MMLOG_SEGMENT_SEALED = 2 };

static inline uint32_t mmlog_segment_state(const mmlog_segment *segment) {
  return mmlog_load_acquire_u32(&segment->state);
}

static inline void mmlog_set_segment_state(mmlog_segment *segment, uint32_t state) {
  mmlog_store_release_u32(&segment->state, state);
}

// A crash between the two stores leaves an offset that cannot be determined. Frames also say which
// records are archived, and checksums also say where the records end.
static inline void mmlog_set_segment_archived(mmlog_segment *segment, uint32_t offset) {
  mmlog_store_release_u32(&segment->archived, offset);
  mmlog_store_release_u32(&segment->archived_complement, ~offset);
}

static inline void mmlog_set_segment_end(mmlog_segment *segment, uint32_t offset) {
  mmlog_store_release_u32(&segment->end, offset);
  mmlog_store_release_u32(&segment->end_complement, ~offset);
}

// Writes the header of a use, except for its state: whose use it is, as in `use`, and that nothing
// of it is archived. Once the checksum is stored, readers regard the segment as used, whatever its
// state says.
//
// Only stores: the drainer has just cleaned the memory, which is far away from this processor, so a
// load or an exchange would wait for it. The stores are atomic: the drainer may still be reading
// the header of the last use while this overwrites it, and then finds a wrong checksum.
static inline void mmlog_write_segment(mmlog_segment *segment, mmlog_segment use) {
  // First clears what the last use has left: a header with a right checksum counts, even while its
  // state says that the segment is free.
  mmlog_set_segment_end(segment, 0);
  mmlog_store_relaxed_u64(&segment->generation, use.generation);
  mmlog_set_segment_archived(segment, sizeof *segment);
  mmlog_store_relaxed_u32(&segment->thread_ordinal, use.thread_ordinal);
  mmlog_store_relaxed_u32(&segment->thread_id, use.thread_id);
  mmlog_store_relaxed_u64(&segment->thread_name[0], use.thread_name[0]);
  mmlog_store_relaxed_u64(&segment->thread_name[1], use.thread_name[1]);
  mmlog_store_relaxed_u64(&segment->first_number, use.first_number);
  mmlog_store_relaxed_u32(&segment->writer, use.writer);
  mmlog_store_relaxed_u32(&segment->reserved, 0);
  mmlog_store_relaxed_u64(&segment->stream, use.stream);
  for (size_t word = 0; word < sizeof segment->zeros / 8; word++)
    mmlog_store_relaxed_u64(&segment->zeros[word], 0);
  // Over the words as they are stored, and zeros: see `segmentChecksum`.
  uint64_t checksum = mmlog_crc32c_word(UINT32_MAX, use.generation);
  checksum = mmlog_crc32c_word(checksum, (uint64_t)use.thread_id << 32 | use.thread_ordinal);
  checksum = mmlog_crc32c_word(checksum, use.thread_name[0]);
  checksum = mmlog_crc32c_word(checksum, use.thread_name[1]);
  checksum = mmlog_crc32c_word(checksum, use.first_number);
  checksum = mmlog_crc32c_word(checksum, use.writer);
  checksum = mmlog_crc32c_word(checksum, use.stream);
  for (size_t word = 0; word < sizeof segment->zeros / 8; word++)
    checksum = mmlog_crc32c_word(checksum, 0);
  mmlog_store_release_u32(&segment->checksum, ~(uint32_t)checksum);
}

// The word that identifies a segment's use, and says up to where its flight records are captured:
// `SegmentUse`.
static inline uint64_t mmlog_segment_use(uint32_t captured, uint32_t seed) {
  return mmlog_crc32c_half(seed, captured) << 32 | captured;
}

#endif
