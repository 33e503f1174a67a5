/* A record of 120 bytes lies across two lines, or three, all of which are flushed. Clean everywhere. */
#include "truth.h"

enum { RECORD = 120 };

struct records {
    struct cell count;
    unsigned char pad[8], bytes[ENTRIES][RECORD];
};

static void work(const char *file) {
    struct records *all = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        memset(all->bytes[n - 1], (int)n, RECORD);
        flush(all->bytes[n - 1], RECORD);
        fence();
        all->count.word = n;
        persist(&all->count, 8);
        coreplane_mark_here(n);
    }
}

static void check(const char *file, uint64_t acknowledged) {
    const struct records *all = found(file, PAGE);
    for (uint64_t n = 1; n <= all->count.word; n++)
        for (int i = 0; i < RECORD; i++)
            if (n > ENTRIES || all->bytes[n - 1][i] != n) lost("byte %d of record %lu is not there", i, (unsigned long)n);
    if (all->count.word < acknowledged) lost("an acknowledged record is missing");
}

PROGRAM
