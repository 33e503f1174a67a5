/* sync_file_range instead of fdatasync: it promises nothing. Loses everywhere. */
#define _GNU_SOURCE
#include "truth.h"

static void work(const char *file) {
    int fd = created(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        uint64_t word = value(n);
        need(pwrite(fd, &word, 8, (off_t)(n * LINE)) == 8, "pwrite"); /* LOST */
        need(!sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER), "sync_file_range");
        need(pwrite(fd, &n, 8, 0) == 8, "pwrite");
        need(!fdatasync(fd), "fdatasync");
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
