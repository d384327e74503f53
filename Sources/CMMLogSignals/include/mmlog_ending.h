// How a process ends: whoever ends it without closing its stores is noted in their rings.

#ifndef MMLOG_ENDING_H
#define MMLOG_ENDING_H

#include <stdbool.h>

#include "mmlog_report.h"

#pragma clang assume_nonnull begin

// Has the process's end written to a place in a mapped ring, from now on; false without memory.
bool mmlog_ending_add(mmlog_ending *place);

// Ends that. Async-signal-safe.
void mmlog_ending_remove(mmlog_ending *place);

// Sets a handler for each of SIGTERM, SIGINT and SIGHUP whose action is the default one. It notes
// the signal in the rings, and then has the default action taken.
void mmlog_ending_handle_signals(void);

// Reports that the process lives. If a signal was to end it a second ago, it did not (as of process
// 1 of a container, which the default action of signals does not end): takes back what was noted,
// and sets the handler again. Not in a handler.
void mmlog_ending_deny(void);

// In a child of fork(2), before anything else: another thread of its parent may have been writing.
void mmlog_ending_forked(void);

#pragma clang assume_nonnull end

#endif
