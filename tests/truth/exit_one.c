/* The program ends with exit code 1 after correct operations: its recording counts all the same. Clean everywhere. */
#include "truth.h"

static void work(const char *file) {
    struct log *log = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        append(log, n);
        coreplane_mark_here(n);
    }
    exit(1);
}

LOG_PROGRAM
