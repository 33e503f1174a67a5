/* mfence instead of sfence. Clean everywhere. */
#include "truth.h"

static void work(const char *file) {
    struct log *log = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        log->entry[n - 1].word = value(n);
        flush(&log->entry[n - 1], 8);
        _mm_mfence();
        log->count.word = n;
        flush(&log->count, 8);
        _mm_mfence();
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
