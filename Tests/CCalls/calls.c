#define _GNU_SOURCE 1
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "CCalls.h"

// Each is a format with its arguments. Those from "text" on the caller has to format.
#define DEFERRED(X) \
  X("no arguments") \
  X("a sign: 100%%") \
  X("%%%d%% %%", 3) \
  X("%d", -5) \
  X("%i|%d|%d", 0, INT32_MIN, INT32_MAX) \
  X("%u", UINT32_MAX) \
  X("%hhd %hhu", (signed char)-1, (unsigned char)255) \
  X("%hd %hu", (short)-300, (unsigned short)65535) \
  X("%ld %lu", INT64_MIN, UINT64_MAX) \
  X("%lld %llu", -1LL, 1ULL << 63) \
  X("%zu %zd %jd %td", (size_t)7, (ssize_t)-7, (intmax_t)-8, (ptrdiff_t)-9) \
  X("%x %X %lx", 0xBEEFu, 0xBEEFu, 0xDEADBEEFCAFEul) \
  X("%#x %#lx", 1u, 255ul) \
  X("%08x|%8x|%-8x|", 0x12AB, 0x12AB, 0x12AB) \
  X("%#010x", 0x12AB) \
  X("%o", 0755) \
  X("%5d|%-5d|%05d|%+d|%+05d|%+05d|", 42, 42, 42, 42, 42, -42) \
  X("%.3d|%8.3d|%.8u|%.4x", -5, 5, 6, 7) \
  X("%f %F", 1.5, -2.25) \
  X("%.0f %.1f %.3f %+.2f", 2.5, 2.25, 1e10, 3.14159) \
  X("%10.2f|%-10.2f|", 3.14159, -3.14159) \
  X("%e %E %.2e", 12345.678, 0.00012, 1e300) \
  X("%g %G %.3g %g", 0.0001, 1e-10, 12345.678, 100000.0) \
  X("%f %e %g", (double)INFINITY_, -(double)INFINITY_, 0.0) \
  X("%s", "text") \
  X("%s|%10s|%-10s|", "", "right", "left") \
  X("%.3s|%.0s|%8.2s|", "abcdef", "abcdef", "abcdef") \
  X("%.*s|%.*s|%.*s|", 2, "abcdef", -1, "all of it", 0, "none") \
  X("%s", (const char *)null_text) \
  X("%c%c|%3c|%-3c|", 'a', 'b', 'c', 'd') \
  X("%p %p", (void *)0x1234, (void *)UINTPTR_MAX) \
  X("%d %s %d %s %d %s %d %s", 1, "a", 2, "b", 3, "c", 4, "d") \
  X("%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16) \
  X("%m") \
  X("order %d accepted for %s at %.2f, %m", 4711, "someone", 99.5)

#define FORMATTED(X) \
  X("%a", 1.0) \
  X("%Lf", (long double)1.5) \
  X("%*d|%-*d|", 5, 1, 4, 2) \
  X("%.*f", 3, 1.0) \
  X("%*s 100%% %Lf|%hhd %*ld|%c", 8, "text", (long double)2.5, 300, -8, -7L, 'c') \
  X("%-*.*f|%.*d|%*.*s|%*m|%*c%*p", 9, -1, 1.5, -3, 5, 6, 2, "abc", 30, 3, 'x', 20, (void *)16) \
  X("%*Ld|%Lx|%Li", 12, 5000000000LL, 1LL << 40, -1LL) \
  X("% d", 5) \
  X("%'d", 1234567) \
  X("%#o %#X", 8u, 255u) \
  X("%08.3f", -1.5) \
  X("%.0d|", 0) \
  X("%.300d", 1) \
  X("%ls", L"wide") \
  X("%.3m|%.*m|", 4) \
  X("%#m|%-#10m|") \
  X("price $%.*f", 2, 12.5) \
  X("limit $100000, got %'d", 7) \
  X("** $ %a **", 1.0) \
  X("cost $%-*s|", 8, "ab") \
  X("%2$s of 100000 * $%1$08.3f|%2$-5s|", 12.5, "ab") \
  X("%s %a", long_text, 0.5) \
  X("%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17)

#define INFINITY_ __builtin_inf()

static const char *volatile null_text = NULL;
static char long_text[5000];

#pragma clang diagnostic ignored "-Wformat"

#define COUNT(...) +1
#define FORMAT(...) FORMAT_OF(__VA_ARGS__, 0),
#define FORMAT_OF(format, ...) format
#define PRINT(...) if (index-- == 0) return snprintf(text, size, __VA_ARGS__);
#define LOG(...) if (index-- == 0) mmlog_info(log, __VA_ARGS__);

int ccalls_count(void) { return 0 DEFERRED(COUNT) FORMATTED(COUNT); }

const char *ccalls_format(int index) {
  static const char *const formats[] = {DEFERRED(FORMAT) FORMATTED(FORMAT)};
  return formats[index];
}

int ccalls_print(int index, char *text, size_t size) {
  memset(long_text, 'l', sizeof long_text - 1);
  errno = ENOENT;
  DEFERRED(PRINT)
  FORMATTED(PRINT)
  return 0;
}

void ccalls_log(mmlog_logger *log, int index) {
  memset(long_text, 'l', sizeof long_text - 1);
  errno = ENOENT;
  DEFERRED(LOG)
  FORMATTED(LOG)
}

void ccalls_log_wide(mmlog_logger *log) {
  mmlog_info(log, "%*d", INT_MIN, 5);
  mmlog_info(log, "%.*d", INT_MAX, 5);
  mmlog_info(log, "%70000d", 5);
  // The calling thread would format these.
  mmlog_info(log, "%0400000000.2f", 5.0);
  mmlog_info(log, "%.65537a", 5.0);
  mmlog_info(log, "%1$400000000d", 5);
  mmlog_info(log, "%1$*2$d", 5, INT_MAX);
}

void ccalls_log_parts(mmlog_logger *log, const char *text) {
  mmlog_info(log, "%d%%%d%%%d%%%d%%%d%%%d%%%d%%%d%%%d%%%d%%%d%%%d%%%d%%%d%%%d%%%s", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
      13, 14, 15, text);
}

size_t ccalls_heap_size(void) { return mallinfo2().uordblks; }

void ccalls_log_many(mmlog_logger *log, int count) {
  static const char text[] = "a text that is long enough to have segments fill up at other places than numbers alone would";
  for (int number = 0; number < count; number++) {
    if (number % 2) mmlog_info(log, "%d of %s", number, text);
    else mmlog_info(log, "%d of %.*s", number, number % 64, text);
  }
}

void ccalls_log_fields(mmlog_logger *log) {
  mmlog_field fields[] = {
      mmlog_field_int("int", -1),         mmlog_field_uint("uint", UINT64_MAX), mmlog_field_double("double", 0.5),
      mmlog_field_bool("bool", true),     mmlog_field_text("text", "someone"),  mmlog_field_text("null", NULL),
      mmlog_field_bytes("part", "abc", 2), mmlog_field_private("private"),      mmlog_field_hash("hash", "secret"),
      mmlog_field_hash("again", "secret"), mmlog_field_int(NULL, 7),        mmlog_field_bytes("long", "abc", SIZE_MAX),
      mmlog_field_bytes("none", NULL, 3)};
  mmlog_log_fields(log, MMLOG_ERROR, fields, sizeof fields / sizeof *fields, "%s with fields", "message");
}

void ccalls_log_spans(mmlog_logger *log, mmlog_span *open) {
  mmlog_span request, part, hidden, copy;
  mmlog_begin(&request, log, MMLOG_INFO, NULL, "request %d", 7);
  mmlog_begin(&part, log, MMLOG_NOTICE, &request, "load %s", "book");
  mmlog_begin(&hidden, log, MMLOG_DEBUG, &request, "below the level %d", 1);
  // The old value of the same variable may be the parent.
  *open = part;
  mmlog_begin(open, log, MMLOG_INFO, open, "open %*d", 3, 5);
  mmlog_fail(&part, "timed out after %d s", 3);
  mmlog_end(&hidden, "never seen");
  copy = request;
  mmlog_end(&copy, "status %d", 200);
}

void ccalls_log_within_spans(mmlog_logger *log, mmlog_span *request, mmlog_span *part) {
  mmlog_span hidden, part_of_hidden;
  memset(&hidden, 0, sizeof hidden);
  mmlog_field fields[] = {mmlog_field_int("attempt", 2), mmlog_field_text("venue", "XETR")};
  mmlog_begin(request, log, MMLOG_INFO, NULL, "request");
  mmlog_begin(part, log, MMLOG_INFO, request, "part");
  mmlog_begin(&hidden, log, MMLOG_DEBUG, request, "hidden");
  mmlog_begin(&part_of_hidden, log, MMLOG_INFO, &hidden, "part of hidden");
  mmlog_end(&part_of_hidden, "part of hidden ends");
  // Twice: when a statement is known, it goes another way.
  for (int number = 1; number <= 2; number++) {
    mmlog_log_in(request, log, MMLOG_INFO, "request %d", number);
    mmlog_log_fields_in(part, log, MMLOG_WARNING, fields, 2, "part %d", number);
    mmlog_log_in(request, log, MMLOG_INFO, "request %a", (double)number);
    mmlog_log_in(&hidden, log, MMLOG_INFO, "none %d", number);
    mmlog_log_in(NULL, log, MMLOG_INFO, "none %d", number);
    mmlog_info(log, "none %d", number);
    mmlog_log_in(request, log, MMLOG_DEBUG, "below the level");
  }
  mmlog_end(part, "part ends");
  mmlog_end(request, "request ends");
}

int ccalls_log_below_level(mmlog_logger *log) {
  int count = 0;
  mmlog_debug(log, "%d", ++count);
  return count;
}

static void wrapper(mmlog_logger *log, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  mmlog_vlog(log, MMLOG_NOTICE, "wrapped.c", 77, "wrapped", format, arguments);
  va_end(arguments);
}

void ccalls_log_wrapped(mmlog_logger *log, const char *format, int number) {
  char changing[64];
  snprintf(changing, sizeof changing, "%s", format);
  wrapper(log, changing, number);
  memset(changing, 'x', sizeof changing);
}

int ccalls_log_errno(mmlog_logger *log, int error) {
  errno = error;
  mmlog_warning(log, "%m, and again: %m");
  mmlog_warning(log, "failed: %m, %a", 1.0);
  return errno;
}

void ccalls_log_lane(mmlog_logger *log, long lane, long sequence, const void *text, int count) {
  mmlog_info(log, "%ld %ld %.*s", lane, sequence, count, text != NULL ? (const char *)text : "");
}

// ---- Signal handlers

bool ccalls_signal_lane(mmlog_logger *log, long lane, long sequence) {
  return mmlog_signal_write(log, MMLOG_NOTICE, "%ld %ld ", lane, sequence);
}

static mmlog_logger *handler_log;
static const char *handler_text;
static uint64_t handled, written, last = UINT64_MAX;

static void handle(int signal) {
  uint64_t number = __atomic_add_fetch(&handled, 1, __ATOMIC_SEQ_CST);
  bool is_written = handler_text != NULL
      ? mmlog_signal_write(handler_log, MMLOG_WARNING, "signal %d %llu %s", signal, (unsigned long long)number, handler_text)
      : mmlog_signal_write(handler_log, MMLOG_WARNING, "signal %d %llu", signal, (unsigned long long)number);
  if (is_written && __atomic_add_fetch(&written, 1, __ATOMIC_SEQ_CST) >= last) kill(getpid(), SIGKILL);
}

void ccalls_handle(int signal, mmlog_logger *log) {
  handler_log = log;
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, NULL);
}

void ccalls_set_text(const char *text) { handler_text = text; }
void ccalls_die_after(uint64_t count) { last = count; }
uint64_t ccalls_handled(void) { return __atomic_load_n(&handled, __ATOMIC_SEQ_CST); }
uint64_t ccalls_written(void) { return __atomic_load_n(&written, __ATOMIC_SEQ_CST); }

static void unblock(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

void ccalls_set_timer(int microseconds) {
  static timer_t timer;
  if (microseconds == 0) {
    timer_delete(timer);
    return;
  }
  unblock(SIGALRM);
  struct sigevent event;
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGALRM;
  event._sigev_un._tid = gettid();
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  struct itimerspec interval = {{0, microseconds * 1000}, {0, microseconds * 1000}};
  timer_settime(timer, 0, &interval, NULL);
}

void ccalls_raise(int signal) {
  unblock(signal);
  raise(signal);
}

int ccalls_fork(void) { return fork(); }

static sigjmp_buf before_abort;

static void jump(int signal) {
  (void)signal;
  siglongjmp(before_abort, 1);
}

void ccalls_jump_out_of_abort(void) { signal(SIGABRT, jump); }

void ccalls_survive_abort(void) {
  if (sigsetjmp(before_abort, 1) == 0) abort();
}
