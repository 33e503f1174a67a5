/* A store of sequential consistency is an exchange on x86, a locked operation: it waits for the flush before it. Clean
 * everywhere. */
#include "truth.h"

static void work(const char *file) {
    struct log *log = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        log->entry[n - 1].word = value(n);
        flush(&log->entry[n - 1], 8);
        __atomic_store_n(&log->count.word, n, __ATOMIC_SEQ_CST);
        persist(&log->count, 8);
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
