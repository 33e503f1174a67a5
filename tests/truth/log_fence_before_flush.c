/* Fence, then flush: nothing waits for the flush before the count is stored. Loses on x86; on a machine with a
 * persist path the fence stands after the entry, which is all that it needs. */
#include "truth.h"

static void work(const char *file) {
    struct log *log = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        log->entry[n - 1].word = value(n); /* LOST */
        fence();
        flush(&log->entry[n - 1], 8);
        log->count.word = n;
        persist(&log->count, 8);
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
