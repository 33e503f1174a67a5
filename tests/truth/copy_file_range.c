/* The kernel copies the entry from another file, then fdatasync. Clean, or refused because the copy is not modelled. */
#define _GNU_SOURCE
#include "truth.h"

static void work(const char *file) {
    int from = open("/tmp", O_RDWR | O_TMPFILE, 0600), fd = created(file, PAGE);
    need(from >= 0, "O_TMPFILE");
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        uint64_t word = value(n);
        need(pwrite(from, &word, 8, 0) == 8, "pwrite");
        off_t here = 0, there = (off_t)(n * LINE);
        need(copy_file_range(from, &here, fd, &there, 8, 0) == 8, "copy_file_range");
        need(!fdatasync(fd), "fdatasync");
        need(pwrite(fd, &n, 8, 0) == 8, "pwrite");
        need(!fdatasync(fd), "fdatasync");
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
