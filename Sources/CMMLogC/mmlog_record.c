#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mmlog_swift.h"

_Static_assert(MMLOG_ARGUMENTS == MMLOG_PLANNED, "a site has room for a plan");

// A site's state: 0 until its format has been inspected. Then its lowest byte is AS_TEXT, or 1 more
// than the number of its arguments. The other bytes are a hash of its texts: a library that is
// loaded in the place of another may have a site and its texts at the same addresses.
#define AS_TEXT 0xFFu
#define STATE_COUNT_BITS 8

// The level as Swift counts levels.
static uint32_t file_level(mmlog_level level) { return (uint32_t)level - 1; }

// ---- Arguments

static mmlog_value word(uint64_t word) { return (mmlog_value){NULL, word}; }
static mmlog_value signed_word(int64_t word) { return (mmlog_value){NULL, (uint64_t)word}; }
static mmlog_value text(const char *bytes, size_t count) { return (mmlog_value){bytes, count}; }

static mmlog_value string(const char *string, size_t longest) {
  if (string == NULL) string = "(null)";
  return text(string, longest == SIZE_MAX ? strlen(string) : strnlen(string, longest));
}

static mmlog_value double_word(double number) {
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  return word(bits);
}

#define UNKNOWN_ERROR "Unknown error "
#define UNKNOWN_ERROR_SIZE (sizeof UNKNOWN_ERROR + sizeof "-2147483648")

// The text of an error that the C library does not name. Async-signal-safe, unlike snprintf(3).
static mmlog_value unknown_error(int error, char storage[UNKNOWN_ERROR_SIZE]) {
  char *end = storage + UNKNOWN_ERROR_SIZE, *next = end;
  unsigned left = error < 0 ? 0u - (unsigned)error : (unsigned)error;
  do {
    *--next = (char)('0' + left % 10);
    left /= 10;
  } while (left > 0);
  if (error < 0) *--next = '-';
  next -= sizeof UNKNOWN_ERROR - 1;
  memcpy(next, UNKNOWN_ERROR, sizeof UNKNOWN_ERROR - 1);
  return text(next, (size_t)(end - next));
}

// As strerror(3). For an error without a name, `storage` gets the text. Not inlined: that would
// make all other values cost more.
__attribute__((noinline, cold)) static mmlog_value error_text(
    int error, char storage[UNKNOWN_ERROR_SIZE]) {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 32)
  // Async-signal-safe, unlike strerror_r(3).
  const char *description = strerrordesc_np(error);
  if (description != NULL) return string(description, SIZE_MAX);
#endif
  return unknown_error(error, storage);
}

// The maximum number of bytes of a string, as its plan says.
static size_t longest(mmlog_planned planned) {
  size_t maximum = planned >> MMLOG_PLAN_SHIFT;
  return maximum == 0 ? SIZE_MAX : maximum - 1;
}

typedef struct {
  va_list list;
} argument_list;

// The values of a call, and memory for values that have none.
typedef struct {
  mmlog_value values[MMLOG_ARGUMENTS];
  // For values without memory of their own.
  char characters[MMLOG_ARGUMENTS];
  char unknown_error[UNKNOWN_ERROR_SIZE];
} collection;

// `storage` gets the value of a character; `unknown` gets the text of an error.
static mmlog_value next_value(argument_list *arguments, mmlog_planned planned, char *storage,
    char unknown[UNKNOWN_ERROR_SIZE], int error) {
  switch ((mmlog_directive_kind)(planned & ((1u << MMLOG_PLAN_SHIFT) - 1))) {
    case MMLOG_SIGNED_8: return signed_word((signed char)va_arg(arguments->list, int));
    case MMLOG_SIGNED_16: return signed_word((short)va_arg(arguments->list, int));
    case MMLOG_SIGNED_32: return signed_word(va_arg(arguments->list, int));
    case MMLOG_SIGNED_64: return signed_word(va_arg(arguments->list, int64_t));
    case MMLOG_UNSIGNED_8: return word((unsigned char)va_arg(arguments->list, unsigned));
    case MMLOG_UNSIGNED_16: return word((unsigned short)va_arg(arguments->list, unsigned));
    case MMLOG_UNSIGNED_32: return word(va_arg(arguments->list, unsigned));
    case MMLOG_UNSIGNED_64: return word(va_arg(arguments->list, uint64_t));
    case MMLOG_POINTER: return word((uint64_t)(uintptr_t)va_arg(arguments->list, void *));
    case MMLOG_DOUBLE: return double_word(va_arg(arguments->list, double));
    case MMLOG_STRING: return string(va_arg(arguments->list, const char *), longest(planned));
    case MMLOG_ERROR_TEXT: return error_text(error, unknown);
    case MMLOG_CHARACTER:
      *storage = (char)va_arg(arguments->list, int);
      return text(storage, 1);
    case MMLOG_COUNTED_STRING: {
      int maximum = va_arg(arguments->list, int);
      return string(
          va_arg(arguments->list, const char *), maximum < 0 ? SIZE_MAX : (size_t)maximum);
    }
    case MMLOG_LITERAL: case MMLOG_UNDEFERRED: break;
  }
  return word(0);
}

