/* Three entries are flushed and share one fence; one count makes all three valid. Clean everywhere. */
#include "truth.h"

__attribute__((target("clflushopt"))) static void work(const char *file) {
    struct log *log = fresh(file, PAGE);
    for (uint64_t n = 0; n < ENTRIES; n += 3) {
        for (uint64_t i = 0; i < 3; i++) {
            log->entry[n + i].word = value(n + i + 1);
            _mm_clflushopt(&log->entry[n + i]);
        }
        fence();
        log->count.word = n + 3;
        persist(&log->count, 8);
        coreplane_mark_here(n + 3);
    }
}

LOG_PROGRAM
