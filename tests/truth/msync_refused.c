/* msync of an address in the midst of a page does nothing but return an error, which this program does not look at.
 * Loses everywhere. */
#include "truth.h"

static void work(const char *file) {
    struct log *log = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        log->entry[n - 1].word = value(n); /* LOST */
        msync(&log->entry[n - 1], 8, MS_SYNC);
        log->count.word = n;
        need(!msync(log, sizeof log->count, MS_ASYNC), "msync");
        coreplane_mark_here(n);
    }
    need(!msync(log, PAGE, MS_SYNC), "msync");
}

LOG_PROGRAM
