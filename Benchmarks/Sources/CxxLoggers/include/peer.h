// A logger that is built from a copy of its sources, behind C functions, one for each workload.
// Each such logger is a shared library of its own, whose only symbol is `peer`: two of them contain
// different versions of the same library.

#ifndef PEER_H
#define PEER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct peer_calls {
  // Writes into a file `log` of a directory. 0 if that fails.
  int (*open)(const char *directory);
  // Texts come with their lengths, which Swift knows, too.
  void (*order)(uint64_t id, const char *user, size_t length, double elapsed, uint64_t quantity);
  void (*text)(const char *text, size_t length);
  void (*pairs)(uint64_t id, const char *user, size_t length, double price, int live, const char *side,
                size_t side_length);
  void (*site)(uint64_t site, uint64_t id, const char *user, size_t length);
  void (*disabled)(uint64_t id);
  // Returns when everything logged before is written.
  void (*drain)(void);
  void (*close)(void);
  // Returns the number of whole records in the file of a directory; the file of a dead process can
  // end anywhere.
  int64_t (*records)(const char *directory);
} peer_calls;

// Loads such a library. Null if that fails, with the reason on standard error.
const peer_calls *peer_load(const char *library);

#ifdef __cplusplus
}
#endif

#endif
