/* msync after the entry and after the count, no flush anywhere. Clean everywhere. */
#include "truth.h"

static void work(const char *file) {
    struct log *log = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        log->entry[n - 1].word = value(n);
        need(!msync(log, PAGE, MS_SYNC), "msync");
        log->count.word = n;
        need(!msync(log, PAGE, MS_SYNC), "msync");
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
