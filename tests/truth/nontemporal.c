/* A non-temporal store needs a fence and no flush. Clean everywhere. */
#include "truth.h"

static void work(const char *file) {
    struct log *log = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        _mm_stream_si64((long long *)&log->entry[n - 1].word, (long long)value(n));
        fence();
        log->count.word = n;
        persist(&log->count, 8);
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
