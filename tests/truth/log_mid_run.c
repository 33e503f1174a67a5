/* Of ninety operations the twentieth lacks the fence after its entry. Loses everywhere, in the middle of the run
 * only. */
#include "truth.h"

enum { OPERATIONS = 90, BUG = 20 };

struct long_log {
    struct cell count, entry[OPERATIONS];
};

static void work(const char *file) {
    struct long_log *log = fresh(file, 2 * PAGE);
    for (uint64_t n = 1; n <= OPERATIONS; n++) {
        log->entry[n - 1].word = value(n); /* LOST */
        flush(&log->entry[n - 1], 8);
        if (n != BUG) fence();
        log->count.word = n;
        persist(&log->count, 8);
        coreplane_mark_here(n);
    }
}

static void check(const char *file, uint64_t acknowledged) {
    const struct long_log *log = found(file, sizeof *log);
    for (uint64_t n = 1; n <= log->count.word; n++)
        if (n > OPERATIONS || log->entry[n - 1].word != value(n)) lost("entry %lu is not there", (unsigned long)n);
    if (log->count.word < acknowledged) lost("an acknowledged entry is missing");
}

PROGRAM
