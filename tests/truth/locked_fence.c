/* A locked operation waits for flushes as a fence does. Clean everywhere: where flushes are not needed it is a full
 * fence all the same. */
#include "truth.h"

static uint64_t operations;

static void work(const char *file) {
    struct log *log = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        log->entry[n - 1].word = value(n);
        flush(&log->entry[n - 1], 8);
        __atomic_fetch_add(&operations, 1, __ATOMIC_SEQ_CST);
        log->count.word = n;
        persist(&log->count, 8);
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
