// The reports that signal handlers write into the ring. Readers find them there and in archives.
// These bytes are declared nowhere else; docs/FORMAT.md has them field by field.

#ifndef MMLOG_REPORT_H
#define MMLOG_REPORT_H

#include <stdint.h>

enum {
  MMLOG_CRASH_REGISTERS = 34,
  MMLOG_CRASH_FRAMES = 128,
  MMLOG_CRASH_MODULES = 14,
  MMLOG_CRASH_MESSAGE = 424,
  MMLOG_BUILD_ID = 20,
  MMLOG_MODULE_PATH = 88,
};

// A program or library that was loaded, and has code in the backtrace.
typedef struct {
  uint64_t base;  // what its own addresses are moved by
  uint64_t end;   // of its code
  uint32_t build_id_size;
  uint8_t build_id[MMLOG_BUILD_ID];
  // A longer path is cut at its beginning; a shorter one ends with a zero.
  char path[MMLOG_MODULE_PATH];
} mmlog_crash_module;

// What happened at a fatal signal.
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
  uint16_t flags;  // of those below
  uint64_t registers[MMLOG_CRASH_REGISTERS];
  uint64_t frames[MMLOG_CRASH_FRAMES];  // where it happened, then return addresses
  mmlog_crash_module modules[MMLOG_CRASH_MODULES];
  // What the runtime said, or the beginning of it; with a zero behind it, if it is shorter.
  char message[MMLOG_CRASH_MESSAGE];
} mmlog_crash_report;

enum {
  MMLOG_CRASH_UNFINISHED = 1,
  MMLOG_CRASH_COMPLETE = 2,
  // Complete, and the handler has returned: the process may survive. Not 3, which one wrong bit
  // makes of either of the two above.
  MMLOG_CRASH_RETURNED = 4,
  MMLOG_CRASH_STATE = 0xFF,
};

// A report's flags.
enum {
  MMLOG_CRASH_MORE_FRAMES = 1,  // than there is room for
  MMLOG_CRASH_GUESSED = 2,      // some frames were found by searching for them
  MMLOG_CRASH_EXCEPTION = 4,    // the message is the type of a C++ exception, mangled
  // Above them: which part of the ring's stream what follows is encrypted with, counted from 1; 0:
  // nothing is.
  MMLOG_CRASH_PART_SHIFT = 8,
};

// How many reports a stream is for, each of a part as large as a report: nothing is encrypted with
// a part twice. What comes after that says no more than what is not encrypted.
enum { MMLOG_CRASH_PARTS = 16 };

// How many signals the process has survived of which there is no record yet, in the upper bytes of
// the state, twice: a wrong bit is seen. Changed with the state in one step, so that a signal is
// always one or the other.
enum {
  MMLOG_CRASH_SURVIVAL = 0x010100,  // one of them
  MMLOG_CRASH_MAXIMUM_SURVIVALS = 15,
};

// How the process ended.
typedef struct {
  uint32_t how;     // one of those below
  int32_t signal;   // that ended it, or 0
  uint32_t sender;  // the process that sent the signal, or 0
  uint32_t checksum;   // CRC32C of all, with 0 in its own place
  int64_t time;     // nanoseconds since 1970
  int64_t recovered;  // 0: that is said by whoever recovers the ring
} mmlog_ending;

enum { MMLOG_ENDING_EXITED = 3, MMLOG_ENDING_TERMINATED = 4 };

#endif
