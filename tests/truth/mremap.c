/* The file grows: ftruncate, fsync, mremap that may move the mapping, and entries in the new pages. Clean
 * everywhere. */
#define _GNU_SOURCE
#include "truth.h"

enum { ALL = 40, FIRST = 16 };

static void work(const char *file) {
    int fd = created(file, PAGE);
    need(!fsync(fd), "fsync");
    struct cell *cell = mapped(fd, PAGE);
    /* Whatever follows the mapping, it cannot grow in place. */
    (void)mmap((char *)cell + PAGE, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    for (uint64_t n = 1; n <= ALL; n += 3) {
        if (n == FIRST) {
            need(!ftruncate(fd, 3 * PAGE) && !fsync(fd), "ftruncate");
            cell = mremap(cell, PAGE, 3 * PAGE, MREMAP_MAYMOVE);
            need(cell != MAP_FAILED, "mremap");
        }
        struct cell *entry = &cell[n * 4];
        entry->word = value(n);
        if (n < FIRST) persist(entry, 8);
        else persist(entry, 8);
        cell->word = n;
        persist(cell, 8);
        coreplane_mark_here(n);
    }
}

static void check(const char *file, uint64_t acknowledged) {
    const struct cell *cell = found(file, 3 * PAGE);
    for (uint64_t n = 1; n <= cell->word; n += 3)
        if (n > ALL || cell[n * 4].word != value(n)) lost("entry %lu is not there", (unsigned long)n);
    if (cell->word < acknowledged) lost("an acknowledged entry is missing");
}

PROGRAM
