/* Both fences are said to be for order alone, and the operation is acknowledged after the second. On x86 that is a store
 * fence like any other: clean. Where an ofence makes nothing durable, what was acknowledged is lost. */
#include "truth.h"

static void work(const char *file) {
    struct log *log = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        log->entry[n - 1].word = value(n);
        flush(&log->entry[n - 1], 8);
        coreplane_order_here();
        log->count.word = n; /* LOST */
        flush(&log->count, 8);
        coreplane_order_here();
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
