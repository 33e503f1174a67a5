/* Entry and count share one fence, and recovery believes an entry only when its checksum is right: a torn one was
 * never acknowledged. Clean everywhere. */
#include "truth.h"

struct entry {
    struct cell value, checksum;
};

static uint64_t checksum(uint64_t value) { return value * 0x9E3779B97F4A7C15u | 1; }

static void work(const char *file) {
    struct entry *entry = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++, entry++) {
        entry->value.word = value(n);
        entry->checksum.word = checksum(value(n));
        persist(entry, sizeof *entry);
        coreplane_mark_here(n);
    }
}

static void check(const char *file, uint64_t acknowledged) {
    const struct entry *entry = found(file, PAGE);
    for (uint64_t n = 1; n <= acknowledged; n++, entry++)
        if (entry->value.word != value(n) || entry->checksum.word != checksum(value(n))) lost("entry %lu is missing", (unsigned long)n);
}

PROGRAM
