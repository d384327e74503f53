// What log calls work with: thread-local writers, the memory of rate-limited statements, and the
// formats of statements in C. Hot functions are `static inline`, so that they become part of the
// Swift function that calls them.

#ifndef CMMLOGWRITER_H
#define CMMLOGWRITER_H

// First, and here: a definition in the package's settings is not seen when Swift imports a header.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "mmlog_format.h"
#include "mmlog_rate_limits.h"
#include "mmlog_state.h"
#include "mmlog_writer.h"

#endif
