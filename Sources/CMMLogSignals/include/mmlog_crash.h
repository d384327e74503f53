// The crash recorder: at a fatal signal, its handler writes what happened into the ring, where
// readers find it after the process's death. Then it calls the handler that was set before.

#ifndef MMLOG_CRASH_H
#define MMLOG_CRASH_H

#include <stdbool.h>

#include "mmlog_report.h"

#pragma clang assume_nonnull begin

// Sets handlers for SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP and SIGSYS, the first time;
// not from two threads at once. Returns 0, or -1 and errno.
int mmlog_crash_start(void);

// Makes handlers write crashes to a place in a mapped ring, from now on; false if there are too
// many places. What follows a report's flags is combined with the stream, if there is one. The
// stream has the size of MMLOG_CRASH_PARTS reports, and must be there until mmlog_crash_remove.
bool mmlog_crash_add(mmlog_crash_report *place, const uint8_t *_Nullable stream);

// Removes the place, and waits until no handler writes to it, a second at most. False if a handler
// still may write, and may read the stream. Async-signal-safe.
bool mmlog_crash_remove(mmlog_crash_report *place);

// Whether there is a complete report whose handler has returned, or was left by longjmp or by the
// end of its thread. Not in a handler.
bool mmlog_crash_has_returned(const mmlog_crash_report *place);

// Whether there is a report, or the beginning of one, whose handler has neither returned nor been
// left, as far as that is known: unless the process survives the signal, it is dying.
bool mmlog_crash_is_running(const mmlog_crash_report *place);

// Copies such a report, when it is complete; false if there is none. Waits for a handler that is
// writing it, a second at most.
bool mmlog_crash_copy(const mmlog_crash_report *place, mmlog_crash_report *report);

// Takes the report of a signal that the process has survived, frees its place for the next one, and
// counts a survival; false if there is no such report, or no room to count. Sets handlers again
// that gave way to the default action. Not in a handler.
bool mmlog_crash_take(mmlog_crash_report *place, mmlog_crash_report *report);

// Counts a survival for each report whose handler has returned, and frees its place: the process
// ends in another way, and nobody makes a record of the report any more. Async-signal-safe.
void mmlog_crash_outlive(void);

// Notes that a survival has become a record, or is counted as a loss.
void mmlog_crash_noted(mmlog_crash_report *place);

// Called before fork(2): waits until none of mmlog's threads is in dl_iterate_phdr(3), 0.1 s at
// most. Otherwise a child would find the loader's lock taken, and wait for it for ever.
void mmlog_crash_before_fork(void);

// Called after fork(2), in the parent, by the same thread.
void mmlog_crash_after_fork(void);

// Called in a child of fork(2), before anything else: another thread of its parent may have been
// crashing.
void mmlog_crash_forked(void);

// Notes which programs and libraries are loaded, if they have changed since the last time, and
// handlers are set. Not in a handler.
void mmlog_crash_read_modules(void);

// Walks the calling thread's stack by frame pointers, and notes it as a crash report does: return
// addresses, the first of which is in the caller, and the modules that they are in. Sets nothing
// else in the report. Notes no frames if another thread holds the table of modules for 0.1 s. Works
// whether or not handlers are set, but not in a handler. Leaves errno as it was.
void mmlog_backtrace(mmlog_crash_report *report);

// Gives the calling thread a stack for handlers, if it has none and handlers are set. Without such
// a stack, an overflow of the thread's own stack ends the process at once. Async-signal-safe.
void mmlog_crash_guard_thread(void);

// Takes that stack away, at the thread's end.
void mmlog_crash_leave_thread(void);

#pragma clang assume_nonnull end

#endif
