/* Each entry is flushed and fenced before the count that makes it valid. Clean everywhere. */
#include "truth.h"

static void work(const char *file) {
    struct log *log = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        append(log, n);
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
