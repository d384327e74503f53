#include <stdlib.h>
#include <string.h>

#include "CMMLogWriter.h"

// A block without a session, for writers that have no thread.
static union {
  mmlog_thread thread;
  char bytes[MMLOG_THREAD_SIZE + MMLOG_SITES_SIZE];
} nobody;

mmlog_writer mmlog_no_writer = {.busy = 1, .thread = &nobody.thread};

_Thread_local mmlog_writer *mmlog_tls_writer MMLOG_TLS = &mmlog_no_writer;
_Thread_local mmlog_thread *_Nullable mmlog_tls_threads MMLOG_TLS;

mmlog_label mmlog_bound_label = {.level = 0, .gate = (const void *)1};
bool mmlog_has_task_contexts = false;
uint64_t mmlog_key_secret[2];

mmlog_site_slot mmlog_empty_sites[MMLOG_SITE_SLOTS];

static _Alignas(8) uint8_t dump[MMLOG_DUMP_SIZE];

uint8_t *mmlog_dump(void) { return dump; }

mmlog_writer *mmlog_make_lone_writer(void) {
  mmlog_writer *writer = malloc(sizeof *writer);
  // As Swift does if there is no memory.
  if (writer == NULL) abort();
  memset(writer, 0, offsetof(mmlog_writer, emergency));
  writer->busy = 1;
  writer->cursor = writer->emergency;
  writer->limit = writer->emergency + MMLOG_EMERGENCY_SIZE;
  writer->sites = mmlog_no_sites();
  writer->thread = &nobody.thread;
  writer->in_scratch = 1;
  return writer;
}

void mmlog_free_lone_writer(mmlog_writer *writer) { free(writer); }
