#include "CMMLog.h"

#include <locale.h>
#include <pthread.h>
#include <stdio.h>

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
  // The thread's locale only: the process's is the host's own affair.
  locale_t before = uselocale(c_locale);
  int length = print(text, size, conversion, precision, value);
  uselocale(before);
  return length >= 0 && (size_t)length < size ? length : -1;
}
