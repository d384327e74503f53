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
  uint64_t base;  // by how much its own addresses are moved
  uint64_t end;   // the end of its code
  uint32_t build_id_size;
  uint8_t build_id[MMLOG_BUILD_ID];
  // A longer path is cut at its beginning; a shorter one ends with a zero.
  char path[MMLOG_MODULE_PATH];
} mmlog_crash_module;

// What happened at a fatal signal.
typedef struct {
  uint32_t state;  // a state of those below, or 0: no report; and survivals. Stored last
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
  uint16_t flags;  // see below
  uint64_t registers[MMLOG_CRASH_REGISTERS];
  uint64_t frames[MMLOG_CRASH_FRAMES];  // where the signal happened, then return addresses
  mmlog_crash_module modules[MMLOG_CRASH_MODULES];
  // The runtime's message, or its beginning; with a zero behind it if it is shorter.
  char message[MMLOG_CRASH_MESSAGE];
} mmlog_crash_report;

enum {
  MMLOG_CRASH_UNFINISHED = 1,
  MMLOG_CRASH_COMPLETE = 2,
  // Complete, and the handler has returned: the process may survive. Not 3, because one wrong bit
  // makes 3 of either of the two above.
  MMLOG_CRASH_RETURNED = 4,
  MMLOG_CRASH_STATE = 0xFF,
};

// A report's flags.
enum {
  MMLOG_CRASH_MORE_FRAMES = 1,  // than there is room for
  MMLOG_CRASH_GUESSED = 2,      // some frames were found by searching for them
  MMLOG_CRASH_EXCEPTION = 4,    // the message is the mangled type of a C++ exception
  // Above these bits: the part of the ring's stream that encrypts what follows, counted from 1; 0:
  // nothing is encrypted.
  MMLOG_CRASH_PART_SHIFT = 8,
};

// For how many reports a stream has parts, each as large as a report. No part encrypts two reports.
// Later reports have only what is not encrypted.
enum { MMLOG_CRASH_PARTS = 16 };

// The number of survived signals of which there is no record yet. It stands twice in the upper
// bytes of the state, so that a wrong bit is found. It changes with the state in one step, so that
// a signal always counts as exactly one of both.
enum {
  MMLOG_CRASH_SURVIVAL = 0x010100,  // one of them
  MMLOG_CRASH_MAXIMUM_SURVIVALS = 15,
};

// How the process ended.
typedef struct {
  uint32_t how;     // one of those below
  int32_t signal;   // the signal that ended it, or 0
  uint32_t sender;  // the process that sent the signal, or 0
  uint32_t checksum;   // CRC32C of all bytes, with 0 in its own place
  int64_t time;     // nanoseconds since 1970
  int64_t recovered;  // 0: whoever recovers the ring sets it
} mmlog_ending;

enum { MMLOG_ENDING_EXITED = 3, MMLOG_ENDING_TERMINATED = 4 };

#endif
