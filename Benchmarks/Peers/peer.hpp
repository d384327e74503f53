// What the peers' files have in common.

#ifndef PEER_HPP
#define PEER_HPP

#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>

#include "../Sources/CxxLoggers/include/peer.h"
#include "../Sources/CxxLoggers/sites.h"

#define PEER(...) \
  extern "C" __attribute__((visibility("default"))) const peer_calls peer = {__VA_ARGS__}

static inline std::string log_file(const char *directory) { return std::string(directory) + "/log"; }

// Counts the ends of lines: a last line that a kill has cut does not count.
static inline int64_t lines(const char *directory) {
  FILE *file = std::fopen(log_file(directory).c_str(), "r");
  if (file == nullptr) return 0;
  int64_t count = 0;
  for (int byte; (byte = getc_unlocked(file)) != EOF;) count += byte == '\n';
  std::fclose(file);
  return count;
}

#endif
