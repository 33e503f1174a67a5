/* Each word is acknowledged when it is written, and one sync comes after the last of them. Loses everywhere. */
#include "truth.h"

static void work(const char *file) {
    int fd = open(file, O_CREAT | O_TRUNC | O_WRONLY, 0644);
    need(fd >= 0, file);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        uint64_t word = value(n);
        need(write(fd, &word, 8) == 8, "write"); /* LOST */
        coreplane_mark_here(n);
    }
    need(!fsync(fd), "fsync");
}

static void check(const char *file, uint64_t acknowledged) {
    const uint64_t *word = found(file, ENTRIES * 8);
    for (uint64_t n = 1; n <= acknowledged; n++)
        if (word[n - 1] != value(n)) lost("word %lu of %lu is %lu", (unsigned long)n, (unsigned long)acknowledged, (unsigned long)word[n - 1]);
}

PROGRAM
