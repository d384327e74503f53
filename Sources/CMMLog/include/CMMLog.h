// What Swift cannot say, or cannot say as fast: the processor's counter and CRC instruction,
// release and acquire on mapped memory, thread-local state, and the Linux calls that Glibc's
// Swift module leaves out. Hot functions are `static inline`, so that they become part of the
// Swift function that calls them.

#ifndef CMMLOG_H
#define CMMLOG_H

// First, and here: a definition in the package's settings is not seen when Swift imports a header.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "mmlog_atomic.h"
#include "mmlog_containment.h"
#include "mmlog_crash.h"
#include "mmlog_crc32c.h"
#include "mmlog_ending.h"
#include "mmlog_format.h"
#include "mmlog_system.h"
#include "mmlog_text.h"
#include "mmlog_ticks.h"
#include "mmlog_turns.h"
#include "mmlog_writer.h"

#endif
