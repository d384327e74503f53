// Containment: a fault in a mapped file that somebody has cut short, or whose disk fails, ends in
// private memory and not with the death of the process.

#ifndef MMLOG_CONTAINMENT_H
#define MMLOG_CONTAINMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

// A range of memory whose faults are contained. Never freed, but used again.
typedef struct mmlog_contained mmlog_contained;

// Sets the process's handler of SIGBUS, the first time; not from two threads at once. For a fault
// that is in no contained range it calls the handler that was there before. 0, or -1 and errno.
int mmlog_containment_start(void);

// Sets the handler again if it gave way to the default action a second ago, and that did not end
// the process: a SIGBUS that was sent to process 1 of a container. Not in a handler.
void mmlog_containment_restore(void);

// Contains faults in a range of whole pages from now on, after mmlog_containment_start. `wake`, if
// not null, is a futex: counted up and woken at each fault. Null where there is no memory.
mmlog_contained *_Nullable mmlog_contain(void *base, size_t count, uint32_t *_Nullable wake);

// Ends that. Before the range is unmapped.
void mmlog_end_containment(mmlog_contained *range);

// How many pages of the range were replaced by private ones, full of zeros at first.
uint64_t mmlog_lost_pages(const mmlog_contained *range);

#pragma clang assume_nonnull end

#endif
