#include "mmlog_format.h"

#include <string.h>

// Types and styles, with their numbers in docs/FORMAT.md.
enum { TYPE_SIGNED = 1, TYPE_UNSIGNED = 2, TYPE_DOUBLE = 3, TYPE_STRING = 6 };
enum {
  DECIMAL = 1,
  HEXADECIMAL = 2,
  OCTAL = 3,
  BINARY = 4,
  FIXED = 5,
  EXPONENTIAL = 6,
  HYBRID = 7
};
enum { SHOWS_SIGN = 1u << 16, HAS_PREFIX = 1u << 17, UPPER_CASE = 1u << 18 };
enum { PRECISION_SHIFT = 8, DIGITS_SHIFT = 24, NO_PRECISION = 255, MAXIMUM_DIGITS = 254 };
enum { ALIGN_LEFT = 1, ALIGN_RIGHT = 2, COLUMNS_SHIFT = 8, MAXIMUM_COLUMNS = 65535 };

// What stands between a per cent sign and the letter.
typedef struct {
  bool left, plus, zero, alternate;
  bool is_odd;         // it has something that only printf can do
  bool has_precision, precision_is_argument;
  uint32_t columns, precision;
  unsigned bits;       // the size of an integer
  bool is_long_double, has_length;
} specification;

static uint32_t number(const char **next) {
  uint32_t value = 0;
  for (; **next >= '0' && **next <= '9'; ++*next)
    if (value <= MAXIMUM_COLUMNS) value = value * 10 + (uint32_t)(**next - '0');
  return value;
}

static void read_flags(const char **next, specification *spec) {
  for (;; ++*next) {
    switch (**next) {
      case '-': spec->left = true; break;
      case '+': spec->plus = true; break;
      case '0': spec->zero = true; break;
      case '#': spec->alternate = true; break;
      case ' ': case '\'': case 'I': spec->is_odd = true; break;
      default: return;
    }
  }
}

// Reads which argument it is, as in %1$d and %1$*2$d.
static void read_position(const char **next, specification *spec) {
  const char *end = *next;
  number(&end);
  if (*end != '$') return;
  *next = end + 1;
  spec->is_odd = true;
}

static void read_size(const char **next, specification *spec) {
  if (**next == '*') {
    ++*next;
    spec->is_odd = true;
    read_position(next, spec);
  }
  spec->columns = number(next);
  if (**next != '.') return;
  ++*next;
  spec->has_precision = true;
  if (**next == '*') {
    ++*next;
    spec->precision_is_argument = true;
    read_position(next, spec);
  } else {
    spec->precision = number(next);
  }
}

static void read_length(const char **next, specification *spec) {
  spec->bits = 32;
  for (;; ++*next) {
    switch (**next) {
      case 'h': spec->bits = spec->bits == 16 ? 8 : 16; break;
      case 'l': case 'q': case 'j': case 'z': case 't': spec->bits = 64; break;
      case 'L': spec->is_long_double = true; break;
      default: return;
    }
    spec->has_length = true;
  }
}

static void align(const specification *spec, mmlog_directive *directive) {
  if (spec->columns == 0) return;
  directive->alignment = (spec->left ? ALIGN_LEFT : ALIGN_RIGHT) | spec->columns << COLUMNS_SHIFT;
}

// The minimum number of digits. Zeros before the number fill up the columns, except for `others`,
// the columns of what is no digit.
static uint32_t digits(const specification *spec, uint32_t others) {
  if (spec->has_precision) return spec->precision;
  if (!spec->zero || spec->left || spec->columns <= others) return 0;
  return spec->columns - others;
}

static void set_integer(
    const specification *spec, mmlog_directive *directive, uint32_t style, bool is_signed) {
  bool plus = spec->plus && is_signed, prefix = spec->alternate && style != DECIMAL;
  uint32_t minimum = digits(spec, plus ? 1 : prefix ? 2 : 0);
  bool is_shown_by_readers = !spec->precision_is_argument && !spec->is_long_double &&
                             minimum <= MAXIMUM_DIGITS && !(spec->has_precision && minimum == 0) &&
                             !(prefix && style == OCTAL);
  if (!is_shown_by_readers) return;
  unsigned size = spec->bits == 8 ? 0 : spec->bits == 16 ? 1 : spec->bits == 32 ? 2 : 3;
  directive->kind = (is_signed ? MMLOG_SIGNED_8 : MMLOG_UNSIGNED_8) + size;
  directive->type = is_signed ? TYPE_SIGNED : TYPE_UNSIGNED;
  directive->width = (uint8_t)spec->bits;
  directive->format |=
      style | (plus ? SHOWS_SIGN : 0) | (prefix ? HAS_PREFIX : 0) | minimum << DIGITS_SHIFT;
  if (spec->has_precision || !spec->zero || spec->left) align(spec, directive);
}

