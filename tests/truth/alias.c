/* The file is mapped twice; stored by one and flushed by the other. Clean everywhere. */
#include "truth.h"

static void work(const char *file) {
    int fd = created(file, PAGE);
    need(!fsync(fd), "fsync");
    struct log *stored = mapped(fd, PAGE), *flushed = mapped(fd, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        stored->entry[n - 1].word = value(n);
        persist(&flushed->entry[n - 1], 8);
        stored->count.word = n;
        persist(&flushed->count, 8);
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
