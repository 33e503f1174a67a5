/* The flush names the pointer's line, not the line that it points to: the count is flushed twice, the entry never.
 * Loses on x86; a machine with a persist path needs no flush. */
#include "truth.h"

static void work(const char *file) {
    struct log *log = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        log->entry[n - 1].word = value(n); /* LOST */
        persist(&log->count, 8);
        log->count.word = n;
        persist(&log->count, 8);
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
