// The functions of Sources/MMLogC that the functions in C call.

#ifndef MMLOG_SWIFT_H
#define MMLOG_SWIFT_H

#include "mmlog.h"
#include "mmlog_format.h"
#include "mmlog_more.h"

// more  NULL: nothing
void mmlog_swift_record(mmlog_logger *logger, uint32_t level, const mmlog_statement *statement,
    const mmlog_value *values, size_t count, const mmlog_more *more);

bool mmlog_swift_signal_record(mmlog_logger *logger, uint32_t level,
    const mmlog_statement *statement, const mmlog_value *values, size_t count);

#endif
