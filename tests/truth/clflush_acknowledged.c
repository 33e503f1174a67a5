/* clflush and no fence at all, as libpmem does where a processor has nothing better: a line is written in the order of stores, and an
 * acknowledgement is a store at last. Clean on x86. Machines with a persist path are ordered by fences, and there is none: it loses. */
#include "truth.h"

static void work(const char *file) {
    struct log *log = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        log->entry[n - 1].word = value(n); /* LOST */
        _mm_clflush(&log->entry[n - 1]);
        log->count.word = n;
        _mm_clflush(&log->count);
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
