#include <glog/logging.h>

#include <iomanip>
#include <string_view>

#include "CxxLoggers.h"
#include "sites.h"

void glog_open(const char *directory) {
  FLAGS_log_dir = directory;
  FLAGS_logtostderr = false;
  FLAGS_stderrthreshold = google::GLOG_FATAL;
  google::InitGoogleLogging("bench");
}

void glog_order(uint64_t id, const char *user, size_t length, double elapsed, uint64_t quantity) {
  LOG(INFO) << "order " << id << " accepted for " << std::string_view(user, length) << " in " << std::fixed
            << std::setprecision(2) << elapsed << " ms, quantity " << quantity;
}

void glog_text(const char *text, size_t length) { LOG(INFO) << std::string_view(text, length); }

void glog_pairs(uint64_t id, const char *user, size_t length, double price, int live, const char *side,
                size_t side_length) {
  LOG(INFO) << "order accepted venue=" << std::string_view(user, length) << " id=" << id << " price=" << price
            << " live=" << (live != 0) << " side=" << std::string_view(side, side_length);
}

#define SITE(n) \
  case n: LOG(INFO) << "step " #n " of order " << id << " for " << std::string_view(user, length); break;
void glog_site(uint64_t site, uint64_t id, const char *user, size_t length) { TWENTY_SITES(SITE) }

void glog_disabled(uint64_t id) { VLOG(1) << "never " << id; }

void glog_drain(void) { google::FlushLogFiles(google::GLOG_INFO); }
void glog_close(void) { google::ShutdownGoogleLogging(); }
