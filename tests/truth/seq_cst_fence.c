/* C11's fence of sequential consistency is a full fence on x86, and waits for flushes. Clean everywhere. */
#include "truth.h"
#include <stdatomic.h>

static void work(const char *file) {
    struct log *log = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        log->entry[n - 1].word = value(n);
        flush(&log->entry[n - 1], 8);
        atomic_thread_fence(memory_order_seq_cst);
        log->count.word = n;
        flush(&log->count, 8);
        atomic_thread_fence(memory_order_seq_cst);
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
