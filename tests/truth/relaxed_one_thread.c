/* One thread passes a fence that releases and sets a count relaxed: as a store that releases, it comes after the entry where releases
 * order. Loses on x86, as the entry is made durable after it; clean elsewhere. */
#include "truth.h"
#include <stdatomic.h>

static void work(const char *file) {
    struct log *log = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        log->entry[n - 1].word = value(n); /* LOST */
        atomic_thread_fence(memory_order_release);
        atomic_store_explicit((_Atomic uint64_t *)&log->count.word, n, memory_order_relaxed);
        persist(&log->count, 8);
        persist(&log->entry[n - 1], 8);
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
