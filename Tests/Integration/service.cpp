// Logs as many records as Examples/CService, by the header in C++.

#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "mmlog.h"

template <typename Number>
static void work(mmlog_logger *log, Number orders) {
  mmlog_info(log, "worker begins");
  mmlog_span span;
  mmlog_begin(&span, log, MMLOG_DEBUG, nullptr, "not recorded");
  for (Number order = 1; order <= orders; order++) {
    mmlog_field fields[] = {mmlog_field_int("order", order), mmlog_field_bool("new", order > 1)};
    if (order % 3 == 0) mmlog_log_in(&span, log, MMLOG_INFO, "order in a span");
    else if (order % 2) mmlog_log_fields(log, MMLOG_INFO, fields, 2, "order of %zu bytes", sizeof order);
    else mmlog_info(log, "order %ld", static_cast<long>(order));
  }
  mmlog_end(&span, "not recorded");
}

int main(int, char **arguments) {
  mmlog_options options = {};
  options.size = sizeof options;
  options.directory = arguments[1];
  options.name = "service";
  options.serves_signal_handlers = true;
  unsigned events = 0;
  options.context = &events;
  options.on_event = [](const mmlog_event *event, void *context) {
    if (event->kind == MMLOG_EVENT_SEALED) ++*static_cast<unsigned *>(context);
  };
  mmlog_store *store = mmlog_open(&options, nullptr);
  if (store == nullptr) return 1;
  mmlog_logger *log = mmlog_get_logger(store, "cpp");
  [log] { mmlog_info(log, "in a lambda: %.1f", 1.5); }();
  std::vector<std::thread> threads;
  for (int number = 0; number < 3; number++) threads.emplace_back(work<int>, log, std::atoi(arguments[2]));
  for (auto &thread : threads) thread.join();
  if (!mmlog_signal_write(log, MMLOG_CRITICAL, "ends with %d", 0)) return 1;
  return mmlog_close(store, nullptr) == 0 && events == 1 ? 0 : 1;
}
