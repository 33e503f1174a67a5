/* A command is run half-way: another program, which does not touch the file, is no second process of this one. Clean
 * everywhere. */
#include "truth.h"

static void work(const char *file) {
    struct log *log = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        append(log, n);
        if (n == 3) need(!system("true"), "true");
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
