// mmlog's log statements in C. The benchmarks time them, and count their instructions.

#ifndef CSTATEMENTS_H
#define CSTATEMENTS_H

// Opens a store in a directory, and a logger for the statements. Ends the process if that fails.
void statements_open(const char *directory);

// Waits until all records are archived.
void statements_flush(void);

// Two integers, a text, a floating-point number.
void statements_order(long id, const char *user, double elapsed, long quantity);

// Two fields, and the same within a span.
void statements_fields(long id, const char *user);
void statements_fields_in(long id, const char *user);

#endif
