/* fsync of the descriptor makes stores to a mapping durable, as msync does. Clean everywhere. */
#include "truth.h"

static void work(const char *file) {
    int fd = created(file, PAGE);
    struct log *log = mapped(fd, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        log->entry[n - 1].word = value(n);
        need(!fsync(fd), "fsync");
        log->count.word = n;
        need(!fsync(fd), "fsync");
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