static void collect(collection *collected, const mmlog_planned *plan, size_t count,
    argument_list *arguments, int error) {
  for (size_t index = 0; index < count; index++) {
    // Atomic: another thread may be storing the same value just now.
    mmlog_planned planned = __atomic_load_n(&plan[index], __ATOMIC_RELAXED);
    collected->values[index] = next_value(
        arguments, planned, &collected->characters[index], collected->unknown_error, error);
  }
}

// ---- Sites

static uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0xD6E8FEB86659FD93u;
  return hash ^ hash >> 32;
}

static uint64_t mix_text(uint64_t hash, const char *text) {
  // Not a word at a time: nothing behind a text's end may be touched.
  for (; *text != 0; text++) hash = (hash ^ (unsigned char)*text) * 0x100000001B3u;
  return mix(hash, 0);
}

// Differs from the hashes of Swift's statements, which are odd sums of other products; never 0.
static uint64_t hash_of_site(const mmlog_site *site, const char *format, uint32_t state) {
  return mix((uint64_t)(uintptr_t)site * 0x9E3779B97F4A7C15u,
             (uint64_t)(uintptr_t)format ^ (uint64_t)site->line << 48 ^ (uint64_t)state << 32) |
         1;
}

// A text of a site; empty if the site has none.
static const char *known(const char *text) { return text != NULL ? text : ""; }

static uint32_t state_of(int count) { return count < 0 ? AS_TEXT : (uint32_t)count + 1; }

// Inspects the format, the first time. Several threads may do this at once: all store the same.
static uint32_t prepare(mmlog_site *site, const char *format) {
  uint32_t parts;
  mmlog_planned plan[MMLOG_PLANNED] = {0};
  uint32_t state = state_of(mmlog_plan(format, plan, &parts));
  uint64_t hash = mix_text(mix_text(mix_text(0, known(site->file)), known(site->function)), format);
  state |= (uint32_t)hash << STATE_COUNT_BITS;
  for (int index = 0; index < MMLOG_PLANNED; index++)
    __atomic_store_n(&site->plan[index], plan[index], __ATOMIC_RELAXED);
  __atomic_store_n(&site->state, state, __ATOMIC_RELEASE);
  return state;
}

// ---- Texts

#define MAXIMUM_COLUMNS 65536
#define LONGEST_DIRECTIVE 64

// Replaces the asterisks of a directive by the next arguments, which are limited. False: the
// directive is too long.
static bool resolve(const char *next, const char *end, char directive[LONGEST_DIRECTIVE],
    argument_list *arguments) {
  size_t length = 0;
  for (; next < end; next++) {
    if (length + sizeof "-65536" > LONGEST_DIRECTIVE) return false;
    if (*next != '*') {
      directive[length++] = *next;
      continue;
    }
    int size = va_arg(arguments->list, int);
    if (size > MAXIMUM_COLUMNS) size = MAXIMUM_COLUMNS;
    if (size < -MAXIMUM_COLUMNS) size = -MAXIMUM_COLUMNS;
    // A negative precision means no precision; a negative width means alignment to the left.
    bool is_precision = length > 0 && directive[length - 1] == '.';
    if (is_precision && size < 0) length--;
    else length += (size_t)snprintf(directive + length, LONGEST_DIRECTIVE - length, "%d", size);
  }
  directive[length] = 0;
  return true;
}

// Whether a text has a number above the maximum.
static bool has_large_number(const char *next, const char *end) {
  unsigned number = 0;
  for (; next < end; next++) {
    bool is_digit = *next >= '0' && *next <= '9';
    number = is_digit ? number * 10 + (unsigned)(*next - '0') : 0;
    if (number > MAXIMUM_COLUMNS) return true;
  }
  return false;
}

// What the directives of a format have.
typedef struct {
  bool asterisks;
  bool positions;      // which argument it is: %1$d
  bool large_numbers;  // a width or a precision above the maximum
} format_traits;

