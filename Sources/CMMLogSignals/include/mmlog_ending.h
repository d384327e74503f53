// How a process ends: if it ends without closing its stores, the end is noted in their rings.

#ifndef MMLOG_ENDING_H
#define MMLOG_ENDING_H

#include <stdbool.h>

#include "mmlog_report.h"

#pragma clang assume_nonnull begin

// Makes the process's end be written to a place in a mapped ring, from now on; false if there is no
// memory.
bool mmlog_ending_add(mmlog_ending *place);

// Removes the place. Async-signal-safe.
void mmlog_ending_remove(mmlog_ending *place);

// Sets a handler for each of SIGTERM, SIGINT and SIGHUP whose action is the default one. The
// handler notes the signal in the rings, and then makes the default action happen.
void mmlog_ending_handle_signals(void);

// Reports that the process lives. A signal may have failed to end it a second ago, as with process
// 1 of a container, which the default action of signals does not end. Then this takes back what was
// noted, and sets the handlers again. Not in a handler.
void mmlog_ending_deny(void);

// Called in a child of fork(2), before anything else: another thread of its parent may have been
// writing.
void mmlog_ending_forked(void);

#pragma clang assume_nonnull end

#endif
