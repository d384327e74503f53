#include <spdlog/async.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <string_view>

#include "CxxLoggers.h"
#include "sites.h"

struct spdlog_logger {
  std::shared_ptr<spdlog::details::thread_pool> pool;  // null if synchronous
  std::shared_ptr<spdlog::sinks::basic_file_sink_mt> file;
  std::shared_ptr<spdlog::logger> logger;
};

spdlog_logger *spdlog_open(const char *path, uint64_t queue) {
  try {
    auto made = std::make_unique<spdlog_logger>();
    made->file = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path, true);
    if (queue > 0) {
      made->pool = std::make_shared<spdlog::details::thread_pool>(queue, 1);
      made->logger = std::make_shared<spdlog::async_logger>("bench", made->file, made->pool,
                                                            spdlog::async_overflow_policy::block);
    } else {
      made->logger = std::make_shared<spdlog::logger>("bench", made->file);
    }
    return made.release();
  } catch (const std::exception &) {
    return nullptr;
  }
}

void spdlog_order(spdlog_logger *log, uint64_t id, const char *user, size_t length, double elapsed, uint64_t quantity) {
  log->logger->info("order {} accepted for {} in {:.2f} ms, quantity {}", id, std::string_view(user, length), elapsed,
                    quantity);
}

void spdlog_text(spdlog_logger *log, const char *text, size_t length) {
  log->logger->info("{}", std::string_view(text, length));
}

void spdlog_pairs(spdlog_logger *log, uint64_t id, const char *user, size_t length, double price, int live,
                  const char *side, size_t side_length) {
  log->logger->info("order accepted venue={} id={} price={} live={} side={}", std::string_view(user, length), id, price,
                    live != 0, std::string_view(side, side_length));
}

#define SITE(n) \
  case n: log->logger->info("step " #n " of order {} for {}", id, std::string_view(user, length)); break;
void spdlog_site(spdlog_logger *log, uint64_t site, uint64_t id, const char *user, size_t length) {
  TWENTY_SITES(SITE)
}

void spdlog_disabled(spdlog_logger *log, uint64_t id) { log->logger->debug("never {}", id); }

void spdlog_drain(spdlog_logger *log) {
  if (log->pool) {
    // spdlog 1.10 has no flush that waits. The queue is emptied in order: once it is empty, at most one message is on
    // its way, and the sink's lock is taken while it is written.
    while (log->pool->queue_size() > 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  log->file->flush();
}

void spdlog_close(spdlog_logger *log) {
  log->logger->flush();
  log->logger.reset();
  log->pool.reset();  // Joins the thread, which writes what is queued first.
  log->file->flush();
  delete log;
}