static format_traits traits_of(const char *format) {
  format_traits traits = {0};
  mmlog_directive directive;
  const char *start = format;
  for (; mmlog_next_directive(&format, &directive); start = format) {
    if (directive.kind == MMLOG_LITERAL) continue;
    size_t length = (size_t)(format - start);
    traits.asterisks |= memchr(start, '*', length) != NULL;
    traits.positions |= memchr(start, '$', length) != NULL;
    traits.large_numbers |= has_large_number(start, format);
  }
  return traits;
}

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wformat-nonliteral"
// As snprintf(3), for one directive.
static int print_directive(
    char *place, size_t room, const char *next, const char *end, argument_list *arguments) {
  char directive[LONGEST_DIRECTIVE];
  if (!resolve(next, end, directive, arguments)) return -1;
  bool is_long = strpbrk(directive, "lqjztL") != NULL;
  switch (end[-1]) {
    case 'd': case 'i': case 'u': case 'x': case 'X': case 'o': case 'b': case 'B':
      return is_long ? snprintf(place, room, directive, va_arg(arguments->list, int64_t))
                     : snprintf(place, room, directive, va_arg(arguments->list, int));
    case 'a': case 'A': case 'e': case 'E': case 'f': case 'F': case 'g': case 'G':
      return strchr(directive, 'L') != NULL
          ? snprintf(place, room, directive, va_arg(arguments->list, long double))
          : snprintf(place, room, directive, va_arg(arguments->list, double));
    case 'c': case 'C': return snprintf(place, room, directive, va_arg(arguments->list, unsigned));
    case 's': case 'S': case 'p':
      return snprintf(place, room, directive, va_arg(arguments->list, void *));
    case 'm': return snprintf(place, room, directive, 0);
    default: return -1;
  }
}

// As vsnprintf(3), but with limited widths: vsnprintf takes half a minute for a width of 2 GiB.
static int print(char *place, size_t room, const char *format, va_list list, int error) {
  format_traits traits = traits_of(format);
  if (traits.large_numbers || (traits.asterisks && traits.positions)) return -1;
  errno = error;
  if (!traits.asterisks) return vsnprintf(place, room, format, list);
  argument_list arguments;
  va_copy(arguments.list, list);
  size_t length = 0;
  int count = 0;
  mmlog_directive directive;
  const char *start = format;
  while (count >= 0 && mmlog_next_directive(&format, &directive)) {
    size_t left = length < room ? room - length : 0;
    char *to = left > 0 ? place + length : NULL;
    errno = error;
    count = directive.kind == MMLOG_LITERAL
        ? snprintf(to, left, "%.*s", (int)directive.length, directive.text)
        : print_directive(to, left, start, format, &arguments);
    length += count < 0 ? 0 : (size_t)count;
    start = format;
  }
  va_end(arguments.list);
  return count < 0 || length > INT_MAX ? -1 : (int)length;
}
#pragma clang diagnostic pop

// ---- Records

// Makes the text on the calling thread, because readers cannot.
static void record_text(mmlog_logger *logger, mmlog_level level, mmlog_statement *statement,
    const mmlog_more *more, argument_list *arguments, int error) {
  char place[1024], *made = place;
  va_list again;
  va_copy(again, arguments->list);
  int length = print(place, sizeof place, statement->format, arguments->list, error);
  if (length >= (int)sizeof place && (made = malloc((size_t)length + 1)) != NULL)
    print(made, (size_t)length + 1, statement->format, again, error);
  va_end(again);
  if (made == NULL) {
    made = place;
    length = sizeof place - 1;
  }
  // If the message cannot be formatted, the format is recorded.
  mmlog_value value = length < 0 ? string(statement->format, SIZE_MAX) : text(made, (size_t)length);
  statement->format = NULL;
  mmlog_swift_record(logger, file_level(level), statement, &value, 1, more);
  if (made != place) free(made);
}

static void record(mmlog_logger *logger, mmlog_level level, mmlog_statement *statement,
    uint32_t state, const mmlog_planned *plan, const mmlog_more *more, argument_list *arguments) {
  int error = errno;
  if (state == AS_TEXT) {
    record_text(logger, level, statement, more, arguments, error);
    errno = error;
    return;
  }
  collection collected;
  collect(&collected, plan, state - 1, arguments, error);
  mmlog_swift_record(logger, file_level(level), statement, collected.values, state - 1, more);
}

static void record_at(mmlog_logger *logger, mmlog_level level, mmlog_site *site,
    const mmlog_more *more, const char *format, va_list list) {
  uint32_t state = __atomic_load_n(&site->state, __ATOMIC_ACQUIRE);
  if (__builtin_expect(state == 0, 0)) state = prepare(site, format);
  mmlog_statement statement = {hash_of_site(site, format, state), format, known(site->file),
      known(site->function), site->line};
  argument_list arguments;
  va_copy(arguments.list, list);
  state &= (1u << STATE_COUNT_BITS) - 1;
  record(logger, level, &statement, state, site->plan, more, &arguments);
  va_end(arguments.list);
}

