/* The program ends by quick_exit, which runs no destructors. Clean everywhere. */
#include "truth.h"

static void work(const char *file) {
    struct log *log = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        append(log, n);
        coreplane_mark_here(n);
    }
    quick_exit(0);
}

LOG_PROGRAM
