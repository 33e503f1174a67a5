/* What lies beyond the end is cut off and the file grown again, without a sync between: what was there is zeros, and may
 * be the old bytes after a power failure. This program takes whatever is there for an entry. Loses everywhere. */
#include "truth.h"

static void work(const char *file) {
    int fd = created(file, 2 * PAGE);
    need(!fsync(fd), "fsync");
    struct cell *count = mapped(fd, 2 * PAGE), *entry = count + PAGE / LINE;
    entry->word = value(1);
    persist(entry, 8);
    count->word = 1;
    persist(count, 8);
    need(!ftruncate(fd, PAGE), "ftruncate");
    need(!ftruncate(fd, 2 * PAGE), "ftruncate");
    count->word = 2;
    persist(count, 8);
    need(!fsync(fd), "fsync");
    coreplane_mark_here(1);
}

static void check(const char *file, uint64_t acknowledged) {
    const struct cell *count = found(file, 2 * PAGE), *entry = count + PAGE / LINE;
    if (count->word == 1 && entry->word != value(1) && entry->word) lost("entry");
    if (count->word == 2 && entry->word) lost("an entry that was cut off");
    if (count->word < 2 * acknowledged) lost("the count");
}

PROGRAM