void mmlog_vrecord_in(mmlog_logger *logger, mmlog_level level, mmlog_site *site,
    const mmlog_span *span, const mmlog_field *fields, size_t field_count, const char *format,
    va_list list) {
  mmlog_more more = {.fields = fields, .field_count = field_count, .within = span};
  record_at(
      logger, level, site, field_count > 0 || span != NULL ? &more : NULL, format, list);
}

void mmlog_vrecord(mmlog_logger *logger, mmlog_level level, mmlog_site *site,
    const mmlog_field *fields, size_t field_count, const char *format, va_list list) {
  mmlog_vrecord_in(logger, level, site, NULL, fields, field_count, format, list);
}

void mmlog_record(
    mmlog_logger *logger, mmlog_level level, mmlog_site *site, const char *format, ...) {
  va_list list;
  va_start(list, format);
  record_at(logger, level, site, NULL, format, list);
  va_end(list);
}

void mmlog_record_in(mmlog_logger *logger, mmlog_level level, mmlog_site *site,
    const mmlog_span *span, const mmlog_field *fields, size_t field_count, const char *format,
    ...) {
  va_list list;
  va_start(list, format);
  mmlog_vrecord_in(logger, level, site, span, fields, field_count, format, list);
  va_end(list);
}

void mmlog_record_begin(mmlog_logger *logger, mmlog_level level, mmlog_site *site,
    mmlog_span *span, const mmlog_span *parent, const char *format, ...) {
  mmlog_more more = {.begun = span, .parent = parent};
  va_list list;
  va_start(list, format);
  record_at(logger, level, site, &more, format, list);
  va_end(list);
}

void mmlog_record_end(
    const mmlog_span *span, bool has_failed, mmlog_site *site, const char *format, ...) {
  mmlog_more more = {.ended = span, .has_failed = has_failed};
  va_list list;
  va_start(list, format);
  record_at(span->logger, (mmlog_level)(span->level + 1), site, &more, format, list);
  va_end(list);
}

void mmlog_record_fields(mmlog_logger *logger, mmlog_level level, mmlog_site *site,
    const mmlog_field *fields, size_t field_count, const char *format, ...) {
  va_list list;
  va_start(list, format);
  mmlog_vrecord(logger, level, site, fields, field_count, format, list);
  va_end(list);
}

// The secret in hashes of texts that are known at run time only. mmlog_writer.h cannot be included
// here: it has another mmlog_set_level.
extern uint64_t mmlog_key_secret[];

void mmlog_vlog(mmlog_logger *logger, mmlog_level level, const char *file, uint32_t line,
    const char *function, const char *format, va_list list) {
  if (!mmlog_is_enabled(logger, level)) return;
  uint32_t parts;
  mmlog_planned plan[MMLOG_PLANNED];
  uint32_t state = state_of(mmlog_plan(format, plan, &parts));
  uint64_t hash = mix_text(mix_text(mix_text(mmlog_key_secret[0], file), function), format);
  // By itself: a byte of the file's name could make up for a difference of lines.
  mmlog_statement statement = {mix(hash, line) | 1, format, file, function, line};
  argument_list arguments;
  va_copy(arguments.list, list);
  record(logger, level, &statement, state, plan, NULL, &arguments);
  va_end(arguments.list);
}

// ---- Signal handlers

// Call sites of up to this many parts are put together without memory from the heap.
#define MAXIMUM_PARTS 23

bool mmlog_signal_record(mmlog_logger *logger, mmlog_level level, const char *file, uint32_t line,
    const char *function, const char *format, ...) {
  if (!mmlog_is_enabled(logger, level)) return false;
  int error = errno;
  uint32_t parts;
  mmlog_planned plan[MMLOG_PLANNED];
  int count = mmlog_plan(format, plan, &parts);
  mmlog_statement statement = {1, format, file, function, line};
  collection collected;
  if (count < 0 || parts > MAXIMUM_PARTS) {
    statement.format = NULL;
    collected.values[0] = string(format, SIZE_MAX);
    count = 1;
  } else {
    argument_list arguments;
    va_start(arguments.list, format);
    collect(&collected, plan, (size_t)count, &arguments, error);
    va_end(arguments.list);
  }
  return mmlog_swift_signal_record(
      logger, file_level(level), &statement, collected.values, (size_t)count);
}
