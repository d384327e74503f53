// Log statements in C, which Swift cannot make: their macros and arguments are C's own.

#ifndef CCALLS_H
#define CCALLS_H

#include "mmlog.h"

// ---- One statement for each kind of format

int ccalls_count(void);

// The format of one.
const char *_Nonnull ccalls_format(int index);

// What printf makes of it, in `text`, and so many bytes of that.
int ccalls_print(int index, char *_Nonnull text, size_t size);

// Logs it.
void ccalls_log(mmlog_logger *_Nonnull log, int index);

// ---- Other statements

// Logs two numbers in as many columns and digits as there can be.
void ccalls_log_wide(mmlog_logger *_Nonnull log);

// Logs more parts than a statement in Swift has without memory of its own, and a text.
void ccalls_log_parts(mmlog_logger *_Nonnull log, const char *_Nonnull text);

// How much of the heap is in use, in bytes.
size_t ccalls_heap_size(void);

// So many records: "<number> of <text>", alternately with a long text.
void ccalls_log_many(mmlog_logger *_Nonnull log, int count);

void ccalls_log_fields(mmlog_logger *_Nonnull log);

// Begins four spans, one of them below the level info, and ends all but `open`.
void ccalls_log_spans(mmlog_logger *_Nonnull log, mmlog_span *_Nonnull open);

// Begins a span and a part of it, logs twice "request …", "part …" and "none …", by what each belongs
// to, and ends both.
void ccalls_log_within_spans(
    mmlog_logger *_Nonnull log, mmlog_span *_Nonnull request, mmlog_span *_Nonnull part);

// Returns how often the argument was evaluated.
int ccalls_log_below_level(mmlog_logger *_Nonnull log);

// Logs "<format> <number>" by way of a function that takes a va_list, with a format in memory that
// changes afterwards.
void ccalls_log_wrapped(mmlog_logger *_Nonnull log, const char *_Nonnull format, int number);

// Returns errno after two statements that show it: one twice, one as text.
int ccalls_log_errno(mmlog_logger *_Nonnull log, int error);

// Logs a record of a lane of the crash campaign: two numbers and a text.
void ccalls_log_lane(
    mmlog_logger *_Nonnull log, long lane, long sequence, const void *_Nullable text, int count);

// ---- Signal handlers

// The same without a text, in a handler. Returns whether it is recorded.
bool ccalls_signal_lane(mmlog_logger *_Nonnull log, long lane, long sequence);

// Sets a handler of the signal that writes "signal <number> at <what was counted>" with this
// logger.
void ccalls_handle(int signal, mmlog_logger *_Nonnull log);

// The text that the handler writes besides; NULL: none.
void ccalls_set_text(const char *_Nullable text);

// Has the handler end the process by SIGKILL when it has written so many records.
void ccalls_die_after(uint64_t count);

// How often handlers were called, and how often they could write.
uint64_t ccalls_handled(void);
uint64_t ccalls_written(void);

// Has SIGALRM raised in the calling thread every so many microseconds; 0: no more.
void ccalls_set_timer(int microseconds);

// Raises a signal in the calling thread, where it may be blocked.
void ccalls_raise(int signal);

// Raises SIGABRT, whose handler leaves by siglongjmp; ccalls_jump_out_of_abort sets it.
void ccalls_jump_out_of_abort(void);
void ccalls_survive_abort(void);

// fork(2), which Swift does not let one call.
int ccalls_fork(void);

#endif
