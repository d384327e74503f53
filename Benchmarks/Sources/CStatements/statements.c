#include "CStatements.h"

#include <stdio.h>
#include <stdlib.h>

#include "mmlog.h"

static mmlog_store *store;
static mmlog_logger *log_of_orders;
static mmlog_span span_of_orders;

void statements_open(const char *directory) {
  mmlog_options options = {.size = sizeof options, .directory = directory, .name = "statements"};
  mmlog_failure failure;
  store = mmlog_open(&options, &failure);
  if (store == NULL) {
    fprintf(stderr, "%s\n", failure.message);
    exit(1);
  }
  log_of_orders = mmlog_get_logger(store, "counts");
  mmlog_begin(&span_of_orders, log_of_orders, MMLOG_INFO, NULL, "orders");
}

void statements_flush(void) { mmlog_flush(store, MMLOG_FLUSH_ARCHIVE, 0, NULL); }

void statements_order(long id, const char *user, double elapsed, long quantity) {
  mmlog_info(log_of_orders, "order %ld accepted for %s in %.2f ms, quantity %ld", id, user, elapsed, quantity);
}

void statements_fields(long id, const char *user) {
  mmlog_field fields[] = {mmlog_field_int("order", id), mmlog_field_text("user", user)};
  mmlog_log_fields(log_of_orders, MMLOG_INFO, fields, 2, "accepted");
}

void statements_fields_in(long id, const char *user) {
  mmlog_field fields[] = {mmlog_field_int("order", id), mmlog_field_text("user", user)};
  mmlog_log_fields_in(&span_of_orders, log_of_orders, MMLOG_INFO, fields, 2, "accepted");
}
