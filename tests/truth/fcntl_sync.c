/* O_SYNC is asked for with F_SETFL, which Linux ignores: nothing is durable before the end. */
#define _GNU_SOURCE
#include "truth.h"

static void work(const char *file) {
    int fd = created(file, PAGE);
    need(!fsync(fd) && !fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_SYNC), "fcntl");
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        uint64_t word = value(n);
        need(pwrite(fd, &word, 8, (off_t)(n * LINE)) == 8 && pwrite(fd, &n, 8, 0) == 8, "pwrite");
        coreplane_mark_here(n);
    }
    need(!fsync(fd), "fsync");
}

LOG_PROGRAM
