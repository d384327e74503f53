#include "CMMLog.h"

_Thread_local mmlog_writer *_Nullable mmlog_tls_writer MMLOG_TLS;
_Thread_local mmlog_thread *_Nullable mmlog_tls_threads MMLOG_TLS;

// Never written to: what it is given to never stores a hit in it.
static mmlog_site_slot no_sites[MMLOG_SITE_SLOTS];

mmlog_site_slot *mmlog_no_sites(void) { return no_sites; }
