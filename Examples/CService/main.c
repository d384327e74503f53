// A service in C: threads that match orders, and a log that outlives it.
//
//     mmlog-c-service DIRECTORY [ORDERS] [end | crash | kill]
//
// With `crash`, it dies of a null pointer, which its own handler notes; with `kill`, of SIGKILL. In
// each case `mmlog-decode DIRECTORY` shows all that it has logged.

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mmlog.h"

enum { THREADS = 3, ORDERS = 1000 };

static mmlog_logger *service_log;
static mmlog_logger *matching_log;
static struct sigaction previous;

typedef struct {
  int number;
  int orders;
} worker;

// Accepts orders; each twentieth is refused.
static void *work(void *argument) {
  const worker *self = argument;
  mmlog_debug(matching_log, "worker %d begins", self->number);
  for (int order = 1; order <= self->orders; order++) {
    double price = 100 + order * 0.25;
    if (order % 20 == 0) {
      mmlog_field fields[] = {mmlog_field_int("order", order), mmlog_field_text("venue", "XETR"),
                              mmlog_field_private("account")};
      mmlog_log_fields(matching_log, MMLOG_WARNING, fields, 3, "order refused by worker %d", self->number);
    } else {
      mmlog_info(matching_log, "order %d of worker %d accepted at %.2f, %s, flags %#06x", order, self->number, price,
                 order % 2 ? "buy" : "sell", (unsigned)order);
    }
  }
  return NULL;
}

// Notes the signal, and calls the handler that was set before: mmlog's, which records a backtrace.
static void crashed(int number, siginfo_t *info, void *context) {
  mmlog_signal_write(service_log, MMLOG_CRITICAL, "service is dying: signal %d at %p", number, info->si_addr);
  sigaction(number, &previous, NULL);
  if (previous.sa_flags & SA_SIGINFO) previous.sa_sigaction(number, info, context);
}

static mmlog_store *open_log(const char *directory) {
  mmlog_options options = {.size = sizeof options,
                           .directory = directory,
                           .name = "service",
                           .level = MMLOG_DEBUG,
                           .records_crashes = true,
                           .serves_signal_handlers = true};
  mmlog_failure failure;
  mmlog_store *store = mmlog_open(&options, &failure);
  if (store == NULL) {
    fprintf(stderr, "mmlog-c-service: %s\n", failure.message);
    exit(1);
  }
  service_log = mmlog_get_logger(store, "service");
  matching_log = mmlog_get_logger(store, "service.matching");
  return store;
}

static void handle_crashes(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = crashed;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, &previous);
}

static void serve(int orders) {
  pthread_t threads[THREADS];
  worker workers[THREADS];
  for (int number = 0; number < THREADS; number++) {
    workers[number] = (worker){number, orders};
    if (pthread_create(&threads[number], NULL, work, &workers[number]) != 0) abort();
  }
  for (int number = 0; number < THREADS; number++) pthread_join(threads[number], NULL);
}

int main(int count, char **arguments) {
  if (count < 2) {
    fprintf(stderr, "usage: mmlog-c-service DIRECTORY [ORDERS] [end | crash | kill]\n");
    return 2;
  }
  const char *end = count > 3 ? arguments[3] : "end";
  mmlog_store *store = open_log(arguments[1]);
  handle_crashes();
  mmlog_notice(service_log, "service starts, pid %d", (int)getpid());
  serve(count > 2 ? atoi(arguments[2]) : ORDERS);
  // Volatile, because the compiler would warn if it knew the value.
  int *volatile nowhere = (int *)16;
  if (strcmp(end, "crash") == 0) *nowhere = 0;
  if (strcmp(end, "kill") == 0) raise(SIGKILL);
  mmlog_notice(service_log, "service ends: %s", end);
  mmlog_failure failure;
  if (mmlog_close(store, &failure) != 0) {
    fprintf(stderr, "mmlog-c-service: %s\n", failure.message);
    return 1;
  }
  return 0;
}
