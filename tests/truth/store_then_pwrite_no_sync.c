/* The entry is stored into the mapping, the count goes by pwrite; nothing makes the stored entry durable before the
 * count is written. Loses everywhere. */
#include "truth.h"

static void work(const char *file) {
    int fd = created(file, PAGE);
    need(!fsync(fd), "fsync");
    struct log *log = mapped(fd, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        log->entry[n - 1].word = value(n); /* LOST */
        need(pwrite(fd, &n, 8, 0) == 8, "pwrite");
        need(!fdatasync(fd), "fdatasync");
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
