// Handlers of signals: they contain faults in mapped files, report fatal signals, and note how the
// process ends.

#ifndef CMMLOGSIGNALS_H
#define CMMLOGSIGNALS_H

// First, and here: a definition in the package's settings is not seen when Swift imports a header.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "mmlog_containment.h"
#include "mmlog_crash.h"
#include "mmlog_ending.h"

#endif
