// NanoLog, its C++17 variant with its defaults: callers wait when their buffer is full.

#include <array>

#include "GeneratedCode.h"
#include "Log.h"
#include "NanoLogCpp17.h"

#include "peer.hpp"

using namespace NanoLog::LogLevels;

// The preprocessor of the other variant makes these: here they say that it has found no statement.
namespace GeneratedFunctions {
size_t numLogIds = 0;
LogMetadata logId2Metadata[1];
}  // namespace GeneratedFunctions

static int open_log(const char *directory) {
  try {
    NanoLog::setLogFile(log_file(directory).c_str());
  } catch (const std::exception &) {
    return 0;
  }
  NanoLog::setLogLevel(NanoLog::NOTICE);
  return 1;
}

// NanoLog counts the bytes of each text, even with "%.*s": passing the length would only add an
// argument.

static void order(uint64_t id, const char *user, size_t, double elapsed, uint64_t quantity) {
  NANO_LOG(NOTICE, "order %lu accepted for %s in %.2f ms, quantity %lu", id, user, elapsed, quantity);
}

static void text(const char *text, size_t) { NANO_LOG(NOTICE, "%s", text); }

static void pairs(uint64_t id, const char *user, size_t, double price, int live, const char *side, size_t) {
  NANO_LOG(NOTICE, "order accepted venue=%s id=%lu price=%g live=%d side=%s", user, id, price, live, side);
}

#define SITE(n) \
  case n: NANO_LOG(NOTICE, "step " #n " of order %lu for %s", id, user); break;
static void site(uint64_t site, uint64_t id, const char *user, size_t) { TWENTY_SITES(SITE) }

static void disabled(uint64_t id) { NANO_LOG(DEBUG, "never %lu", id); }

static void drain() { NanoLog::sync(); }

// NanoLog keeps its file open until the next one is set.
static void close_log() { NanoLog::sync(); }

// Counts the lines of NanoLog's own decoder.
static int64_t records(const char *directory) {
  NanoLogInternal::Log::Decoder decoder;
  if (!decoder.open(log_file(directory).c_str())) return 0;
  FILE *null = std::fopen("/dev/null", "w");
  int64_t count = decoder.decompressUnordered(null);
  std::fclose(null);
  return count;
}

PEER(open_log, order, text, pairs, site, disabled, drain, close_log, records);
