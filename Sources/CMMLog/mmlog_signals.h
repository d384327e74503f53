// What handlers of fatal signals have in common.

#ifndef MMLOG_SIGNALS_H
#define MMLOG_SIGNALS_H

#include <signal.h>

// Records a crash, if crashes are recorded, and does what the handler that was there before would have done.
void mmlog_handle_crash(const struct sigaction *previous, int signal, siginfo_t *info, void *context);

#endif
