/* A hint is stored and never flushed: recovery does not look at it. Clean everywhere (the finding "never flushed"
 * stands, and changes nothing). */
#include "truth.h"

struct hinted {
    struct log log;
    struct cell hint;
};

static void work(const char *file) {
    struct hinted *all = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        all->hint.word = n;
        append(&all->log, n);
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
