/* An inline `rep movsb` has no hook: what it stores is met at the flush. Clean, or refused. */
#include "truth.h"

static void copy(void *to, const void *from, size_t bytes) {
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

static void work(const char *file) {
    struct log *log = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        uint64_t word = value(n);
        copy(&log->entry[n - 1], &word, 8);
        persist(&log->entry[n - 1], 8);
        log->count.word = n;
        persist(&log->count, 8);
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
