/* The last store before munmap is still to be read by the recorder when the memory goes; fsync makes it durable.
 * Clean everywhere. */
#include "truth.h"

static void work(const char *file) {
    int fd = created(file, PAGE);
    need(!fsync(fd), "fsync");
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        struct log *log = mapped(fd, PAGE);
        log->entry[n - 1].word = value(n);
        persist(&log->entry[n - 1], 8);
        log->count.word = n;
        munmap(log, PAGE);
        need(!fsync(fd), "fsync");
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
