// Crashes in a call of nothing, and prints which functions the report has: the same on each
// processor.

#include "CMMLogSignals.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

static mmlog_crash_report *place;

// QEMU has no such call. Here it is only memory of this process, which the kernel reads, too.
ssize_t process_vm_readv(pid_t process, const struct iovec *to, unsigned long to_count,
                         const struct iovec *from, unsigned long from_count, unsigned long flags) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  ssize_t size = write(ends[1], from->iov_base, from->iov_len);
  if (size > 0) size = read(ends[0], to->iov_base, (size_t)size);
  close(ends[0]);
  close(ends[1]);
  return size;
}

// Both go on behind their call, so that it is no tail call.
__attribute__((noinline)) static int inner(int (*volatile nothing)(void)) { return nothing() + 1; }

__attribute__((noinline)) static int outer(int (*volatile nothing)(void)) {
  return inner(nothing) + 1;
}

static const char *name(uint64_t address) {
  // More than each of them takes, and less than a page.
  const struct {
    uintptr_t start;
    const char *name;
  } functions[] = {{(uintptr_t)inner, "inner"}, {(uintptr_t)outer, "outer"}};
  const char *found = address == 0 ? "nothing" : "something";
  uint64_t least = 64;
  for (unsigned index = 0; index < 2; index++) {
    uint64_t offset = address - functions[index].start;
    if (offset >= least) continue;
    least = offset;
    found = functions[index].name;
  }
  return found;
}

static void print(int signal) {
  for (unsigned index = 0; index < 3 && index < place->frame_count; index++)
    printf("%u %s\n", index, name(place->frames[index]));
  fflush(stdout);
  _exit(0);
}

int main(void) {
  place = calloc(1, sizeof *place);
  signal(SIGSEGV, print);
  if (place == NULL || mmlog_crash_start() != 0) return 1;
  mmlog_crash_read_modules();
  if (!mmlog_crash_add(place, NULL)) return 1;
  return outer(NULL);
}
