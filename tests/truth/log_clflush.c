/* clflush alone, no fence after the first: on x86 a clflush is ordered with the stores round it, so this is clean
 * there. Machines with a persist path are ordered by fences, and there is none between entry and count: it loses. */
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
    fence();
}

LOG_PROGRAM
