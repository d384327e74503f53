// fmtlog, made to wait where it would drop; its thread polls every 100 µs.

#define FMTLOG_BLOCK 1
#include "fmtlog.h"
#include "fmtlog-inl.h"

#include "peer.hpp"

static void poll() { fmtlog::startPollingThread(100'000); }

static int open_log(const char *directory) {
  fmtlog::setLogLevel(fmtlog::INF);
  fmtlog::setLogFile(log_file(directory).c_str(), true);
  poll();
  return 1;
}

static void order(uint64_t id, const char *user, double elapsed, uint64_t quantity) {
  logi("order {} accepted for {} in {:.2f} ms, quantity {}", id, user, elapsed, quantity);
}

static void text(const char *text) { logi("{}", text); }

static void pairs(uint64_t id, const char *user, double price, int live, const char *side) {
  logi("order accepted venue={} id={} price={} live={} side={}", user, id, price, live != 0, side);
}

#define SITE(n) \
  case n: logi("step " #n " of order {} for {}", id, user); break;
static void site(uint64_t site, uint64_t id, const char *user) { TWENTY_SITES(SITE) }

static void disabled(uint64_t id) { logd("never {}", id); }

static void drain() {
  // Its thread and a caller must not poll at once.
  fmtlog::stopPollingThread();
  fmtlog::poll(true);
  poll();
}

static void close_log() {
  fmtlog::stopPollingThread();
  fmtlog::poll(true);
  fmtlog::closeLogFile();
}

PEER(open_log, order, text, pairs, site, disabled, drain, close_log, lines);
