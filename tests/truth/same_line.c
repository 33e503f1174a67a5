/* Value and valid word share a line and one flush. Of a line any words may persist under px86: it loses. Where the
 * stores of a line persist in order, as on machines with a persist path, it is clean. */
#include "truth.h"

struct pair {
    uint64_t value, valid, rest[6];
};

static void work(const char *file) {
    struct pair *pair = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++, pair++) {
        pair->value = value(n); /* LOST */
        pair->valid = 1;
        persist(pair, sizeof *pair);
        coreplane_mark_here(n);
    }
}

static void check(const char *file, uint64_t acknowledged) {
    const struct pair *pair = found(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++, pair++) {
        if (pair->valid && pair->value != value(n)) lost("pair %lu is valid and not whole", (unsigned long)n);
        if (!pair->valid && n <= acknowledged) lost("pair %lu was acknowledged", (unsigned long)n);
    }
}

PROGRAM
