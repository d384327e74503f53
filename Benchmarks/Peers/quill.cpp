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
  // quill would report each queue that grows.
  options.error_notifier = [](std::string const &) {};
  quill::Backend::start(options);
  auto file = quill::Frontend::create_or_get_sink<quill::FileSink>(log_file(directory));
  logger = quill::Frontend::create_or_get_logger(
      log_file(directory), std::move(file),
      quill::PatternFormatterOptions{"%(time) [%(thread_id)] %(short_source_location) %(log_level) %(message)"});
  return logger != nullptr;
}

#define INFO(...) LOG_INFO(logger, __VA_ARGS__)
#define DEBUG(...) LOG_DEBUG(logger, __VA_ARGS__)
#define ELAPSED "{:.2f}"
#include "statements.hpp"

static void drain() { logger->flush_log(); }

static void close_log() {
  logger->flush_log();
  quill::Frontend::remove_logger_blocking(logger);
}

PEER(open_log, order, text, pairs, site, disabled, drain, close_log, lines);
