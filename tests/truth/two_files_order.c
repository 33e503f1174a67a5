/* Entries are written to one file, the count is stored in another; the entries' file is synced after the commit. Loses
 * everywhere. */
#include "truth.h"

static void work(const char *file) {
    char name[512];
    snprintf(name, sizeof name, "%s.entries", file);
    int fd = created(name, PAGE);
    need(!fsync(fd), "fsync");
    struct cell *count = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        struct cell entry = {value(n), {0}};
        need(pwrite(fd, &entry, 8, (off_t)((n - 1) * LINE)) == 8, "pwrite"); /* LOST */
        count->word = n;
        persist(count, 8);
        need(!fdatasync(fd), "fdatasync");
        coreplane_mark_here(n);
    }
}

static void check(const char *file, uint64_t acknowledged) {
    char name[512];
    snprintf(name, sizeof name, "%s.entries", file);
    const struct cell *entry = found(name, PAGE), *count = found(file, PAGE);
    for (uint64_t n = 1; n <= count->word; n++)
        if (n > ENTRIES || entry[n - 1].word != value(n)) lost("entry %lu is not there", (unsigned long)n);
    if (count->word < acknowledged) lost("an acknowledged entry is missing");
}

PROGRAM
