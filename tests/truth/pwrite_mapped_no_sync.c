/* The entry goes by pwrite into a file that is mapped, the count by store, flush and fence; no sync makes the entry
 * durable before the count is. Loses everywhere. */
#include "truth.h"

static void work(const char *file) {
    int fd = created(file, PAGE);
    need(!fsync(fd), "fsync");
    struct log *log = mapped(fd, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        uint64_t word = value(n);
        need(pwrite(fd, &word, 8, (off_t)(n * LINE)) == 8, "pwrite"); /* LOST */
        log->count.word = n;
        persist(&log->count, 8);
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
