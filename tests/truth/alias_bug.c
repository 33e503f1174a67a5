/* The file is mapped twice; stored by one; the other flushes the count's line instead of the entry's. Loses on x86;
 * a machine with a persist path needs no flush. */
#include "truth.h"

static void work(const char *file) {
    int fd = created(file, PAGE);
    need(!fsync(fd), "fsync");
    struct log *stored = mapped(fd, PAGE), *flushed = mapped(fd, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        stored->entry[n - 1].word = value(n); /* LOST */
        persist(&flushed->count, 8);
        stored->count.word = n;
        persist(&flushed->count, 8);
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
