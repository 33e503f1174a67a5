/* The mapping is longer than the file at first, which then grows under it, durably. Clean everywhere. */
#include "truth.h"

static void work(const char *file) {
    int fd = created(file, PAGE);
    need(!fsync(fd), "fsync");
    struct cell *count = mapped(fd, 4 * PAGE), *entry = count;
    for (uint64_t n = 1; n < 4; n++) {
        need(!ftruncate(fd, (off_t)((n + 1) * PAGE)), "ftruncate");
        need(!fsync(fd), "fsync");
        entry[n * PAGE / LINE].word = value(n);
        persist(&entry[n * PAGE / LINE], 8);
        count->word = n;
        persist(count, 8);
        coreplane_mark_here(n);
    }
}

static void check(const char *file, uint64_t acknowledged) {
    const struct cell *all = found(file, 4 * PAGE);
    for (uint64_t n = 1; n <= all->word; n++)
        if (n > 3 || all[n * PAGE / LINE].word != value(n)) lost("entry %lu", (unsigned long)n);
    if (all->word < acknowledged) lost("an acknowledged entry is missing");
}

PROGRAM
