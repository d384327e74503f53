// Text as in the "C" locale, whatever locale the host process has set.

#ifndef MMLOG_TEXT_H
#define MMLOG_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// snprintf(3) of `%.*f`, `%.*e` or `%.*g`: `conversion` is one of f, e, g. Returns the length, or
// -1 if it does not fit into `size` bytes or there is no memory. Any thread.
int mmlog_format_double(char *text, size_t size, char conversion, int precision, double value);

// memmem(3): the first place of `needle`, which has a byte or more, in `text`; or NULL.
const void *mmlog_find(const void *text, size_t count, const void *needle, size_t needle_count);

// The same whatever the case of ASCII letters. `needle` must have no letters in upper case.
const void *mmlog_find_any_case(
    const void *text, size_t count, const void *needle, size_t needle_count);

// regcomp(3), regexec(3), regfree(3). A compiled pattern is on the heap, because Swift cannot
// import regex_t. `pattern` ends with a zero byte. Compiling returns NULL if the pattern is wrong,
// and writes what is wrong into `problem`. Matching returns 1 or 0, or -1 if there was no memory;
// any thread. Groups, up to the 31st, are found only if the pattern was compiled with
// `finds_groups`.
struct mmlog_regex;
struct mmlog_regex *mmlog_regex_compile(
    const char *pattern, bool ignores_case, bool finds_groups, char *problem, size_t problem_size);
int mmlog_regex_matches(const struct mmlog_regex *regex, const void *text, size_t count);
int mmlog_regex_group(
    const struct mmlog_regex *regex, const void *text, size_t count, size_t group, size_t *start,
    size_t *end);
void mmlog_regex_free(struct mmlog_regex *regex);

// Returns the name of one of Swift's functions as in the source, to be freed by the caller; null if
// `name` is no such name. A function of Swift's runtime.
char *swift_demangle(
    const char *name, size_t length, char *buffer, size_t *size, uint32_t flags);

// Which of 64 bytes are ASCII digits, ASCII letters or digits, and below a limit: bit i is byte i.
struct mmlog_text_masks {
  uint64_t digits, alphanumerics, below;
};

// The compiler's vectors: they become vector instructions on processors that have them.
typedef uint8_t mmlog_bytes __attribute__((ext_vector_type(16)));
typedef bool mmlog_bits __attribute__((ext_vector_type(16)));

static inline struct mmlog_text_masks mmlog_text_masks(const void *text, uint8_t limit) {
  struct mmlog_text_masks masks = {0, 0, 0};
  for (int part = 0; part < 4; part++) {
    mmlog_bytes bytes;
    memcpy(&bytes, (const char *)text + 16 * part, sizeof bytes);
    mmlog_bytes digits = (mmlog_bytes)(bytes - (uint8_t)'0' < (uint8_t)10);
    mmlog_bytes letters = (mmlog_bytes)((bytes | (uint8_t)0x20) - (uint8_t)'a' < (uint8_t)26);
    mmlog_bits found[3] = {
        __builtin_convertvector(digits, mmlog_bits),
        __builtin_convertvector(digits | letters, mmlog_bits),
        __builtin_convertvector((mmlog_bytes)(bytes < limit), mmlog_bits)};
    uint16_t bits[3];
    for (int i = 0; i < 3; i++) memcpy(&bits[i], &found[i], sizeof bits[i]);
    masks.digits |= (uint64_t)bits[0] << 16 * part;
    masks.alphanumerics |= (uint64_t)bits[1] << 16 * part;
    masks.below |= (uint64_t)bits[2] << 16 * part;
  }
  return masks;
}

#endif
