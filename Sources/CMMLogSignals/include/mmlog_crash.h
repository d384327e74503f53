// The crash recorder: at a fatal signal, its handler writes what happened into the ring, where it
// is found after the process's death, and goes on to the handler that was there before.

#ifndef MMLOG_CRASH_H
#define MMLOG_CRASH_H

#include <stdbool.h>

#include "mmlog_report.h"

#pragma clang assume_nonnull begin

// Sets handlers for SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP and SIGSYS, the first time;
// not from two threads at once. 0, or -1 and errno.
int mmlog_crash_start(void);

// Has crashes written to a place in a mapped ring, from now on; false if there are too many. What
// follows a report's flags is combined with a stream, if there is one: MMLOG_CRASH_PARTS reports
// large, and there until mmlog_crash_remove.
bool mmlog_crash_add(mmlog_crash_report *place, const uint8_t *_Nullable stream);

// Ends that, and waits until no handler writes to the place, a second at most; false if one still
// may, also read the stream. Async-signal-safe.
bool mmlog_crash_remove(mmlog_crash_report *place);

// Whether there is a complete report whose handler has returned, or was left by longjmp or the end
// of its thread. Not in a handler.
bool mmlog_crash_has_returned(const mmlog_crash_report *place);

// Whether there is a report, or the beginning of one, whose handler has neither returned nor was
// left, as far as that is known: unless it survives, the process is dying.
bool mmlog_crash_is_running(const mmlog_crash_report *place);

// Copies such a report, when it is all there; false if there is none. Waits for who is writing it,
// a second at most.
bool mmlog_crash_copy(const mmlog_crash_report *place, mmlog_crash_report *report);

// Takes the report of a signal that the process has survived, frees its place for the next, and
// counts a survival; false if there is none, or no room to count. Sets the handlers again that gave
// way to the default action. Not in a handler.
bool mmlog_crash_take(mmlog_crash_report *place, mmlog_crash_report *report);

// Counts a survival for each report whose handler has returned, and frees its place: the process
// ends in another way, and no record is made of it any more. Async-signal-safe.
void mmlog_crash_outlive(void);

// Says that a survival has become a record, or is counted as a loss.
void mmlog_crash_noted(mmlog_crash_report *place);

// Before fork(2): waits until nobody is in dl_iterate_phdr(3) for mmlog, 0.1 s at most. A child
// would find the loader's lock taken, and wait for it for ever.
void mmlog_crash_before_fork(void);

// After that, in the parent, by the same thread.
void mmlog_crash_after_fork(void);

// In a child of fork(2), before anything else: another thread of its parent may have been crashing.
void mmlog_crash_forked(void);

// Notes which programs and libraries are loaded, if others are than the last time, and handlers are
// set. Not in a handler.
void mmlog_crash_read_modules(void);

// Walks the calling thread's stack, by frame pointers, as a report of a crash has it: return
// addresses, the first of which is in the caller, and the modules that they are in. Nothing else of
// the report is set. No frames if another thread holds the table of modules for 0.1 s. Whether or
// not handlers are set; not in a handler. Leaves errno as it was.
void mmlog_backtrace(mmlog_crash_report *report);

// Gives the calling thread a stack for handlers, if it has none and handlers are set: without, an
// overflow of its own stack ends the process at once. Async-signal-safe.
void mmlog_crash_guard_thread(void);

// Takes that away: at the thread's end.
void mmlog_crash_leave_thread(void);

#pragma clang assume_nonnull end

#endif
