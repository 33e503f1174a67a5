/* Count and entries are in two pages; msync covers the count's page only. Loses everywhere. */
#include "truth.h"

static void work(const char *file) {
    struct cell *count = fresh(file, 2 * PAGE), *entry = count + PAGE / LINE;
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        entry[n - 1].word = value(n); /* LOST */
        need(!msync(count, PAGE, MS_SYNC), "msync");
        count->word = n;
        need(!msync(count, PAGE, MS_SYNC), "msync");
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
