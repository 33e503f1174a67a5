/* C11's release fence is no instruction on x86: nothing waits for the flush of the entry. Loses everywhere: on a machine
 * with a persist path nothing orders the two stores of one thread either. */
#include "truth.h"
#include <stdatomic.h>

static void work(const char *file) {
    struct log *log = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        log->entry[n - 1].word = value(n); /* LOST */
        flush(&log->entry[n - 1], 8);
        atomic_thread_fence(memory_order_release);
        log->count.word = n;
        persist(&log->count, 8);
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
