/* The file's second page is mapped before its first: offsets decide, not addresses. Clean everywhere. */
#include "truth.h"

static void work(const char *file) {
    int fd = created(file, 2 * PAGE);
    need(!fsync(fd), "fsync");
    struct cell *entry = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, PAGE), *count = mapped(fd, PAGE);
    need(entry != MAP_FAILED, "mmap");
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        entry[n - 1].word = value(n);
        persist(&entry[n - 1], 8);
        count->word = n;
        persist(count, 8);
        coreplane_mark_here(n);
    }
}

static void check(const char *file, uint64_t acknowledged) {
    const struct cell *count = found(file, 2 * PAGE), *entry = count + PAGE / LINE;
    for (uint64_t n = 1; n <= count->word; n++)
        if (n > ENTRIES || entry[n - 1].word != value(n)) lost("entry %lu is not there", (unsigned long)n);
    if (count->word < acknowledged) lost("an acknowledged entry is missing");
}

PROGRAM
