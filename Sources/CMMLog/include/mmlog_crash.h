// The crash recorder: at a fatal signal, its handler writes what happened into the ring, where it
// is found after the process's death, and goes on to the handler that was there before.

#ifndef MMLOG_CRASH_H
#define MMLOG_CRASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

enum {
  MMLOG_CRASH_REGISTERS = 34,
  MMLOG_CRASH_FRAMES = 128,
  MMLOG_CRASH_MODULES = 16,
  MMLOG_BUILD_ID = 20,
  MMLOG_MODULE_PATH = 88,
};

// A program or library that was loaded, and has code in the backtrace.
typedef struct {
  uint64_t base;  // what its own addresses are moved by
  uint64_t end;   // of its code
  uint32_t build_id_size;
  uint8_t build_id[MMLOG_BUILD_ID];
  char path[MMLOG_MODULE_PATH];  // the end of it, if it is longer; with a zero behind it, if it is shorter
} mmlog_crash_module;

// What stands in the ring. docs/FORMAT.md has it field by field.
typedef struct {
  uint32_t state;  // one of those below, or 0: nothing; and survivals. Stored last
  uint32_t checksum;  // CRC32C of all that follows
  uint32_t signal;
  int32_t code;     // si_code
  uint32_t thread;  // its id
  uint32_t sender;  // the process that sent the signal, if it was sent
  char thread_name[16];
  uint64_t address;  // si_addr
  int64_t wall;      // nanoseconds since 1970
  uint64_t ticks;
  uint16_t machine;  // as ELF has it: 62 x86-64, 183 AArch64
  uint8_t register_count;
  uint8_t module_count;
  uint16_t frame_count;
  uint16_t flags;  // 1: there were more frames; 2: some were found by searching for them
  uint64_t registers[MMLOG_CRASH_REGISTERS];
  uint64_t frames[MMLOG_CRASH_FRAMES];  // where it happened, then return addresses
  mmlog_crash_module modules[MMLOG_CRASH_MODULES];
} mmlog_crash_report;

enum {
  MMLOG_CRASH_UNFINISHED = 1,
  MMLOG_CRASH_COMPLETE = 2,
  // Complete, and the handler has returned: the process may survive. Not 3, which one wrong bit
  // makes of either of the two above.
  MMLOG_CRASH_RETURNED = 4,
  MMLOG_CRASH_STATE = 0xFF,
};

// How many signals the process has survived of which there is no record yet, in the upper bytes of
// the state, twice: a wrong bit is seen. Changed with the state in one step, so that a signal is
// always one or the other.
enum {
  MMLOG_CRASH_SURVIVAL = 0x010100,  // one of them
  MMLOG_CRASH_MAXIMUM_SURVIVALS = 15,
};

// Sets handlers for SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP and SIGSYS, the first time;
// not from two threads at once. 0, or -1 and errno.
int mmlog_crash_start(void);

// Has crashes written to a place in a mapped ring, from now on; false if there are too many.
bool mmlog_crash_add(mmlog_crash_report *place);

// Ends that. Async-signal-safe.
void mmlog_crash_remove(mmlog_crash_report *place);

// Whether there is a complete report whose handler has returned, or was left by longjmp or the end
// of its thread. Not in a handler.
bool mmlog_crash_has_returned(const mmlog_crash_report *place);

// Takes the report of a signal that the process has survived, frees its place for the next, and
// counts a survival; false if there is none, or no room to count. Sets the handlers again that gave
// way to the default action. Not in a handler.
bool mmlog_crash_take(mmlog_crash_report *place, mmlog_crash_report *report);

// Says that a survival has become a record, or is counted as a loss.
void mmlog_crash_noted(mmlog_crash_report *place);

// In a child of fork(2), before anything else: another thread of its parent may have been crashing.
void mmlog_crash_forked(void);

// Notes which programs and libraries are loaded, if others are than the last time, and handlers are
// set. Not in a handler.
void mmlog_crash_read_modules(void);

// Gives the calling thread a stack for handlers, if it has none and handlers are set: without, an
// overflow of its own stack ends the process at once. Async-signal-safe.
void mmlog_crash_guard_thread(void);

// Takes that away: at the thread's end.
void mmlog_crash_leave_thread(void);

// The name of one of Swift's functions as the source has it, to be freed; null if it is no such
// name. In Swift's runtime.
char *_Nullable swift_demangle(
    const char *_Nullable name, size_t length, char *_Nullable buffer, size_t *_Nullable size, uint32_t flags);

#pragma clang assume_nonnull end

#endif
