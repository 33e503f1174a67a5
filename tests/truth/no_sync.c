/* Nothing makes anything durable: no flush, no fence, no sync. There is nothing to test on x86: refused. */
#include "truth.h"

static void work(const char *file) {
    struct log *log = mapped(created(file, PAGE), PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        log->entry[n - 1].word = value(n);
        log->count.word = n;
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
