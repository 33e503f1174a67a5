/* The entry's line is flushed before the entry is stored. Loses on x86; a machine with a persist path needs no
 * flush. */
#include "truth.h"

static void work(const char *file) {
    struct log *log = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        flush(&log->entry[n - 1], 8);
        log->entry[n - 1].word = value(n); /* LOST */
        fence();
        log->count.word = n;
        persist(&log->count, 8);
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
