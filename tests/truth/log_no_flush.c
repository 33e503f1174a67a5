/* The entry is fenced and never flushed. Loses on x86; a machine with a persist path needs no flush, and its fence
 * orders the entry before the count. */
#include "truth.h"

static void work(const char *file) {
    struct log *log = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        log->entry[n - 1].word = value(n); /* LOST */
        fence();
        log->count.word = n;
        persist(&log->count, 8);
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
