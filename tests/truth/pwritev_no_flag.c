/* pwritev2 with RWF_DSYNC for the count, and with no flag for the entry before it. Loses everywhere. */
#define _GNU_SOURCE
#include "truth.h"
#include <sys/uio.h>

static void work(const char *file) {
    int fd = created(file, PAGE);
    need(!fsync(fd), "fsync");
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        uint64_t word = value(n);
        struct iovec entry = {&word, 8}, count = {&n, 8};
        need(pwritev2(fd, &entry, 1, (off_t)(n * LINE), 0) == 8, "pwritev2"); /* LOST */
        need(pwritev2(fd, &count, 1, 0, RWF_DSYNC) == 8, "pwritev2");
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
