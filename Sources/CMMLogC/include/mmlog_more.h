// The parts of a record that the functions in C pass to Sources/MMLogC. This is no part of the
// interface.

#ifndef MMLOG_MORE_H
#define MMLOG_MORE_H

#include "mmlog.h"

// What a record has beside its message.
typedef struct mmlog_more {
  const mmlog_field *fields;
  size_t field_count;
  // The span that the record belongs to.
  const mmlog_span *within;
  // The span that the record begins, whose members are set by that, and the span that it is a part
  // of.
  mmlog_span *begun;
  const mmlog_span *parent;
  // The span that the record ends.
  const mmlog_span *ended;
  bool has_failed;
} mmlog_more;

#endif
