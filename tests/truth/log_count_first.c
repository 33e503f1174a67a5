/* The count is durable before the entry that it makes valid. Loses everywhere: fences put them in the wrong order. */
#include "truth.h"

static void work(const char *file) {
    struct log *log = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        log->count.word = n;
        persist(&log->count, 8);
        log->entry[n - 1].word = value(n); /* LOST */
        persist(&log->entry[n - 1], 8);
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
