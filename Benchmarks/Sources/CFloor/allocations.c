// Counts allocations by standing in front of the C library's own functions, which it offers under other names.

#include "CFloor.h"

static uint64_t count;

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static void counted(void) { __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED); }

void *malloc(size_t size) { counted(); return __libc_malloc(size); }
void *calloc(size_t n, size_t size) { counted(); return __libc_calloc(n, size); }
void *realloc(void *old, size_t size) { counted(); return __libc_realloc(old, size); }
void *aligned_alloc(size_t alignment, size_t size) { counted(); return __libc_memalign(alignment, size); }

uint64_t floor_allocations(void) { return __atomic_load_n(&count, __ATOMIC_RELAXED); }
