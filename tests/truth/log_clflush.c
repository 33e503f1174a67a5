/* clflush alone between entry and count: on x86 it is ordered with the stores round it, and the one fence before the
 * acknowledgement waits for both: clean there. Machines with a persist path are ordered by fences, and there is none
 * between entry and count: it loses. */
#include "truth.h"

static void work(const char *file) {
    struct log *log = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        log->entry[n - 1].word = value(n); /* LOST */
        _mm_clflush(&log->entry[n - 1]);
        log->count.word = n;
        _mm_clflush(&log->count);
        fence();
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
