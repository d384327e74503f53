// quill, with its defaults: an unbounded queue, and the pattern of its own benchmark.

#include <quill/Backend.h>
#include <quill/Frontend.h>
#include <quill/LogMacros.h>
#include <quill/Logger.h>
#include <quill/sinks/FileSink.h>

#include "peer.hpp"

static quill::Logger *logger;

static int open_log(const char *directory) {
  quill::BackendOptions options;
  options.sleep_duration = std::chrono::microseconds(100);
  // It tells of each queue that grows.
  options.error_notifier = [](std::string const &) {};
  quill::Backend::start(options);
  auto file = quill::Frontend::create_or_get_sink<quill::FileSink>(log_file(directory));
  logger = quill::Frontend::create_or_get_logger(
      log_file(directory), std::move(file),
      quill::PatternFormatterOptions{"%(time) [%(thread_id)] %(short_source_location) %(log_level) %(message)"});
  return logger != nullptr;
}

static void order(uint64_t id, const char *user, double elapsed, uint64_t quantity) {
  LOG_INFO(logger, "order {} accepted for {} in {:.2f} ms, quantity {}", id, user, elapsed, quantity);
}

static void text(const char *text) { LOG_INFO(logger, "{}", text); }

static void pairs(uint64_t id, const char *user, double price, int live, const char *side) {
  LOG_INFO(logger, "order accepted venue={} id={} price={} live={} side={}", user, id, price, live != 0, side);
}

#define SITE(n) \
  case n: LOG_INFO(logger, "step " #n " of order {} for {}", id, user); break;
static void site(uint64_t site, uint64_t id, const char *user) { TWENTY_SITES(SITE) }

static void disabled(uint64_t id) { LOG_DEBUG(logger, "never {}", id); }

static void drain() { logger->flush_log(); }

static void close_log() {
  logger->flush_log();
  quill::Frontend::remove_logger_blocking(logger);
}

PEER(open_log, order, text, pairs, site, disabled, drain, close_log, lines);
