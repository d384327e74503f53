// Numbers as text, as the "C" locale writes them whatever locale the host process has set.

#ifndef MMLOG_TEXT_H
#define MMLOG_TEXT_H

#include <stddef.h>

// snprintf(3) of `%.*f`, `%.*e` or `%.*g`: `conversion` is one of f, e, g. Returns the length, or -1
// if it does not fit into `size` bytes or there is no memory. Any thread.
int mmlog_format_double(char *text, size_t size, char conversion, int precision, double value);

#endif
