/* The file grows by ftruncate, a page for each entry, which is mapped, flushed and fenced. The new size is never
 * synced. Loses where a store through a mapping does not make the size durable; with MAP_SYNC it does, and that is what
 * the models take: clean. */
#include "truth.h"

static void work(const char *file) {
    int fd = created(file, PAGE);
    need(!fsync(fd), "fsync");
    struct cell *count = mapped(fd, PAGE);
    for (uint64_t n = 1; n <= 3; n++) {
        need(!ftruncate(fd, (off_t)(n + 1) * PAGE), "ftruncate");
        struct cell *entry = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)n * PAGE);
        need(entry != MAP_FAILED, "mmap");
        entry->word = value(n);
        persist(entry, 8);
        count->word = n;
        persist(count, 8);
        coreplane_mark_here(n);
    }
}

static void check(const char *file, uint64_t acknowledged) {
    const char *all = found(file, 4 * PAGE);
    uint64_t count = ((const struct cell *)all)->word;
    for (uint64_t n = 1; n <= count; n++)
        if (n > 3 || ((const struct cell *)(all + n * PAGE))->word != value(n)) lost("entry %lu is not there", (unsigned long)n);
    if (count < acknowledged) lost("an acknowledged entry is missing");
}

PROGRAM
