/* Half-way the file is unmapped and mapped again at another address. Clean everywhere. */
#include "truth.h"

static void work(const char *file) {
    int fd = created(file, PAGE);
    need(!fsync(fd), "fsync");
    struct log *log = mapped(fd, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        if (n == ENTRIES / 2) {
            munmap(log, PAGE);
            /* Something else takes the address. */
            need(mmap(log, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == log, "mmap");
            log = mapped(fd, PAGE);
        }
        log->entry[n - 1].word = value(n);
        persist(&log->entry[n - 1], 8);
        log->count.word = n;
        persist(&log->count, 8);
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
