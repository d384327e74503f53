#include "peer.h"

#include <dlfcn.h>
#include <stdio.h>

const peer_calls *peer_load(const char *library) {
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  void *peer = handle == nullptr ? nullptr : dlsym(handle, "peer");
  if (peer == nullptr) fprintf(stderr, "benchmarks: %s\n", dlerror());
  return static_cast<const peer_calls *>(peer);
}
