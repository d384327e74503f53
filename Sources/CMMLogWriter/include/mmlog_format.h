// Takes the formats of printf(3) apart into literals and arguments. So a log statement in C records
// its arguments as they are, and they become text when somebody reads them.

#ifndef MMLOG_FORMAT_H
#define MMLOG_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

// What stands at a place of a format, and how the argument for it is passed.
typedef enum mmlog_directive_kind {
  MMLOG_LITERAL,
  MMLOG_SIGNED_8,
  MMLOG_SIGNED_16,
  MMLOG_SIGNED_32,
  MMLOG_SIGNED_64,
  MMLOG_UNSIGNED_8,
  MMLOG_UNSIGNED_16,
  MMLOG_UNSIGNED_32,
  MMLOG_UNSIGNED_64,
  MMLOG_DOUBLE,
  MMLOG_CHARACTER,
  MMLOG_STRING,
  MMLOG_COUNTED_STRING,  // %.*s: two arguments
  MMLOG_POINTER,
  MMLOG_ERROR_TEXT,  // %m: no argument
  MMLOG_UNDEFERRED,  // readers cannot show this as printf does: the caller has to make text
} mmlog_directive_kind;

typedef struct mmlog_directive {
  mmlog_directive_kind kind;
  const char *_Nullable text;  // the text of a literal
  size_t length;
  // For an argument, as in docs/FORMAT.md for a call site's part.
  uint8_t type;
  uint8_t width;
  uint32_t format;
  uint32_t alignment;
  uint32_t longest;  // the maximum number of bytes of a string, or UINT32_MAX
} mmlog_directive;

// Reads the directive or literal at `*format`, and moves `*format` behind it. False at the end.
// Async-signal-safe.
bool mmlog_next_directive(const char *_Nonnull *_Nonnull format, mmlog_directive *directive);

// An argument by itself: a directive's kind in the low 5 bits, above them the maximum number of
// bytes of a string plus 1, or 0.
typedef uint16_t mmlog_planned;
#define MMLOG_PLAN_SHIFT 5u
#define MMLOG_PLANNED 16

// Finds the arguments of a format in their order, and how many parts it has, literals included.
// Async-signal-safe.
//
// Returns how many arguments there are; -1 if readers cannot show one of them, or there are more
// than MMLOG_PLANNED.
int mmlog_plan(const char *format, mmlog_planned plan[_Nonnull MMLOG_PLANNED], uint32_t *parts);

// An argument's value: a word, or bytes.
typedef struct mmlog_value {
  const void *_Nullable bytes;  // null: `word` is the value; else `word` is how many there are
  uint64_t word;
} mmlog_value;

// A log statement whose message has a format. All texts end with zero bytes.
typedef struct mmlog_statement {
  uint64_t hash;  // differs from the hashes of all other statements; never 0
  const char *_Nullable format;  // null: the message is one text, which is the only value
  const char *file;
  const char *function;
  uint32_t line;
} mmlog_statement;

static inline size_t mmlog_text_length(const char *text) { return __builtin_strlen(text); }

#pragma clang assume_nonnull end

#endif
