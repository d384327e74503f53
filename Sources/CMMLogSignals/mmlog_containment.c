#include "CMMLogSignals.h"

#include "CMMLogCore.h"
#include "mmlog_signals.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct mmlog_contained {
  uintptr_t base;  // 0: not in use
  size_t count;
  uint32_t *wake;
  uint64_t lost;
  uint8_t *replaced;             // one for each page: 1 once its replacement has begun
  struct mmlog_contained *next;  // never changes once it is in the list
};

// The base of a place in the list that was taken just now. No page of a process has this address.
static const uintptr_t being_prepared = 1;

// A list that only grows: the handler goes over it without a lock.
static struct mmlog_contained *ranges;
static struct sigaction previous;
static uintptr_t page_size;
// When the handler gave way to the default action, by CLOCK_MONOTONIC in nanoseconds; 0: never.
static int64_t gave_way;

MMLOG_UNSANITIZED static struct mmlog_contained *range_of(uintptr_t address) {
  struct mmlog_contained *range = __atomic_load_n(&ranges, __ATOMIC_ACQUIRE);
  for (; range != NULL; range = range->next) {
    uintptr_t base = __atomic_load_n(&range->base, __ATOMIC_ACQUIRE);
    if (base > being_prepared && address - base < range->count) return range;
  }
  return NULL;
}

// From so many lost pages on, all behind a lost page are replaced with it: two maps for each page
// would use up those that a process may have (vm.max_map_count, 65530).
static const uint64_t many_pages = 4096;

// Notes that pages are replaced, or are not; returns how many were noted otherwise before.
MMLOG_UNSANITIZED static uint64_t note_pages(uint8_t *replaced, size_t count, uint8_t note) {
  uint64_t changed = 0;
  for (size_t page = 0; page < count; page++)
    changed += __atomic_exchange_n(replaced + page, note, __ATOMIC_ACQ_REL) != note;
  return changed;
}

// Replaces a page and, if there are many or the kernel refuses another map, all behind it: what
// threads have stored in those since they were lost is lost, too, and so are pages that the file
// still has. Returns how many pages are lost by that, or 0 if the kernel refuses.
MMLOG_UNSANITIZED static uint64_t replace(struct mmlog_contained *range, size_t page) {
  uint8_t *replaced = range->replaced + page;
  void *start = (void *)(range->base + page * page_size);
  if (__atomic_load_n(&range->lost, __ATOMIC_ACQUIRE) < many_pages &&
      mmlog_replace_with_private_memory(start, page_size) == 0)
    return 1;
  // Noted first: a thread that has met one of these pages must not replace it again afterwards.
  size_t pages = (range->count + page_size - 1) / page_size;
  size_t behind = pages - page - 1;
  uint64_t lost = 1 + note_pages(replaced + 1, behind, 1);
  if (mmlog_replace_with_private_memory(start, (behind + 1) * page_size) == 0) return lost;
  note_pages(replaced, behind + 1, 0);
  return 0;
}

MMLOG_UNSANITIZED static bool contain(const siginfo_t *info) {
  uintptr_t address = (uintptr_t)info->si_addr;
  struct mmlog_contained *range = range_of(address);
  // A positive code comes from the kernel, for a fault of this thread. A signal that kill(2) sends
  // has no address.
  if (range == NULL || info->si_code <= 0) return false;
  size_t page = (address - range->base) / page_size;
  // Each page is replaced once, because what another thread has stored in it since must stay. Until
  // the replacement is there, this thread faults again and again.
  if (note_pages(range->replaced + page, 1, 1) == 0) return true;
  uint64_t lost = replace(range, page);
  if (lost == 0) return false;
  __atomic_fetch_add(&range->lost, lost, __ATOMIC_ACQ_REL);
  if (range->wake != NULL) {
    __atomic_fetch_add(range->wake, 1, __ATOMIC_ACQ_REL);
    mmlog_futex_wake(range->wake, 1);
  }
  return true;
}

static bool is_default(void) {
  struct sigaction action;
  return sigaction(SIGBUS, NULL, &action) == 0 && action.sa_handler == SIG_DFL;
}

MMLOG_UNSANITIZED static void handle(int signal, siginfo_t *info, void *context) {
  int saved = errno;
  if (!contain(info)) {
    mmlog_handle_crash(&previous, signal, info, context);
    if (is_default())
      __atomic_store_n(&gave_way, mmlog_nanoseconds(CLOCK_MONOTONIC), __ATOMIC_RELEASE);
  }
  errno = saved;
}

static int set_handler(void) {
  struct sigaction action;
  if (sigaction(SIGBUS, NULL, &previous) != 0) return -1;
  memset(&action, 0, sizeof action);
  // Blocks what the previous handler would have blocked, because it may be called.
  action.sa_mask = previous.sa_mask;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | (previous.sa_flags & (SA_NODEFER | SA_RESTART));
  action.sa_sigaction = handle;
  return sigaction(SIGBUS, &action, NULL);
}

int mmlog_containment_start(void) {
  if (page_size != 0) return 0;
  page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
  if (set_handler() == 0) return 0;
  page_size = 0;
  return -1;
}

void mmlog_containment_restore(void) {
  int64_t when = __atomic_load_n(&gave_way, __ATOMIC_ACQUIRE);
  if (when == 0 || mmlog_nanoseconds(CLOCK_MONOTONIC) - when < 1000000000) return;
  __atomic_store_n(&gave_way, 0, __ATOMIC_RELEASE);
  if (is_default()) set_handler();
}

static struct mmlog_contained *reuse(void) {
  struct mmlog_contained *range = __atomic_load_n(&ranges, __ATOMIC_ACQUIRE);
  for (; range != NULL; range = range->next) {
    uintptr_t unused = 0;
    if (__atomic_compare_exchange_n(
            &range->base, &unused, being_prepared, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      return range;
  }
  return NULL;
}

static struct mmlog_contained *add(void) {
  struct mmlog_contained *range = calloc(1, sizeof *range);
  if (range == NULL) return NULL;
  range->base = being_prepared;
  range->next = __atomic_load_n(&ranges, __ATOMIC_ACQUIRE);
  while (!__atomic_compare_exchange_n(
      &ranges, &range->next, range, true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  return range;
}

mmlog_contained *mmlog_contain(void *base, size_t count, uint32_t *wake) {
  uint8_t *replaced = calloc(count / page_size + 1, 1);
  if (replaced == NULL) return NULL;
  struct mmlog_contained *range = reuse();
  if (range == NULL) range = add();
  if (range == NULL) {
    free(replaced);
    return NULL;
  }
  range->count = count;
  range->wake = wake;
  range->lost = 0;
  range->replaced = replaced;
  __atomic_store_n(&range->base, (uintptr_t)base, __ATOMIC_RELEASE);
  return range;
}

void mmlog_end_containment(mmlog_contained *range) {
  uint8_t *replaced = range->replaced;
  __atomic_store_n(&range->base, 0, __ATOMIC_RELEASE);
  free(replaced);
}

uint64_t mmlog_lost_pages(const mmlog_contained *range) {
  return __atomic_load_n(&range->lost, __ATOMIC_ACQUIRE);
}
