// Text, as the "C" locale has it whatever locale the host process has set.

#ifndef MMLOG_TEXT_H
#define MMLOG_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// snprintf(3) of `%.*f`, `%.*e` or `%.*g`: `conversion` is one of f, e, g. Returns the length, or
// -1 if it does not fit into `size` bytes or there is no memory. Any thread.
int mmlog_format_double(char *text, size_t size, char conversion, int precision, double value);

// memmem(3): where `needle`, which has a byte or more, first is in `text`, or NULL.
const void *mmlog_find(const void *text, size_t count, const void *needle, size_t needle_count);

// The same whatever the case of ASCII letters; `needle` has none in upper case.
const void *mmlog_find_any_case(
    const void *text, size_t count, const void *needle, size_t needle_count);

// regcomp(3), regexec(3), regfree(3). A compiled pattern is on the heap: regex_t is no type for
// Swift, which cannot import what it is made of. `pattern` ends with a zero byte. Returns NULL if
// it is wrong, with what is wrong as a text in `problem`. Matching: 1 or 0, -1 if there was no
// memory; any thread.
struct mmlog_regex;
struct mmlog_regex *mmlog_regex_compile(
    const char *pattern, bool ignores_case, char *problem, size_t problem_size);
int mmlog_regex_matches(const struct mmlog_regex *regex, const void *text, size_t count);
void mmlog_regex_free(struct mmlog_regex *regex);

// The name of one of Swift's functions as the source has it, to be freed; null if it is no such
// name. In Swift's runtime.
char *swift_demangle(
    const char *name, size_t length, char *buffer, size_t *size, uint32_t flags);

#endif
