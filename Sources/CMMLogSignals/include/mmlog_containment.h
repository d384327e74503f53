// Containment: after a fault in a mapped file that somebody has cut, or whose disk fails, the
// process goes on with private memory and does not die.

#ifndef MMLOG_CONTAINMENT_H
#define MMLOG_CONTAINMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

// A range of memory in which faults are contained. Never freed, but used again.
typedef struct mmlog_contained mmlog_contained;

// Sets the process's handler of SIGBUS, the first time; not from two threads at once. For a fault
// in no contained range, the handler calls the handler that was set before. Returns 0, or -1 and
// errno.
int mmlog_containment_start(void);

// Sets the handler again if it gave way to the default action a second ago, and that did not end
// the process: as with a SIGBUS that was sent to process 1 of a container. Not in a handler.
void mmlog_containment_restore(void);

// Contains faults in a range of whole pages from now on. Call mmlog_containment_start before.
// `wake`, if not null, is a futex that each fault increments and wakes. Returns null if there is no
// memory.
mmlog_contained *_Nullable mmlog_contain(void *base, size_t count, uint32_t *_Nullable wake);

// Ends the containment. Call it before the range is unmapped.
void mmlog_end_containment(mmlog_contained *range);

// Returns how many pages of the range were replaced by private ones, full of zeros at first.
uint64_t mmlog_lost_pages(const mmlog_contained *range);

#pragma clang assume_nonnull end

#endif
