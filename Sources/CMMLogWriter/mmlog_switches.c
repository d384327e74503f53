#include <stdlib.h>

#include "CMMLogWriter.h"

mmlog_switch *mmlog_make_switches(void) {
  mmlog_switch *switches = calloc(MMLOG_SWITCHES, sizeof *switches);
  // As Swift does if there is no memory.
  if (switches == NULL) abort();
  return switches;
}

void mmlog_set_switch(
    mmlog_switch *a_switch, const uint8_t *file, uint32_t size, uint32_t line, uint64_t limit) {
  mmlog_clear_switch(a_switch);
  __atomic_store_n(&a_switch->size, size, __ATOMIC_RELAXED);
  __atomic_store_n(&a_switch->limit, limit, __ATOMIC_RELAXED);
  __atomic_store_n(&a_switch->passed, 0, __ATOMIC_RELAXED);
  for (uint32_t i = 0; i < size; i++)
    __atomic_store_n(&a_switch->file[i], file[i], __ATOMIC_RELAXED);
  __atomic_store_n(&a_switch->line, line, __ATOMIC_RELEASE);
}

// Whether a file has the switch's name, or ends with that name behind a slash. Compares from the
// end, where most names differ.
static bool is_file(const mmlog_switch *a_switch, const uint8_t *file, size_t size) {
  uint32_t count = __atomic_load_n(&a_switch->size, __ATOMIC_RELAXED);
  if (count > size || count > MMLOG_SWITCH_FILE) return false;
  if (count < size && file[size - count - 1] != '/') return false;
  const uint8_t *end = file + (size - count);
  for (uint32_t i = count; i > 0; i--)
    if (__atomic_load_n(&a_switch->file[i - 1], __ATOMIC_RELAXED) != end[i - 1]) return false;
  return true;
}

static bool is_within(const mmlog_switch *a_switch, uint64_t passed) {
  uint64_t limit = __atomic_load_n(&a_switch->limit, __ATOMIC_RELAXED);
  return limit == 0 || passed < limit;
}

static mmlog_switch *find(
    const mmlog_label *label, const uint8_t *file, size_t size, uint32_t line) {
  uint32_t bits = __atomic_load_n(&label->switch_bits, __ATOMIC_RELAXED);
  for (; bits != 0; bits &= bits - 1) {
    mmlog_switch *a_switch = &label->switches[__builtin_ctz(bits)];
    if (__atomic_load_n(&a_switch->line, __ATOMIC_ACQUIRE) == line && line != 0 &&
        is_file(a_switch, file, size))
      return a_switch;
  }
  return NULL;
}

bool mmlog_passes_switch(
    const mmlog_label *label, const uint8_t *file, size_t size, uint32_t line) {
  mmlog_switch *found = find(label, file, size, line);
  return found != NULL &&
         is_within(found, __atomic_fetch_add(&found->passed, 1, __ATOMIC_RELAXED));
}

bool mmlog_would_pass_switch(
    const mmlog_label *label, const uint8_t *file, size_t size, uint32_t line) {
  mmlog_switch *found = find(label, file, size, line);
  return found != NULL && is_within(found, mmlog_switch_passed(found));
}

// Makes the outlined part check more than the level from now on, or only the level.
static void control(mmlog_label *label, uint32_t bit, uintptr_t gate_bit, bool is_on) {
  uintptr_t gate = (uintptr_t)mmlog_load_gate(label);
  bool is_open = gate >= 16;
  // Stored in this order, and log calls acquire the level before they load the gate. So when this
  // is turned on, no call below the level finds the gate of its writer. When it is turned off, a
  // call that has just seen the earlier level may record below the label's level, or beyond its
  // limit.
  if (is_on) {
    if (is_open) mmlog_store_gate(label, (const void *)(gate | gate_bit));
    mmlog_change_levels(label, bit, bit);
  } else {
    mmlog_change_levels(label, bit, 0);
    if (is_open) mmlog_store_gate(label, (const void *)(gate & ~gate_bit));
  }
}

void mmlog_set_switch_bits(mmlog_label *label, uint32_t bits) {
  __atomic_store_n(&label->switch_bits, bits, __ATOMIC_RELAXED);
  control(label, MMLOG_SWITCHED, MMLOG_GATE_SWITCHES, bits != 0);
}

void mmlog_set_label_limit(
    mmlog_label *label, uint64_t interval, uint32_t first, uint32_t every) {
  mmlog_label_limit *limit = label->limit;
  if (limit == NULL) {
    if (interval == 0) return;
    limit = calloc(1, sizeof *limit);
    // As Swift does if there is no memory.
    if (limit == NULL) abort();
  }
  __atomic_store_n(&limit->first, first, __ATOMIC_RELAXED);
  __atomic_store_n(&limit->every, every, __ATOMIC_RELAXED);
  __atomic_store_n(&limit->interval, interval, __ATOMIC_RELAXED);
  __atomic_store_n(&label->limit, limit, __ATOMIC_RELEASE);
  control(label, MMLOG_LIMITED, MMLOG_GATE_LIMITS, interval != 0);
}

bool mmlog_is_within_limit(const mmlog_label *label, uint64_t key, uint64_t now) {
  mmlog_label_limit *limit = __atomic_load_n(&label->limit, __ATOMIC_ACQUIRE);
  uint64_t interval = limit == NULL ? 0 : __atomic_load_n(&limit->interval, __ATOMIC_RELAXED);
  mmlog_rate_limit *statement =
      interval == 0 ? NULL : mmlog_rate_limit_of(MMLOG_LIMITS_OF_LABELS, key);
  if (statement == NULL) return true;
  uint64_t first = __atomic_load_n(&limit->first, __ATOMIC_RELAXED);
  uint64_t every = __atomic_load_n(&limit->every, __ATOMIC_RELAXED);
  // The high half has the interval, and the low half how often the statement was reached in it.
  uint64_t now_in = now / interval << 32;
  uint64_t old = __atomic_load_n(&statement->state, __ATOMIC_RELAXED), count;
  do {
    count = (old ^ now_in) >> 32 == 0 ? old & UINT32_MAX : 0;
    // The count must not overflow into the interval. With the greatest `first`, it stays below
    // that, so that all pass.
    if (count == UINT32_MAX) count = first == UINT32_MAX ? first - 1 : first;
  } while (!__atomic_compare_exchange_n(
      &statement->state, &old, now_in | (count + 1), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  if (count < first || (every != 0 && (count - first) % every == every - 1)) return true;
  __atomic_fetch_add(&limit->suppressed, 1, __ATOMIC_RELAXED);
  return false;
}
