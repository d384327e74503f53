// binlog, with its default session; a thread consumes it every 100 µs. A full queue is followed by another one.

#include <binlog/binlog.hpp>

#include <binlog/EntryStream.hpp>
#include <binlog/EventStream.hpp>

#include <fstream>
#include <mutex>

#include "peer.hpp"

static std::ofstream file;
static std::mutex consuming;
static std::atomic<bool> ending;
static std::thread consumer;

static size_t consume() {
  std::lock_guard<std::mutex> guard(consuming);
  return binlog::consume(file).bytesConsumed;
}

static int open_log(const char *directory) {
  file.open(log_file(directory), std::ofstream::out | std::ofstream::binary | std::ofstream::trunc);
  if (!file) return 0;
  binlog::default_session().setMinSeverity(binlog::Severity::info);
  // Writes the call sites again that an earlier file has.
  binlog::default_session().reconsumeMetadata(file);
  ending = false;
  consumer = std::thread([] {
    while (!ending)
      if (consume() == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
  });
  return 1;
}

#define INFO BINLOG_INFO
#define DEBUG BINLOG_DEBUG
// The reader chooses the formats.
#define ELAPSED "{}"
#include "statements.hpp"

static void drain() {
  while (consume() > 0) {}
  std::lock_guard<std::mutex> guard(consuming);
  file.flush();
}

static void close_log() {
  ending = true;
  consumer.join();
  drain();
  file.close();
}

static int64_t records(const char *directory) {
  std::ifstream file(log_file(directory), std::ifstream::in | std::ifstream::binary);
  binlog::IstreamEntryStream entries(file);
  binlog::EventStream events;
  int64_t count = 0;
  try {
    while (events.nextEvent(entries) != nullptr) count++;
  } catch (const std::exception &) {
    // The last entry was cut by a kill.
  }
  return count;
}

PEER(open_log, order, text, pairs, site, disabled, drain, close_log, records);
