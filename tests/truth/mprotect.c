/* The mapping is made read-only right after the last store, and writable again. Clean everywhere. */
#include "truth.h"

static void work(const char *file) {
    struct log *log = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        need(!mprotect(log, PAGE, PROT_READ | PROT_WRITE), "mprotect");
        log->entry[n - 1].word = value(n);
        persist(&log->entry[n - 1], 8);
        log->count.word = n;
        need(!mprotect(log, PAGE, PROT_READ), "mprotect");
        persist(&log->count, 8);
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
