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

#define INFO logi
#define DEBUG logd
#define ELAPSED "{:.2f}"
#include "statements.hpp"

static void drain() {
  // fmtlog's thread and a caller must not poll at once.
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
