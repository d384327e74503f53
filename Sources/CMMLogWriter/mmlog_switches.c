#include <stdlib.h>

#include "CMMLogWriter.h"

mmlog_switch *mmlog_make_switches(void) {
  mmlog_switch *switches = calloc(MMLOG_SWITCHES, sizeof *switches);
  // As whatever in Swift needs memory.
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

// Whether a file has the switch's name, or ends with it behind a slash. Compared from the end: most
// names differ there.
static bool is_file(const mmlog_switch *a_switch, const uint8_t *file, size_t size) {
  uint32_t count = __atomic_load_n(&a_switch->size, __ATOMIC_RELAXED);
  if (count > size || count > MMLOG_SWITCH_FILE) return false;
  if (count < size && file[size - count - 1] != '/') return false;
  const uint8_t *end = file + (size - count);
  for (uint32_t i = count; i > 0; i--)
    if (__atomic_load_n(&a_switch->file[i - 1], __ATOMIC_RELAXED) != end[i - 1]) return false;
  return true;
}

static bool take(mmlog_switch *a_switch) {
  uint64_t limit = __atomic_load_n(&a_switch->limit, __ATOMIC_RELAXED);
  uint64_t passed = __atomic_fetch_add(&a_switch->passed, 1, __ATOMIC_RELAXED);
  return limit == 0 || passed < limit;
}

bool mmlog_passes_switch(
    const mmlog_label *label, const uint8_t *file, size_t size, uint32_t line) {
  uint32_t bits = __atomic_load_n(&label->switch_bits, __ATOMIC_RELAXED);
  for (; bits != 0; bits &= bits - 1) {
    mmlog_switch *a_switch = &label->switches[__builtin_ctz(bits)];
    if (__atomic_load_n(&a_switch->line, __ATOMIC_ACQUIRE) == line && line != 0 &&
        is_file(a_switch, file, size))
      return take(a_switch);
  }
  return false;
}

void mmlog_set_switch_bits(mmlog_label *label, uint32_t bits) {
  __atomic_store_n(&label->switch_bits, bits, __ATOMIC_RELAXED);
  uintptr_t gate = (uintptr_t)mmlog_load_gate(label);
  bool is_open = gate >= 16;
  // In this order: no record below the level finds the gate of its writer.
  if (bits != 0) {
    if (is_open) mmlog_store_gate(label, (const void *)(gate | MMLOG_GATE_SWITCHES));
    mmlog_change_levels(label, MMLOG_SWITCHED, MMLOG_SWITCHED);
  } else {
    mmlog_change_levels(label, MMLOG_SWITCHED, 0);
    if (is_open) mmlog_store_gate(label, (const void *)(gate & ~MMLOG_GATE_SWITCHES));
  }
}