static void set_double(const specification *spec, mmlog_directive *directive, uint32_t style) {
  bool has_zeros = spec->zero && !spec->left && spec->columns > 0;
  uint32_t precision = spec->has_precision ? spec->precision : NO_PRECISION;
  if (spec->precision_is_argument || spec->is_long_double || spec->alternate || has_zeros) return;
  if (spec->has_precision && precision > MAXIMUM_DIGITS) return;
  directive->kind = MMLOG_DOUBLE;
  directive->type = TYPE_DOUBLE;
  directive->format |= style | precision << PRECISION_SHIFT | (spec->plus ? SHOWS_SIGN : 0);
  align(spec, directive);
}

static void set_string(
    const specification *spec, mmlog_directive *directive, mmlog_directive_kind kind) {
  // %ls, %lc: of wide characters.
  if (spec->has_length || (kind != MMLOG_STRING && spec->precision_is_argument)) return;
  // %.3m is the beginning of the text, %#m the error's name.
  if (kind == MMLOG_ERROR_TEXT && (spec->has_precision || spec->alternate)) return;
  directive->kind = spec->precision_is_argument ? MMLOG_COUNTED_STRING : kind;
  directive->type = TYPE_STRING;
  if (kind == MMLOG_STRING && spec->has_precision && !spec->precision_is_argument)
    directive->longest = spec->precision;
  align(spec, directive);
}

static void set_pointer(const specification *spec, mmlog_directive *directive) {
  if (spec->has_precision || spec->zero) return;
  directive->kind = MMLOG_POINTER;
  directive->type = TYPE_UNSIGNED;
  directive->width = 64;
  directive->format = HEXADECIMAL | HAS_PREFIX;
  align(spec, directive);
}

static void set_conversion(char letter, const specification *spec, mmlog_directive *directive) {
  if (spec->is_odd) return;
  switch (letter) {
    case 'd': case 'i': set_integer(spec, directive, DECIMAL, true); break;
    case 'u': set_integer(spec, directive, DECIMAL, false); break;
    case 'x': set_integer(spec, directive, HEXADECIMAL, false); break;
    case 'o': set_integer(spec, directive, OCTAL, false); break;
    case 'b': set_integer(spec, directive, BINARY, false); break;
    case 'X':
      directive->format = UPPER_CASE;
      // printf writes 0X there.
      if (!spec->alternate) set_integer(spec, directive, HEXADECIMAL, false);
      break;
    case 'F': directive->format = UPPER_CASE;  // fallthrough
    case 'f': set_double(spec, directive, FIXED); break;
    case 'E': directive->format = UPPER_CASE;  // fallthrough
    case 'e': set_double(spec, directive, EXPONENTIAL); break;
    case 'G': directive->format = UPPER_CASE;  // fallthrough
    case 'g': set_double(spec, directive, HYBRID); break;
    case 'c': set_string(spec, directive, MMLOG_CHARACTER); break;
    case 's': set_string(spec, directive, MMLOG_STRING); break;
    case 'm': set_string(spec, directive, MMLOG_ERROR_TEXT); break;
    case 'p': set_pointer(spec, directive); break;
    default: break;
  }
}

bool mmlog_next_directive(const char **format, mmlog_directive *directive) {
  const char *next = *format;
  if (*next == 0) return false;
  *directive = (mmlog_directive){.kind = MMLOG_LITERAL, .text = next, .longest = UINT32_MAX};
  size_t length = strcspn(next, "%");
  if (length > 0 || next[1] == '%') {
    // A doubled percent sign ends the literal, which gets one of the two.
    bool has_sign = next[length] == '%' && next[length + 1] == '%';
    directive->length = length + has_sign;
    *format = next + length + 2 * has_sign;
    return true;
  }
  specification spec = {0};
  ++next;
  read_position(&next, &spec);
  read_flags(&next, &spec);
  read_size(&next, &spec);
  read_length(&next, &spec);
  directive->kind = MMLOG_UNDEFERRED;
  set_conversion(*next, &spec, directive);
  *format = *next == 0 ? next : next + 1;
  return true;
}

int mmlog_plan(const char *format, mmlog_planned plan[MMLOG_PLANNED], uint32_t *parts) {
  int count = 0;
  mmlog_directive directive;
  for (*parts = 0; mmlog_next_directive(&format, &directive); ++*parts) {
    if (directive.kind == MMLOG_LITERAL) continue;
    uint32_t longest = directive.longest == UINT32_MAX ? 0 : directive.longest + 1;
    bool fits = count < MMLOG_PLANNED && longest < 1u << (16 - MMLOG_PLAN_SHIFT);
    if (directive.kind == MMLOG_UNDEFERRED || !fits) return -1;
    plan[count++] = (mmlog_planned)(directive.kind | longest << MMLOG_PLAN_SHIFT);
  }
  return count;
}
