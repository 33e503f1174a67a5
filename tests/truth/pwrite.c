/* pwrite and fdatasync, no mapping: entry, sync, count, sync. Clean everywhere. */
#include "truth.h"

static void put(int fd, uint64_t place, uint64_t word) {
    need(pwrite(fd, &word, 8, (off_t)(place * LINE)) == 8, "pwrite");
}

static void work(const char *file) {
    int fd = created(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        put(fd, n, value(n));
        need(!fdatasync(fd), "fdatasync");
        put(fd, 0, n);
        need(!fdatasync(fd), "fdatasync");
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
