#include "CMMLogCore.h"

#include <locale.h>
#include <pthread.h>
#include <regex.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void make_c_locale(void) { c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

static int print(char *text, size_t size, char conversion, int precision, double value) {
  switch (conversion) {
    case 'f': return snprintf(text, size, "%.*f", precision, value);
    case 'e': return snprintf(text, size, "%.*e", precision, value);
    case 'g': return snprintf(text, size, "%.*g", precision, value);
    default: return -1;
  }
}

int mmlog_format_double(char *text, size_t size, char conversion, int precision, double value) {
  pthread_once(&c_locale_once, make_c_locale);
  if (c_locale == (locale_t)0) return -1;
  // Sets only the thread's locale: the process's locale belongs to the host program.
  locale_t before = uselocale(c_locale);
  int length = print(text, size, conversion, precision, value);
  uselocale(before);
  return length >= 0 && (size_t)length < size ? length : -1;
}

const void *mmlog_find(const void *text, size_t count, const void *needle, size_t needle_count) {
  return memmem(text, count, needle, needle_count);
}

static unsigned char lower(unsigned char byte) {
  return byte >= 'A' && byte <= 'Z' ? (unsigned char)(byte + 32) : byte;
}

const void *mmlog_find_any_case(
    const void *text, size_t count, const void *needle, size_t needle_count) {
  const unsigned char *bytes = text, *sought = needle;
  for (size_t start = 0; start + needle_count <= count; start++) {
    size_t same = 0;
    while (same < needle_count && lower(bytes[start + same]) == sought[same]) same++;
    if (same == needle_count) return bytes + start;
  }
  return NULL;
}

struct mmlog_regex {
  regex_t compiled;
};

struct mmlog_regex *mmlog_regex_compile(
    const char *pattern, bool ignores_case, bool finds_groups, char *problem, size_t problem_size) {
  struct mmlog_regex *regex = malloc(sizeof *regex);
  if (regex == NULL) {
    snprintf(problem, problem_size, "Memory exhausted");
    return NULL;
  }
  int flags = REG_EXTENDED | (finds_groups ? 0 : REG_NOSUB) | (ignores_case ? REG_ICASE : 0);
  int error = regcomp(&regex->compiled, pattern, flags);
  if (error == 0) return regex;
  regerror(error, &regex->compiled, problem, problem_size);
  free(regex);
  return NULL;
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MMLOG_ADDRESS_SANITIZER 1
#endif
#endif

// The address sanitizer assumes that regexec(3) gets a string that ends with a zero, whatever
// REG_STARTEND says.
static int match(
    const regex_t *compiled, const void *text, size_t count, size_t ranges, regmatch_t *range) {
#ifdef MMLOG_ADDRESS_SANITIZER
  char *string = malloc(count + 1);
  if (string == NULL) return REG_ESPACE;
  memcpy(string, text, count);
  string[count] = 0;
  int error = regexec(compiled, string, ranges, range, REG_STARTEND);
  free(string);
  return error;
#else
  (void)count;
  return regexec(compiled, text, ranges, range, REG_STARTEND);
#endif
}

int mmlog_regex_matches(const struct mmlog_regex *regex, const void *text, size_t count) {
  // regoff_t is an int.
  if (count > INT32_MAX) count = INT32_MAX;
  regmatch_t range = {.rm_so = 0, .rm_eo = (regoff_t)count};
  int error = match(&regex->compiled, text, count, 1, &range);
  return error == 0 ? 1 : error == REG_NOMATCH ? 0 : -1;
}

int mmlog_regex_group(
    const struct mmlog_regex *regex, const void *text, size_t count, size_t group, size_t *start,
    size_t *end) {
  const regoff_t last = (regoff_t)(count > INT32_MAX ? INT32_MAX : count);
  regmatch_t ranges[32] = {{.rm_so = 0, .rm_eo = last}};
  if (group >= sizeof ranges / sizeof *ranges || group > regex->compiled.re_nsub) return 0;
  int error = match(&regex->compiled, text, count, group + 1, ranges);
  if (error != 0) return error == REG_NOMATCH ? 0 : -1;
  if (ranges[group].rm_so < 0) return 0;
  *start = (size_t)ranges[group].rm_so;
  *end = (size_t)ranges[group].rm_eo;
  return 1;
}

void mmlog_regex_free(struct mmlog_regex *regex) {
  regfree(&regex->compiled);
  free(regex);
}
