// spdlog and glog behind C functions, one for each workload. What is measured is the call of such a
// function, which does nothing but the logger's own call; the harness's null call shows what
// calling a C function costs. Texts come with their lengths, which Swift knows, too.

#ifndef CXXLOGGERS_H
#define CXXLOGGERS_H

#include <stddef.h>
#include <stdint.h>

#include "peer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spdlog_logger spdlog_logger;

// `queue`: the number of messages in the background thread's queue; a full queue blocks callers; 0:
// synchronous. Null if the file cannot be made.
spdlog_logger *spdlog_open(const char *path, uint64_t queue);
void spdlog_order(spdlog_logger *, uint64_t id, const char *user, size_t length, double elapsed, uint64_t quantity);
void spdlog_text(spdlog_logger *, const char *text, size_t length);
void spdlog_pairs(spdlog_logger *, uint64_t id, const char *user, size_t length, double price, int live,
                  const char *side, size_t side_length);
void spdlog_site(spdlog_logger *, uint64_t site, uint64_t id, const char *user, size_t length);
void spdlog_disabled(spdlog_logger *, uint64_t id);
// Returns when everything logged before is written.
void spdlog_drain(spdlog_logger *);
void spdlog_close(spdlog_logger *);

// There is one glog for each process; files go into `directory`.
void glog_open(const char *directory);
void glog_order(uint64_t id, const char *user, size_t length, double elapsed, uint64_t quantity);
void glog_text(const char *text, size_t length);
void glog_pairs(uint64_t id, const char *user, size_t length, double price, int live, const char *side,
                size_t side_length);
void glog_site(uint64_t site, uint64_t id, const char *user, size_t length);
void glog_disabled(uint64_t id);
void glog_drain(void);
void glog_close(void);

#ifdef __cplusplus
}
#endif

#endif
