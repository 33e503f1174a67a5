/* What lies beyond the end is cut off and the file grown again, each made durable before the next: what was there is
 * zeros. Clean everywhere. */
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
    need(!fsync(fd), "fsync");
    need(!ftruncate(fd, 2 * PAGE), "ftruncate");
    need(!fsync(fd), "fsync");
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
