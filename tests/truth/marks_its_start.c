/* The first mark says that the program has begun, before there is a file; recovery wants one whatever was marked. Clean everywhere. */
#include "truth.h"

static void work(const char *file) {
    coreplane_mark_here(1);
    int fd = created(file, PAGE);
    need(!fsync(fd), "fsync");
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        uint64_t word = value(n);
        need(pwrite(fd, &word, 8, (off_t)(n * 8)) == 8, "pwrite");
        need(!fdatasync(fd), "fdatasync");
        coreplane_mark_here(n + 1);
    }
}

static void check(const char *file, uint64_t acknowledged) {
    const uint64_t *word = found(file, PAGE);
    if (access(file, F_OK)) lost("there is no file");
    for (uint64_t n = 1; n < acknowledged; n++)
        if (word[n] != value(n)) lost("word %lu is %lu", (unsigned long)n, (unsigned long)word[n]);
}

PROGRAM
