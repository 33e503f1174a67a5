/* A record of two lines, of which one flush covers the first. Loses on x86; a machine with a persist path needs no
 * flush. */
#include "truth.h"

struct record {
    uint64_t key[8], value[8];
};

struct table {
    struct cell count;
    struct record record[ENTRIES];
};

static void work(const char *file) {
    struct table *table = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        struct record *r = &table->record[n - 1];
        r->key[0] = n;
        r->value[0] = value(n); /* LOST */
        persist(r, 64);
        table->count.word = n;
        persist(&table->count, 8);
        coreplane_mark_here(n);
    }
}

static void check(const char *file, uint64_t acknowledged) {
    const struct table *table = found(file, sizeof *table);
    for (uint64_t n = 1; n <= table->count.word; n++) {
        const struct record *r = &table->record[(n - 1) % ENTRIES];
        if (r->key[0] != n || r->value[0] != value(n)) lost("record %lu is not whole", (unsigned long)n);
    }
    if (table->count.word < acknowledged) lost("an acknowledged record is missing");
}

PROGRAM
