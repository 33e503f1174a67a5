/* Entries are in one file and the count in another; entries are durable before the count. Clean everywhere. */
#include "truth.h"

static void work(const char *file) {
    char name[512];
    snprintf(name, sizeof name, "%s.entries", file);
    struct cell *entry = fresh(name, PAGE), *count = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        entry[n - 1].word = value(n);
        persist(&entry[n - 1], 8);
        count->word = n;
        persist(count, 8);
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
