// What Swift cannot do, or cannot do as fast: the processor's counter and CRC instruction, release
// and acquire on mapped memory, and the Linux calls that Glibc's Swift module leaves out. Hot
// functions are `static inline`, so that they become part of the Swift function that calls them.

#ifndef CMMLOGCORE_H
#define CMMLOGCORE_H

// First, and here: a definition in the package's settings is not seen when Swift imports a header.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "mmlog_atomic.h"
#include "mmlog_crc32c.h"
#include "mmlog_report.h"
#include "mmlog_segment.h"
#include "mmlog_system.h"
#include "mmlog_text.h"
#include "mmlog_ticks.h"

#endif
