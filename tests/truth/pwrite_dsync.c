/* A file opened with O_DSYNC: every write is durable when it returns. Clean everywhere. */
#include "truth.h"

static void work(const char *file) {
    close(created(file, PAGE));
    int fd = open(file, O_WRONLY | O_DSYNC);
    need(fd >= 0, file);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        uint64_t word = value(n);
        need(pwrite(fd, &word, 8, (off_t)(n * LINE)) == 8, "pwrite");
        need(pwrite(fd, &n, 8, 0) == 8, "pwrite");
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
